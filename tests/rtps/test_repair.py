"""When a missing sample is asked for: not while it may be on its way, not twice at a time, and never abandoned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps.early import EarlyNumbers
from rookery.rtps.identity import Guid
from rookery.rtps.repair import NACK_DELAY, Repairs

MILLISECOND = 1_000


def ready(repairs: Repairs, missing: list[int], now: int) -> list[int]:
    return repairs.due(missing, now)[0]


def test_a_number_is_asked_for_when_it_has_been_missing_for_a_while() -> None:
    repairs = Repairs()
    repairs.saw(5, 0)
    repairs.saw(7, 4 * MILLISECOND)
    assert ready(repairs, [5, 7], NACK_DELAY - 1) == []
    assert repairs.due([5, 7], NACK_DELAY)[0] == [5]
    assert ready(repairs, [5, 7], NACK_DELAY + 4 * MILLISECOND) == [5, 7]


def test_the_past_that_a_first_heartbeat_tells_of_is_due_at_once() -> None:
    repairs = Repairs()
    repairs.begin(3, 50)
    assert ready(repairs, [1, 2, 3], 50) == [1, 2, 3]


def test_a_number_on_its_way_is_not_asked_for_again_until_it_is_overdue() -> None:
    repairs = Repairs()
    repairs.begin(1, 0)
    repairs.ask([1], 0)
    patience = repairs.patience
    assert ready(repairs, [1], patience - 1) == []
    assert ready(repairs, [1], patience) == [1]


def test_patience_follows_the_way_there_and_back() -> None:
    for way in (300, 5_000, 60_000):
        repairs, now = Repairs(), 0
        for number in range(1, 60):
            now += 200_000
            repairs.saw(number, now - NACK_DELAY)
            repairs.ask([number], now)
            repairs.arrived(number, now + way)
        assert max(way, NACK_DELAY) <= repairs.patience <= max(NACK_DELAY, way * 3 // 2)


def test_a_silent_writer_is_asked_ever_more_slowly_and_a_heartbeat_ends_that() -> None:
    repairs, now = Repairs(), 0
    repairs.begin(1, now)
    waits = []
    for _ in range(8):
        repairs.ask([1], now)
        waits.append(repairs.patience)
        now += repairs.patience
        assert ready(repairs, [1], now) == [1]
    assert waits == sorted(waits)
    assert waits[-1] == 1_600 * MILLISECOND
    repairs.heard()
    assert repairs.patience == waits[0]


def test_a_repeat_of_what_was_asked_for_makes_it_wait_longer_and_that_passes() -> None:
    repairs = Repairs()
    repairs.saw(1, 0)
    repairs.ask([1], NACK_DELAY)
    repairs.arrived(1, 25 * MILLISECOND)  # the original, merely late
    repairs.repeated(1)  # and what we asked for
    repairs.saw(2, 100 * MILLISECOND)
    assert ready(repairs, [2], 124 * MILLISECOND) == []
    assert ready(repairs, [2], 125 * MILLISECOND) == [2]
    now = 200 * MILLISECOND
    for number in range(2, 200):
        repairs.saw(number, now)
        repairs.ask([number], now)
        repairs.arrived(number, now + 100)
    repairs.saw(300, now)
    assert ready(repairs, [300], now + 2 * NACK_DELAY) == [300]


@given(st.lists(st.tuples(st.sampled_from(["saw", "ask", "arrive", "repeat", "forget"]), st.integers(1, 400))))
def test_whatever_happens_everything_missing_falls_due_and_the_tables_stay_small(steps: list[tuple[str, int]]) -> None:
    repairs, now = Repairs(), 0
    for step, number in steps:
        now += number * 100
        match step:
            case "saw":
                repairs.saw(number, now)
            case "ask":
                repairs.ask([number], now)
            case "arrive":
                repairs.arrived(number, now)
            case "repeat":
                repairs.repeated(number)
            case "forget":
                repairs.forget_below(number)
    repairs.saw(1_000, now)
    missing = [500, 1_000]
    found, later = repairs.due(missing, now)
    while later is not None:
        assert later > now
        now = later
        found, later = repairs.due(missing, now)
    assert found == missing
    assert len(repairs._lasts) <= 64
    assert len(repairs._repaired) <= 256


def test_early_numbers_are_few_and_soon_forgotten() -> None:
    early, writer = EarlyNumbers(), Guid(b"x" * 12, 0x102)
    assert early.of(writer, 0) is None
    early.note(writer, 9, 0)
    early.note(writer, 7, 1_000)
    early.note(writer, 8, 2_000)
    assert early.of(writer, 5_000_000) == 7
    assert early.of(writer, 5_000_001) is None
    early.note(writer, 20, 6_000_000)
    assert early.of(writer, 6_000_000) == 20
    for number in range(1_000):
        early.note(Guid(number.to_bytes(12, "big"), 0x102), 1, 6_000_000)
    assert len(early) == 256
