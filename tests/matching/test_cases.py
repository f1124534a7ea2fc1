"""The golden cases of matching, run by every engine, one event at a time and as a batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import rookery
from matching.cases import dict_event, events_table, load
from matching.probes import STRUCTURES, probes
from rookery.matching import ENGINES
from rookery.model.check import Checker, checking
from rookery.model.evaluate import condition
from rookery.model.events import comparable, step_into
from rookery.model.instants import parse_instant
from rookery.model.parser import parse
from rookery.model.schema import Schema

VERDICTS = {"true": True, "false": False, "unknown": None}
CONDITIONS = load("cases")
SETS = load("sets")


def names(loaded: list[tuple[str, Schema, dict[str, Any]]]) -> list[str]:
    return [name for name, _, _ in loaded]


def expected_events(case: dict[str, Any]) -> list[tuple[dict[str, Any], bool | None]]:
    field = case.get("field")
    return [
        ({field: value} if field else value, verdict)
        for key, verdict in VERDICTS.items()
        for value in case.get(key, [])
    ]


def test_there_are_enough_cases() -> None:
    assert len(CONDITIONS) + len(SETS) >= 250
    assert all(expected_events(case) for _, _, case in CONDITIONS)


@pytest.mark.parametrize(("name", "schema", "case"), CONDITIONS, ids=names(CONDITIONS))
def test_the_evaluator_says_true_false_or_unknown(name: str, schema: Schema, case: dict[str, Any]) -> None:
    where = case["where"]
    decide = checking(where, parse(where), lambda tree: condition(tree, schema, case.get("parameters")))
    paths = {one.path: one for one in Checker(schema, case.get("parameters")).reads(parse(where))}
    for event, verdict in expected_events(case):
        values = dict_event(schema, event)
        row = {path: comparable(attribute, step_into(values, path)) for path, attribute in paths.items()}
        assert decide(row) is verdict, event


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "schema", "case"), CONDITIONS, ids=names(CONDITIONS))
def test_every_engine_decides_the_case(engine: str, name: str, schema: Schema, case: dict[str, Any]) -> None:
    where, parameters = case["where"], case.get("parameters")
    events = expected_events(case)
    wanted = {True: ["yes"], False: ["no"], None: []}
    with probes() as asked:
        matcher = rookery.matcher(schema, engine=engine)
        matcher.add("yes", where, parameters=parameters)
        matcher.add("no", f"NOT ({where.strip() or 'TRUE'})", parameters=parameters)
        for event, verdict in events:
            assert matcher.match(dict_event(schema, event)) == wanted[verdict], event
        found: dict[int, list[str]] = {place: [] for place in range(len(events))}
        table = matcher.match_many(events_table(schema, [event for event, _ in events]))
        for row in table.to_pylist():
            found[row["event_id"]].append(row["subscription_id"])
    for place, (event, verdict) in enumerate(events):
        assert found[place] == wanted[verdict], event
    if engine in STRUCTURES:  # the matrix itself has answered, and not a scan beside it
        assert asked.pairs[engine] >= 2 * sum(verdict is not None for _, verdict in events)
        # An event is asked once more for each condition on a text that is TRUE of it.
        assert set(asked.events) <= {engine}
        assert not asked.events or asked.events[engine] >= 2 * len(events)
        assert asked.events or not len(matcher._view.engine.rows())  # type: ignore[union-attr]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("in_bulk", [False, True], ids=["one by one", "in bulk"])
@pytest.mark.parametrize(("name", "schema", "case"), SETS, ids=names(SETS))
def test_every_engine_decides_the_set(
    engine: str, in_bulk: bool, name: str, schema: Schema, case: dict[str, Any]
) -> None:
    with probes() as asked:
        matches = decide_the_set(engine, in_bulk, schema, case)
    if engine in STRUCTURES:
        assert asked.pairs[engine] >= matches


def decide_the_set(engine: str, in_bulk: bool, schema: Schema, case: dict[str, Any]) -> int:
    """Check the matches of a set; return how many there are."""
    matcher = rookery.matcher(schema, engine=engine)
    if in_bulk:
        matcher.add_many(pa.Table.from_pylist(_filled(case["subscriptions"])))
    else:
        for subscription in case["subscriptions"]:
            matcher.add(**subscription)
    events = case["events"]
    table = events_table(schema, [one["event"] for one in events])
    options: dict[str, Any] = {}
    if any("time" in one for one in events):
        times = [None if one["time"] is None else parse_instant(one["time"]) // 1000 for one in events]
        table = table.append_column("ts", pa.array(times, pa.int64()).cast(pa.timestamp("us", tz="UTC")))
        options["time"] = "ts"
    if any("topic" in one for one in events):
        table = table.append_column("topic", pa.array([one["topic"] for one in events]))
    if "as_of" in case:
        options["as_of"] = case["as_of"]
    found: dict[int, list[list[Any]]] = {place: [] for place in range(len(events))}
    for row in matcher.match_many(table, **options).to_pylist():
        found[row["event_id"]].append([row["subscription_id"], row["version"]])
    for place, one in enumerate(events):
        assert sorted(found[place]) == one["matches"], one
        if one.get("time", "") is not None:
            time = case.get("as_of", one.get("time"))
            ids = matcher.match(dict_event(schema, one["event"]), topic=one.get("topic"), time=time)
            assert sorted(ids) == [subscription_id for subscription_id, _ in one["matches"]], one
    return sum(len(one["matches"]) for one in events)


def _filled(subscriptions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = dict.fromkeys(key for one in subscriptions for key in one)
    return [{key: one.get(key) for key in keys} for one in subscriptions]
