"""What a writer pushed before it was known: the lowest number, for a few seconds, of not too many writers."""

from __future__ import annotations

from rookery.rtps.early import EarlyNumbers
from rookery.rtps.identity import Guid

WRITER = Guid(b"w" * 12, 0x103)
SECOND = 1_000_000


def test_the_lowest_number_counts_and_grows_old() -> None:
    early = EarlyNumbers()
    assert early.of(WRITER, 0) is None
    for number in (7, 5, 9):
        early.note(WRITER, number, SECOND)
    assert early.of(WRITER, 2 * SECOND) == 5
    assert early.of(WRITER, 6 * SECOND) == 5
    assert early.of(WRITER, 6 * SECOND + 1) is None
    early.note(WRITER, 20, 7 * SECOND)  # what is too old does not count against what is new
    assert early.of(WRITER, 7 * SECOND) == 20


def test_who_came_first_is_forgotten_first() -> None:
    early = EarlyNumbers()
    for number in range(300):
        early.note(Guid(b"w" * 12, number << 8 | 3), 1, 0)
    assert len(early) == 256
    assert early.of(Guid(b"w" * 12, 43 << 8 | 3), 0) is None
    assert early.of(Guid(b"w" * 12, 44 << 8 | 3), 0) == 1
