"""Rookery against the oracle, pair by pair: every engine, batch and row, live and compiled.

A match is one number, `event * subscriptions + place`, so that two answers are two sorted arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import rookery
from rookery.matching import ENGINES
from rookery.matching.bitmap import positions

from .judge import Judge
from .workload import Round, make_round

__all__ = ["Tally", "compare_round", "expected_pairs", "matched_pairs", "matcher_of"]


@dataclass(slots=True)
class Tally:
    """What was compared so far."""

    pairs: int = 0
    matches: int = 0
    conditions: set[int] = field(default_factory=set)  # hashes of the distinct ones
    by_path: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def count(self, path: str, pairs: int) -> None:
        self.by_path[path] = self.by_path.get(path, 0) + pairs


def compare_round(
    tally: Tally,
    seed: int,
    *,
    subscriptions: int,
    events: int,
    engines: Sequence[str] = ENGINES,
    others: int = 200,
    slow: int = 10,
    rows: int = 10,
) -> None:
    """Compare one round: the default engine on all pairs, the `others` and (`slow`) scan on that many events, `match`
    on that many rows. Differences are put into the tally."""
    made = make_round(seed, subscriptions=subscriptions, events=events)
    wanted = expected_pairs(made)
    tally.pairs += len(made.subscriptions) * events
    tally.matches += len(wanted)
    tally.conditions |= {_hashed(one.condition.text, *one.condition.parameters) for one in made.subscriptions}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "LEAST_PREDICATES", 0)  # bounds as large sets have them
        for engine in engines:
            part = {"bitmap": events, "scan": slow}.get(engine, others)
            _compare_engine(tally, made, wanted, engine, min(part, events), rows)


def _hashed(*texts: str) -> int:
    """Return the same number for the same texts in every process."""
    return int.from_bytes(blake2b(repr(texts).encode(errors="surrogatepass"), digest_size=6).digest())


def _compare_engine(tally: Tally, made: Round, wanted: Any, engine: str, events: int, rows: int) -> None:
    width = len(made.subscriptions)
    first = (made.seed * 7919) % (made.table.num_rows - events + 1)
    part = made.table.slice(first, events)
    due = wanted[(wanted >= first * width) & (wanted < (first + events) * width)]
    try:
        matcher = matcher_of(made, engine)
        found = matched_pairs(made, matcher.match_many(part, **made.arguments))
    except Exception as error:
        tally.differences.append(f"{_named(made, engine)}: {type(error).__name__}: {str(error).splitlines()[0]}")
        return
    tally.count(engine, events * width)
    _note(tally, made, engine, found, due)
    if engine == "bitmap" and made.seed % 3 == 0:
        compiled = matcher.compile().match_many(part.slice(0, 50), **made.arguments)
        tally.count("compiled", min(50, events) * width)
        _note(tally, made, "compiled", matched_pairs(made, compiled), due[due < (first + 50) * width])
    if "as_of" not in made.arguments:
        _compare_rows(tally, made, matcher, engine, part.slice(0, rows), due)


def _compare_rows(tally: Tally, made: Round, matcher: Any, engine: str, part: pa.Table, due: Any) -> None:
    """Compare `match` of single dicts, as Arrow makes them."""
    width = len(made.subscriptions)
    time = made.arguments.get("time")
    others = {name: made.arguments[name] for name in ("topic", "on_error") if name in made.arguments}
    slots = {one.subscription_id: [] for one in made.subscriptions}  # type: ignore[var-annotated]
    for place, one in enumerate(made.subscriptions):
        slots[one.subscription_id].append(place)
    try:
        events = part.to_pylist()
    except (ValueError, OverflowError):
        return  # instants that Python's calendar does not have
    for event in events:
        at = event["event_id"]
        if time is not None and event[time] is None:
            continue  # one event of a dated set needs a time
        try:
            ids = matcher.match(event, time=None if time is None else event[time], **others)
        except Exception as error:
            tally.differences.append(f"{_named(made, f'{engine}, row')}: {type(error).__name__}: {error}")
            continue
        tally.count(f"{engine}, row", width)
        # `match` gives no version: at most one of an id decides.
        mine = (due[(due >= at * width) & (due < (at + 1) * width)] % width).tolist()
        if sorted(ids) != sorted(made.subscriptions[one].subscription_id for one in mine):
            found = np.array(sorted(at * width + place for one in ids for place in slots[one]), np.int64)
            theirs = np.array(
                [at * width + slots[made.subscriptions[one].subscription_id][0] for one in mine], np.int64
            )
            _note(tally, made, f"{engine}, row", found, theirs)


def _note(tally: Tally, made: Round, engine: str, found: Any, due: Any) -> None:
    if np.array_equal(found, due):
        return
    different = np.setxor1d(found, due)
    if len(found) != len(np.unique(found)):
        tally.differences.append(f"{_named(made, engine)}: a match is given twice")
    for pair in different[:1].tolist():
        event, place = divmod(pair, len(made.subscriptions))
        one = made.subscriptions[place]
        values = made.table.slice(event, 1)
        paths = {leaf.path[0] for leaf in made.leaves if leaf.text in one.condition.text} & set(made.table.column_names)
        shown = {name: (str(values[name].type), values[name].to_string(skip_new_lines=True)) for name in sorted(paths)}
        tally.differences.append(
            f"{_named(made, engine)}: {len(different)} pairs; DuckDB says {pair in due} of event {event}, "
            f"on {shown}, {one.condition.text!r} {one.condition.parameters}, {one}, "
            f"schema {made.schema}, {made.arguments}"
        )


def _named(made: Round, engine: str) -> str:
    return f"seed {made.seed}, {engine}"


def expected_pairs(made: Round) -> Any:
    """Return the pairs that DuckDB finds, sorted."""
    time = made.arguments.get("time")
    judge = Judge(made.table, made.leaves, topic=made.topic_column, time=time, ranked=made.ranked)
    try:
        rows = judge.satisfied([one.sql for one in made.subscriptions])
    finally:
        judge.close()
    width = len(made.subscriptions)
    return np.sort(np.concatenate([found * width + place for place, found in enumerate(rows)]))


def matcher_of(made: Round, engine: str) -> Any:
    """Return a matcher with the round's subscriptions: most at once, the last ones one by one."""
    matcher = rookery.matcher(rookery.Schema.from_dict(made.schema), engine=engine)
    single = 20 if made.seed % 2 else 0
    many = made.subscriptions[: len(made.subscriptions) - single]
    kind = pa.string() if isinstance(many[0].subscription_id, str) else pa.int64()
    matcher.add_many(
        pa.table(
            {
                "subscription_id": pa.array([one.subscription_id for one in many], kind),
                "version": pa.array([one.version for one in many], pa.int64()),
                "topic": pa.array([one.topic for one in many], pa.string()),
                "where": [one.condition.text for one in many],
                "parameters": pa.array([list(one.condition.parameters) for one in many], pa.list_(pa.string())),
                "valid_from": pa.array([one.valid_from for one in many], pa.timestamp("us", tz="UTC")),
                "valid_to": pa.array([one.valid_to for one in many], pa.timestamp("us", tz="UTC")),
            }
        )
    )
    for one in made.subscriptions[len(many) :]:
        matcher.add(
            one.subscription_id,
            one.condition.text,
            version=one.version,
            topic=one.topic,
            parameters=list(one.condition.parameters) or None,
            valid_from=_moment(one.valid_from),
            valid_to=_moment(one.valid_to),
        )
    return matcher


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def matched_pairs(made: Round, matches: pa.Table) -> Any:
    """Return the pairs of a table of matches, sorted."""
    keys = pa.array([f"{one.subscription_id}/{one.version}" for one in made.subscriptions])
    named = pc.binary_join_element_wise(
        matches["subscription_id"].cast(pa.string()), matches["version"].cast(pa.string()), "/"
    )
    places = pc.index_in(named, value_set=keys).to_numpy()
    return np.sort(matches["event_id"].to_numpy() * len(made.subscriptions) + places)
