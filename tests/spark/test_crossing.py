"""Matches cross folded: the same pairs in the same order, in batches that stay small."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rookery
from rookery import CompiledSet, Schema
from rookery.spark import crossing
from rookery.spark.rules import Reading
from rookery.spark.worker import crossing_schema, match_schema, rows

READING = Reading(event_id="event_id")


def compiled(limits: list[int], *, text: bool, versions: bool) -> CompiledSet:
    matcher = rookery.matcher(Schema.from_dict({"x": "int64"}))
    for number, limit in enumerate(limits):
        matcher.add(f"over {number}" if text else number, f"x > {limit}", version=1 + number % 3 if versions else 1)
    return matcher.compile()


def flat(found: list[pa.RecordBatch], version: int | None) -> list[tuple[object, ...]]:
    """Unfold as Spark does."""
    made = []
    for batch in found:
        for row in batch.to_pylist():
            for place, name in enumerate(row["subscription_ids"]):
                made.append((row["event_id"], name, row["versions"][place] if version is None else version))
    return made


@given(
    limits=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    values=st.lists(st.one_of(st.none(), st.integers(0, 10)), max_size=40),
    text=st.booleans(),
    versions=st.booleans(),
    most=st.integers(1, 30),
)
def test_folded_matches_are_the_flat_ones(
    limits: list[int], values: list[int | None], text: bool, versions: bool, most: int
) -> None:
    rules = compiled(limits, text=text, versions=versions)
    # Two events in a row with one id are two events, whose matches are told one after the other.
    ids = [number // 2 for number in range(len(values))]
    batch = pa.record_batch({"event_id": pa.array(ids, pa.int64()), "x": pa.array(values, pa.int64())})
    kind = pa.string() if text else pa.int64()
    folded = crossing_schema(pa.int64(), kind, explain=False, versions=rules.version is None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossing, "OUTPUT_ROWS", most)
        found = list(rows(rules, batch, READING, folded))
    pairs = match_schema(pa.int64(), kind)
    plain = pa.Table.from_batches(list(rows(rules, batch, READING, pairs)), schema=pairs)
    expected = (
        [(row["event_id"], row["subscription_id"], row["version"]) for row in plain.to_pylist()] if values else []
    )
    assert flat(found, rules.version) == expected
    for part in found:
        part.validate(full=True)
        assert part.schema == folded
        sizes = [len(one) for one in part.column("subscription_ids").to_pylist()]
        assert all(sizes)
        assert sum(sizes[:-1]) < most  # only the last event may go over


@given(
    limits=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    events=st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 5)), st.integers(0, 10)), min_size=1, max_size=40),
    text=st.booleans(),
    most=st.integers(1, 5),
)
def test_columns_of_the_event_cross_and_the_first_matches_by_id_are_kept(
    limits: list[int], events: list[tuple[int | None, int]], text: bool, most: int
) -> None:
    rules = compiled(limits, text=False, versions=False)
    kind = pa.string() if text else pa.int64()
    ids = pa.array([one if one is None or not text else str(one) for one, _ in events], kind)
    x = pa.array([value for _, value in events], pa.int64())
    batch = pa.record_batch({"event_id": ids, "x": x, "versions": pa.array([str(value) for _, value in events])})
    columns = [batch.schema.field("versions"), batch.schema.field("x")]
    output = crossing_schema(kind, pa.int64(), explain=False, columns=columns)
    own = crossing.carried_name
    for number, limit in enumerate(limits):
        matched = [(-1 if one is None else one, value) for one, value in events if value > limit]
        for wanted in (None, most):
            found = [
                row
                for part in rows(rules, batch, READING, output, most=wanted)
                for row in part.to_pylist()
                if number in row["subscription_ids"]
            ]
            carried = [(-1 if row["event_id"] is None else int(row["event_id"]), row[own("x")]) for row in found]
            assert [row[own("versions")] for row in found] == [str(value) for _, value in carried]
            assert not Counter(carried) - Counter(matched)  # each is an event that matched
            assert sorted(one for one, _ in carried) == sorted(one for one, _ in matched)[:wanted]


def test_nothing_found_is_nothing_sent() -> None:
    batch = pa.record_batch({"event_id": [1, 2], "x": [0, None]})
    output = crossing_schema(pa.int64(), pa.int64(), explain=False)
    assert list(rows(compiled([5], text=False, versions=False), batch, READING, output)) == []
