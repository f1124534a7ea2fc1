"""The tail of the bitmap engine: a tail that others have gone on from stays what it was."""

from __future__ import annotations

import numpy as np

from rookery.matching.bitmap.build import build_index
from rookery.matching.bitmap.tail import Tail
from rookery.matching.rows import Rows


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
