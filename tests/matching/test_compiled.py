"""A compiled set matches as the matcher it came from, wherever it is carried; its boxes are outer bounds."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rookery
from model.generators import leaves, random_event, random_filter, random_schema, table_of
from rookery.matching import ENGINES, CompiledSet
from rookery.matching.bitmap.signatures import MAXIMUM_SIGNATURES, choose_signatures
from rookery.matching.kernels import SET_FLAG
from rookery.space import Axis, EventSpace
from rookery.space.axes import FIRST, LAST

from .test_kernels import random_rows

SCHEMA = rookery.Schema.from_dict({"k": "string", "v": "float64", "n": "int64"})
EVENTS = pa.table({"event_id": [1, 2, 3], "k": ["a", "b", None], "v": [1.0, 5.0, 9.0], "n": [1, None, 3]})


def sample(engine: str = "bitmap") -> Any:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    matcher.add("eq", "k = 'a' AND v < 2")
    matcher.add("range", "v BETWEEN 1 AND 5")
    matcher.add("field", "n < v")
    matcher.add("none", "FALSE")
    matcher.add("some", "n IN (1, 3) OR k LIKE '%b'")
    return matcher


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "scan"])
def test_a_compiled_set_matches_as_its_matcher(engine: str, tmp_path: Path) -> None:
    matcher = sample(engine)
    wanted = matcher.match_many(EVENTS)
    compiled = matcher.compile()
    path = tmp_path / "set.rks"
    compiled.save(path)
    forms = {
        "compiled": compiled,
        "loaded": CompiledSet.load(path),
        "unverified": CompiledSet.load(path, verify=False),
        "bytes": CompiledSet.from_bytes(bytes(compiled.to_bytes())),
        "pickled": pickle.loads(pickle.dumps(compiled)),
    }
    for name, one in forms.items():
        assert one.match_many(EVENTS).equals(wanted), name
        assert one.match({"k": "a", "v": 1.0, "n": 0}) == matcher.match({"k": "a", "v": 1.0, "n": 0}), name
        assert one.content_hash == compiled.content_hash, name
        assert len(one) == 5
        assert one.schema == SCHEMA
    events, slots = compiled.match_indices(EVENTS)
    ids = compiled.subscriptions["subscription_id"].take(pa.array(slots))
    assert ids.to_pylist() == wanted["subscription_id"].to_pylist()
    assert EVENTS["event_id"].take(pa.array(events)).to_pylist() == wanted["event_id"].to_pylist()


def test_saving_leaves_nothing_else_and_replaces_whole(tmp_path: Path) -> None:
    path = tmp_path / "set.rks"
    path.write_bytes(b"old")
    sample().compile().save(path)
    assert [one.name for one in tmp_path.iterdir()] == ["set.rks"]
    assert len(CompiledSet.load(path)) == 5


def test_a_compiled_set_does_not_change_with_its_matcher() -> None:
    matcher = sample()
    compiled = matcher.compile()
    before = compiled.match_many(EVENTS)
    matcher.add("late", "k > 'A' AND v > 0")
    matcher.remove("range")
    assert compiled.match_many(EVENTS).equals(before)
    other = rookery.matcher(compiled)
    other.remove("eq")
    other.add("later", "k = 'zzz'")
    assert compiled.match_many(EVENTS).equals(before)
    assert len(other) == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_any_engine_goes_on_from_a_compiled_set(engine: str) -> None:
    other = rookery.matcher(sample().compile(), engine=engine)
    other.add("more", "v > 8")
    found = {(row["event_id"], row["subscription_id"]) for row in other.match_many(EVENTS).to_pylist()}
    assert found == {
        (1, "eq"),
        (1, "range"),
        (2, "range"),
        (3, "field"),
        (1, "some"),
        (2, "some"),
        (3, "some"),
        (3, "more"),
    }


def test_an_empty_set_is_a_set() -> None:
    compiled = CompiledSet.from_bytes(rookery.matcher(SCHEMA).compile().to_bytes())
    assert len(compiled) == 0
    assert compiled.match_many(EVENTS).num_rows == 0
    assert compiled.match({"k": "a"}) == []
    assert compiled.topics == []
    assert not compiled.dated


def test_an_empty_batch_gives_an_empty_table() -> None:
    for engine in ENGINES:
        found = sample(engine).match_many(EVENTS.slice(0, 0))
        assert found.num_rows == 0
        assert found.column_names == ["event_id", "subscription_id", "version"]


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_a_part_matches_as_its_subscriptions_did(random: Random) -> None:
    schema = random_schema(random, most=3)
    matcher = rookery.matcher(schema)
    count = random.randint(1, 12)
    for place in range(count):
        where, parameters = random_filter(random, schema, depth=1)
        matcher.add(place, where, parameters=parameters)
    whole = matcher.compile()
    chosen = sorted(random.sample(range(count), random.randint(0, count)))
    part = whole.take(np.array(chosen, np.int64))
    table = table_of(schema, [random_event(random, schema) for _ in range(5)])
    wanted = [row for row in whole.match_many(table).to_pylist() if row["subscription_id"] in chosen]
    assert part.match_many(table).to_pylist() == wanted
    assert part.subscriptions["subscription_id"].to_pylist() == chosen


@settings(max_examples=120)
@given(st.randoms(use_true_random=False))
def test_boxes_hold_every_match_and_are_those_of_the_conditions(random: Random) -> None:
    """Brokers take a box from a condition, Spark takes it from codes: the same one, and what matches lies inside."""
    schema = random_schema(random, most=4)
    names = [text for text, _ in leaves(schema)]
    events = [random_event(random, schema) for _ in range(12)]
    learned = EventSpace.learn(schema, names, table_of(schema, events[: random.choice([0, 3, 12])]))
    matcher, conditions = rookery.matcher(schema), []
    for place in range(8):
        conditions.append(random_filter(random, schema, depth=1))
        matcher.add(place, conditions[-1][0], parameters=conditions[-1][1])
    compiled = matcher.compile()
    points = learned.points(table_of(schema, events))
    boxes = compiled.boxes(learned)
    assert boxes.lower.shape == boxes.upper.shape == (8, len(names))
    for slot, (where, parameters) in enumerate(conditions):
        box = learned.box(where, parameters)
        assert (tuple(boxes.lower[slot]), tuple(boxes.upper[slot])) == (
            box or ((1.0,) * len(names), (0.0,) * len(names))
        )
    for event, slot in zip(*(one.tolist() for one in compiled.match_indices(table_of(schema, events))), strict=True):
        assert (boxes.lower[slot] <= points[event]).all(), conditions[slot]
        assert (points[event] <= boxes.upper[slot]).all(), conditions[slot]


def test_boxes_are_what_the_filters_say() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add(0, "v BETWEEN 1 AND 5 AND n > 3")
    matcher.add(1, "v < 2 OR v > 9")
    matcher.add(2, "k = 'a' OR k = 'c'")
    matcher.add(3, "v IS NULL OR v > 1")
    matcher.add(4, "FALSE")
    matcher.add(5, "v IS NULL")
    space = EventSpace(SCHEMA, [Axis("v", 0, 10), Axis("n", 0, 16), Axis("k")])
    boxes = matcher.compile().boxes(space)
    lower, upper = boxes.lower, boxes.upper
    assert (lower[0, 0], upper[0, 0]) == (space.point({"v": 1})[0], space.point({"v": 5})[0])
    assert (lower[0, 1], upper[0, 1]) == (space.point({"n": 4})[1], LAST)
    assert (lower[1, 0], upper[1, 0]) == (FIRST, LAST)
    assert (lower[2, 0], upper[2, 0]) == (0, LAST)
    assert (lower[2, 2], upper[2, 2]) == (space.point({"k": "a"})[2], space.point({"k": "c"})[2])
    assert (lower[3, 0], upper[3, 0]) == (0, LAST)
    assert (lower[4] > upper[4]).all()
    assert (lower[5, 0], upper[5, 0]) == (0, 0)


def test_a_side_that_a_box_leaves_open_is_the_end_of_the_axis() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add_boxes(["up", "down"], lower={"v": [1.0, None]}, upper={"v": [None, 2.0]})
    space = EventSpace(SCHEMA, [Axis("v", 0, 10)])
    boxes = matcher.compile().boxes(space)
    assert boxes.lower.tolist() == [[space.point({"v": 1})[0]], [FIRST]]
    assert boxes.upper.tolist() == [[LAST], [space.point({"v": 2})[0]]]


@pytest.mark.parametrize("kind", ["uint64", "int64", "decimal(18,17)", "decimal(17,5)", "decimal(30,4)"])
def test_a_bound_lies_where_its_value_does(kind: str) -> None:
    """Codes of unsigned integers are shifted by 2⁶³, those of long decimals are rounded: the place is the same."""
    random = Random(8)
    schema = rookery.Schema(d=kind)
    leaf: Any = schema.attribute(("d",)).type
    keys = [leaf.lowest, leaf.highest, *(random.randint(leaf.lowest, leaf.highest) for _ in range(300))]
    keys += [key for near in (0, 2**53, leaf.highest // 2) for key in range(near - 3, near + 4) if key >= leaf.lowest]
    values: list[Any] = [Decimal(f"{key}e{-leaf.scale}") for key in keys] if kind.startswith("decimal") else keys
    space = EventSpace(schema, [Axis("d", float(leaf.lowest) / 10**6, 1e7)])
    matcher = rookery.matcher(schema)
    for slot, value in enumerate(values):
        matcher.add(slot, "d = %0", parameters=[value])
    points = space.points([{"d": value} for value in values])
    assert points[:, 0].tolist() == [space.point({"d": value})[0] for value in values]
    assert np.array_equal(matcher.compile().boxes(space).lower, points)
    assert np.array_equal(matcher.compile().boxes(space).upper, points)


def test_signatures_use_equalities_of_their_rows_only() -> None:
    for seed in range(5):
        rows = random_rows(Random(seed), 500, 6, equalities=0.7)
        signature, first, numbers = choose_signatures(rows, 6)
        assert len(signature) == 500
        assert first[0] == 0
        assert first[1] == 0  # the first signature is the empty key
        assert len(first) - 1 <= MAXIMUM_SIGNATURES + 1
        for row in range(500):
            places = range(rows.start[row], rows.start[row + 1])
            points = {
                int(rows.attribute[place])
                for place in places
                if not rows.attribute[place] & SET_FLAG and rows.bounds[place, 0] == rows.bounds[place, 1]
            }
            mine = signature[row]
            assert set(numbers[first[mine] : first[mine + 1]].tolist()) <= points


def test_nbytes_grows_with_the_set() -> None:
    for engine in ENGINES:
        matcher = sample(engine)
        before = matcher.nbytes
        matcher.add_many(
            pa.table(
                {"subscription_id": [f"s{row}" for row in range(500)], "where": [f"v > {row}" for row in range(500)]}
            )
        )
        assert matcher.nbytes > before > 0


def test_the_set_version_moves_with_every_edit() -> None:
    matcher = rookery.matcher(SCHEMA)
    seen = [matcher.set_version]
    for edit in (
        lambda: matcher.add("a", "v > %0", parameters=["1"]),
        lambda: matcher.set_parameters("a", ["2"]),
        lambda: matcher.replace("a", "v > 3"),
        lambda: matcher.add_many(pa.table({"subscription_id": ["b"], "where": ["v > 1"]})),
        lambda: matcher.add_boxes(["c"], lower={"v": [1.0]}),
        lambda: matcher.remove("a"),
    ):
        edit()
        seen.append(matcher.set_version)
    assert seen == sorted(set(seen))
    assert len(matcher) == 2


def test_a_part_judges_by_versions_that_it_does_not_have() -> None:
    """An undated version ends where a later one begins, in a part that holds the undated one alone too."""
    matcher = rookery.matcher(rookery.Schema(x=int))
    matcher.add("a", "x > 1")
    matcher.add("a", "x > 5", version=2, valid_from="2026-01-01T00:00:00Z")
    compiled = matcher.compile()
    (slot,) = [place for place, one in enumerate(compiled.subscriptions["version"].to_pylist()) if one == 1]
    part = compiled.take(np.array([slot]))
    before, after = "2025-06-01T00:00:00Z", "2026-06-01T00:00:00Z"
    assert part.match({"x": 7}, time=before) == compiled.match({"x": 7}, time=before) == ["a"]
    assert part.match({"x": 7}, time=after) == []
    events = {"event_id": [1, 2], "x": [7, 7], "at": [before, after]}
    assert part.match_many(events, time="at").to_pylist() == [{"event_id": 1, "subscription_id": "a", "version": 1}]
