"""The tail of the bitmap engine: one that others have gone on from stays what it was, and leaves out no match."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import tail as twin

from rookery.matching.bitmap import tail_kernels
from rookery.matching.bitmap.build import build_index
from rookery.matching.bitmap.engine import BitmapEngine
from rookery.matching.bitmap.tail import Tail
from rookery.matching.codes import CodeSpace
from rookery.matching.kernels import NULL_CODE
from rookery.matching.rows import Rows
from rookery.model.schema import Schema


def equal_to(slot: int, *values: int) -> Rows:
    """Return one row that holds where attribute 0 is one of some values."""
    pool = np.array([[value, value] for value in values], np.int64)
    bounds = np.array([[0, len(values)]], np.int64)
    return Rows(np.array([slot], np.int32), np.array([0, 1]), np.array([0x8000], np.uint16), bounds, pool)


def listed(tail: Tail) -> list[tuple[int, list[int]]]:
    rows = tail.rows()
    return [
        (int(slot), rows.pool[first:last, 0].tolist())
        for slot, (first, last) in zip(rows.slot, rows.bounds.tolist(), strict=True)
    ]


def test_two_go_on_from_one_tail_and_none_sees_the_other() -> None:
    tail = Tail.behind(build_index(Rows.empty(), 1)).extended(equal_to(0, 1, 2), 1)
    one = tail.extended(equal_to(1, 3), 1)
    other = tail.extended(equal_to(1, 4, 5, 6), 1)
    further = one.extended(equal_to(2, 7), 1)
    assert listed(tail) == [(0, [1, 2])]
    assert listed(one) == [(0, [1, 2]), (1, [3])]
    assert listed(other) == [(0, [1, 2]), (1, [4, 5, 6])]
    assert listed(further) == [(0, [1, 2]), (1, [3]), (2, [7])]


def test_many_rows_outgrow_their_arrays_and_leave_earlier_tails_alone() -> None:
    tails = [Tail.behind(build_index(Rows.empty(), 1))]
    for slot in range(1_300):
        tails.append(tails[-1].extended(equal_to(slot, slot, slot + 5), 1))
    for count in (0, 1, 63, 64, 65, 511, 512, 513, 1_300):
        assert listed(tails[count]) == [(slot, [slot, slot + 5]) for slot in range(count)]


ATTRIBUTES = 3
#: A row: what each of some attributes must lie between.
ROW = st.dictionaries(
    st.integers(0, ATTRIBUTES - 1),
    st.tuples(st.integers(-4, 4), st.sampled_from([0, 0, 0, 2])) | st.just((NULL_CODE, 0)),
    max_size=ATTRIBUTES,
)
EVENTS = st.lists(st.tuples(*[st.integers(-5, 5) | st.just(NULL_CODE)] * ATTRIBUTES), min_size=1, max_size=30)


def row_of(slot: int, tests: dict[int, tuple[int, int]]) -> Rows:
    bounds = [[low, low + width] for low, width in tests.values()]
    return Rows(
        np.array([slot], np.int32),
        np.array([0, len(tests)], np.int64),
        np.array(list(tests), np.uint16),
        np.array(bounds, np.int64).reshape(-1, 2),
        np.empty((0, 2), np.int64),
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=12), EVENTS)
def test_every_state_of_a_tail_finds_what_its_rows_want(rows: list[dict[int, tuple[int, int]]], events: list) -> None:  # type: ignore[type-arg]
    space = CodeSpace(Schema(a=int, b=int, c=int))
    for name in "abc":
        space.number((name,))
    engines = [BitmapEngine()]
    for slot, tests in enumerate(rows):
        engines.append(engines[-1].extended(row_of(slot, tests), space))
    codes, alive = np.array(events, np.int64), np.ones(len(rows), np.uint8)
    for count, engine in enumerate(engines):  # the later ones have marked values in what earlier ones look at
        pairs = engine.probe(codes, alive)
        assert sorted(zip((pairs >> 32).tolist(), (pairs & 0xFFFFFFFF).tolist(), strict=True)) == [
            (event, slot)
            for event, values in enumerate(events)
            for slot, tests in enumerate(rows[:count])
            if all(low <= values[number] <= low + width for number, (low, width) in tests.items())
        ]


def test_an_event_with_a_value_that_no_row_wants_is_left_out() -> None:
    tail = Tail.behind(build_index(Rows.empty(), ATTRIBUTES))
    for slot in range(100):
        tail = tail.extended(row_of(slot, {0: (slot % 3, 0), 1: (1000 + slot, 0), 2: (slot, 2)}), ATTRIBUTES)
    codes = np.array([[0, 1000, 0], [0, 5, 0], [7, 1001, 0], [2, 1099, 9], [2, NULL_CODE, 9]], np.int64)
    assert tail.wanted(codes).tolist() == [0, 3]  # type: ignore[union-attr]
    other = tail.extended(row_of(100, {0: (0, 0)}), ATTRIBUTES)
    assert other.wanted(codes).tolist() == [0, 1, 3, 4]  # type: ignore[union-attr]
    assert other.extended(row_of(101, {2: (0, 0)}), ATTRIBUTES).wanted(codes) is None
    assert tail.wanted(codes).tolist() == [0, 3]  # type: ignore[union-attr]


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=8), EVENTS, st.permutations(range(ATTRIBUTES)))
def test_the_kernels_equal_their_twins(rows: list[dict[int, tuple[int, int]]], events: list, numbers: list) -> None:  # type: ignore[type-arg]
    whole = Rows.concatenate([row_of(slot, tests) for slot, tests in enumerate(rows)])
    chosen = np.array(numbers[:2], np.int64)
    found = []
    for kernels in (tail_kernels, twin):
        marks, counts, values = np.zeros((2, 256), np.uint64), np.zeros(2, np.int64), np.zeros(2, np.int64)
        for row in range(len(whole)):
            kernels.mark_row(row, whole.start, whole.attribute, whole.bounds, chosen, marks, counts, values)
        room = np.zeros(len(events), np.int64)
        count = kernels.marked_events(np.array(events, np.int64), chosen, np.arange(2), marks, room)
        found.append((marks.tolist(), counts.tolist(), values.tolist(), room[:count].tolist()))
    assert found[0] == found[1]
