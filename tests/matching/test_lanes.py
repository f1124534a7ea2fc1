"""Rows scanned for many events at once: the twin's pairs, in order; and chosen where lines leave much to verify."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.matching.test_kernels import random_codes, random_rows
from tests.twins import bitmap as bitmap_twin
from tests.twins import lanes as twin
from tests.twins import rows as twins

import rookery
from rookery.matching.bitmap import engine, lane_kernels, lanes, positions
from rookery.matching.bitmap.build import build_index
from rookery.matching.bitmap.engine import BitmapEngine
from rookery.matching.bitmap.lanes import LaneChoice, match_by_lanes
from rookery.matching.kernels import NULL_CODE
from rookery.matching.rows import Rows

Array = np.ndarray[Any, Any]
ATTRIBUTES = 5


@settings(max_examples=40, deadline=None)
@given(
    st.randoms(use_true_random=False), st.integers(0, 90), st.sampled_from([0, 1, 63, 64, 65, 128, 129, 300]),
    st.sampled_from([np.int32, np.int64]), st.integers(1, 500),
)  # fmt: skip
def test_rows_are_scanned_as_the_twin_says(random: Random, count: int, events: int, kind: Any, slots: int) -> None:
    rows, codes = random_rows(random, count, ATTRIBUTES), random_codes(random, events + 3, ATTRIBUTES)
    low = np.iinfo(kind).min
    short = {
        name: np.where(array == NULL_CODE, low, array).astype(kind)
        for name, array in (("positions", codes), ("bounds", rows.bounds), ("pool", rows.pool))
    }
    slot = np.array([random.randrange(slots) for _ in range(count)], np.int32)  # some have several rows
    alive = np.array([random.random() < 0.9 for _ in range(slots)], np.uint8)
    asked = np.sort(np.array(random.sample(range(events + 3), events), np.int64))
    first, last = (0, count) if random.random() < 0.5 else (count // 3, count - count // 5)
    arguments = (
        short["positions"],
        asked,
        alive,
        first,
        last,
        slot,
        rows.start,
        rows.attribute,
        short["bounds"],
        short["pool"],
    )
    wanted = twin.match_lanes(*arguments).tolist()
    for room in (0, 10, len(wanted), len(wanted) + 1000):
        assert lane_kernels.match_lanes(*arguments, np.empty(room, np.int64)).tolist() == wanted


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_lane_is_between_its_bounds_or_at_them(kind: Any) -> None:
    extremes = [np.iinfo(kind).min, np.iinfo(kind).max, -1, 0, 1]
    values = np.array([Random(lane).choice(extremes) for lane in range(lane_kernels.LANES)], kind)
    row = [0, 0], [0, 1]  # where the predicates of the one row begin, and its attribute
    for low in extremes:
        for high in extremes:
            held = lane_kernels.match_lanes(
                values.reshape(-1, 1), np.arange(len(values)), np.ones(1, np.uint8), 0, 1, np.zeros(1, np.int32),
                np.array(row[1], kind), np.zeros(1, np.uint16), np.array([[low, high]], kind), np.empty((0, 2), kind),
                np.empty(0, np.int64),
            )  # fmt: skip
            assert (held >> 32).tolist() == [at for at, value in enumerate(values.tolist()) if low <= value <= high]


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("keyed", [False, True])
def test_an_engine_gives_the_same_pairs_by_lanes_and_by_lines(
    keyed: bool, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "LEAST_PREDICATES", 0 if short else 1 << 62)
    monkeypatch.setattr(lanes, "LEAST_ROWS", 1)
    monkeypatch.setattr(lanes, "COMPARISONS_A_CHECK", 1 << 40)
    random = Random(3)
    rows = random_rows(random, 900, ATTRIBUTES, equalities=0.0)
    if keyed:  # every row under the one key of an attribute more
        begin = rows.start[:-1]
        rows = Rows(
            rows.slot, rows.start + np.arange(901), np.insert(rows.attribute, begin, ATTRIBUTES).astype(np.uint16),
            np.insert(rows.bounds, begin, [[4, 4]] * 900, axis=0), rows.pool,
        )  # fmt: skip
    codes = random_codes(random, 200, ATTRIBUTES + 1)
    codes[:150, ATTRIBUTES] = 4
    alive = np.array([random.random() < 0.9 for _ in range(900)], np.uint8)
    index = build_index(rows, ATTRIBUTES + 1)
    assert len(index.partition_first) == 2
    assert bool(index.signature_numbers.size) == keyed
    wanted = twins.scan_rows(codes, 0, 900, rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    by_lanes = []

    def counted(*arguments: Any) -> Array:
        by_lanes.append(len(arguments[1]))
        return match_by_lanes(*arguments)

    monkeypatch.setattr(engine, "match_by_lanes", counted)
    probed = BitmapEngine(index)
    for asked in range(3):
        found = probed.probe(codes, alive)
        assert len(by_lanes) == asked
        assert np.array_equal(np.sort(found), np.sort(wanted))
    part = np.zeros(1, np.int64)
    engine._match(
        index, codes, codes if not short else engine._positions(index, codes), alive, np.empty(1, np.int64), part
    )
    assert part[0] == sum(len(list(bitmap_twin._candidates(index, one))) for one in codes)


def test_the_way_that_costs_less_is_chosen_and_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LEAST_ROWS", 512)
    index = build_index(random_rows(Random(1), 900, ATTRIBUTES, equalities=0.0), ATTRIBUTES)
    rows, choice = index.blocked_rows, LaneChoice()
    assert not choice.scans(index, 200, rows)  # nothing is known yet
    choice.note(200 * rows, 200)
    assert [choice.scans(index, 200, rows) for _ in range(lanes.TURNS + 1)] == [True] * lanes.TURNS + [False]
    choice.note(200 * rows, 200)
    assert choice.scans(index, 200, rows)
    assert not choice.scans(index, 20, rows)  # too few events for a word
    assert not choice.scans(index, 200, 8 * rows + 1)  # very many slots for these rows
    choice.note(200, 200)
    assert not choice.scans(index, 200, rows)  # selective enough for lines


def test_a_set_of_wide_ranges_matches_by_lanes_what_each_event_matches_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """From end to end, with removed subscriptions, NULLs and subscriptions of several rows."""
    monkeypatch.setattr(lanes, "LEAST_ROWS", 512)
    random = np.random.default_rng(8)
    matcher = rookery.matcher(rookery.Schema(x=float, y=float))
    lower = random.random((2, 1500))
    matcher.add_boxes([f"s{one}" for one in range(1500)], lower={"x": lower[0]}, upper={"y": lower[1]})
    for one in range(40):
        matcher.add(f"or{one}", f"x < 0.{one + 1} OR y > 0.{one + 20} OR x IS NULL")
    for one in range(0, 1500, 7):
        matcher.remove(f"s{one}")
    values = random.random((2, 500)).round(2).tolist()
    events = [
        {"event_id": place, "x": None if place % 50 == 0 else x, "y": y}
        for place, (x, y) in enumerate(zip(*values, strict=True))
    ]
    table = matcher.match_many(events)
    found: dict[int, list[str]] = {}
    for event, name in zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True):
        found.setdefault(event, []).append(name)
    for event in events[::9]:
        assert sorted(found.get(event["event_id"], [])) == sorted(matcher.match(event))
