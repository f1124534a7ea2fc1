"""A reliable writer and its readers, with a link in between that Hypothesis breaks as it likes.

The oracle is the list of what was written: whatever is lost, repeated or overtaken, once the link works again a
reliable reader has all of it, in order; and what a keep-last writer let go of is missing without disorder.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.rtps.limits import Limits
from rookery.rtps.locators import Address
from rookery.rtps.peers import Destination
from rookery.rtps.sequences import NumberSet
from rookery.rtps.submessages import AckNack, Data, Gap, Heartbeat
from rookery.rtps.writer import FRAGMENT_BYTES

from .link import READER, RIGHT, WRITER, Link

MISFORTUNES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from([4, 100, FRAGMENT_BYTES + 1, 3 * FRAGMENT_BYTES])),
        st.tuples(st.sampled_from(["carry", "lose", "repeat"]), st.integers(0, 30)),
        st.tuples(st.just("wait"), st.integers(1, 300_000)),
    ),
    max_size=40,
)


def suffer(link: Link, misfortunes: list[tuple[str, int]]) -> list[bytes]:
    written = []
    for step, number in misfortunes:
        if step == "write":
            payload = b"\0\1\0\0" + len(written).to_bytes(4, "big") + bytes(number)
            written.append(payload)
            link.write(payload, instance=bytes((len(written) % 3,)))
        elif step == "wait":
            link.pass_time(number)
        elif link.way:
            index = number % len(link.way)
            if step == "lose":
                link.way.pop(index)
            else:
                link.carry(index, again=step == "repeat")
    return written


@settings(max_examples=200)
@given(MISFORTUNES)
def test_a_reliable_reader_has_everything_in_order(misfortunes: list[tuple[str, int]]) -> None:
    link = Link()
    link.match()
    written = suffer(link, misfortunes)
    link.settle()
    assert link.payloads() == written
    assert link.writer.acknowledged
    assert len(link.writer.history) == 0


@settings(max_examples=200)
@given(MISFORTUNES, st.integers(1, 3))
def test_keep_last_may_skip_but_never_disorders_and_ends_with_the_newest(
    misfortunes: list[tuple[str, int]], depth: int
) -> None:
    link = Link(depth=depth, keeps=True)
    link.match(with_history=True)
    written = suffer(link, misfortunes)
    link.settle()
    got = link.payloads()
    assert got == [payload for payload in written if payload in set(got)]
    assert set(got) >= {change.payload for change in link.writer.history}
    assert link.writer.acknowledged


@settings(max_examples=100)
@given(MISFORTUNES)
def test_best_effort_is_a_part_of_what_was_written_in_order(misfortunes: list[tuple[str, int]]) -> None:
    link = Link()
    link.match(reliable=False)
    written = suffer(link, misfortunes)
    link.settle()
    got = link.payloads()
    assert got == [payload for payload in written if payload in set(got)]
    assert len(got) == len(set(got))


@settings(max_examples=100)
@given(st.integers(0, 20), MISFORTUNES)
def test_a_late_reader_gets_the_past_or_not(past: int, misfortunes: list[tuple[str, int]]) -> None:
    for with_history in (True, False):
        link = Link(keeps=True)
        before = [b"\0\1\0\0" + bytes((number,) * 4) for number in range(past)]
        for payload in before:
            link.write(payload)
        link.match(with_history=with_history)
        written = suffer(link, misfortunes)
        link.settle()
        assert link.payloads() == (before if with_history else []) + written


def test_a_writer_that_offers_the_past_to_everyone_is_not_asked_for_it() -> None:
    # Cyclone DDS offers all that it has to a volatile reader too, and leaves it to the reader to begin after that.
    link = Link()
    link.match(from_first=False)
    link.way.clear()
    early = Data(READER.entity, WRITER.entity, 9, b"\0\1\0\0")
    link.reader.receive_data(WRITER, early, timestamp=None, now=0)
    assert link.received == []
    link.reader.receive_heartbeat(WRITER, Heartbeat(READER.entity, WRITER.entity, 1, 9, 1), 0)
    assert [received.sequence for received in link.received] == [9]
    (answer,) = (each for each in link.gather() if isinstance(each, AckNack))
    assert answer.missing == NumberSet(10)


def test_one_gap_covers_a_whole_range() -> None:
    link = Link(depth=1, keeps=True)
    for _ in range(500):
        link.write(b"\0\1\0\0", instance=b"same")
    link.match(with_history=True)
    link.settle()
    assert [received.sequence for received in link.received] == [500]
    link.writer.receive_acknack(READER, AckNack(READER.entity, WRITER.entity, NumberSet(3, 256, (1 << 256) - 1), 99), 0)
    said = link.gather()
    gaps = [each for each in said if isinstance(each, Gap)]
    assert [(gap.start, gap.rest.base) for gap in gaps] == [(3, 500)]


def test_an_answer_is_not_larger_than_it_may_be() -> None:
    link = Link(limits=Limits(resend_bytes=3_000))
    link.match()
    link.settle()
    for _ in range(50):
        link.write(b"\0\1\0\0" + bytes(996))
        link.way.clear()
    request = AckNack(READER.entity, WRITER.entity, NumberSet(1, 50, (1 << 50) - 1), 1_000, final=True)
    link.writer.receive_acknack(READER, request, link.now)
    said = link.gather()
    assert len([each for each in said if isinstance(each, Data)]) == 3
    # More is to come, and a HEARTBEAT says so at once.
    assert [each.final for each in said if isinstance(each, Heartbeat)] == [False]


def test_a_long_repair_goes_on_until_everything_is_there() -> None:
    link = Link(limits=Limits(resend_bytes=3_000))
    link.match()
    link.settle()
    for _ in range(50):
        link.write(b"\0\1\0\0" + bytes(996))
        link.way.clear()
    link.settle()
    assert len(link.received) == 50
    assert link.counters["resend_bytes"] > 5


def test_a_reader_that_never_answers_is_asked_ever_more_slowly() -> None:
    link = Link()
    link.writer.match(
        READER, destination=Destination(RIGHT, Address("127.0.0.1", 1)), reliable=True, with_history=False, now=0
    )
    asked = [0] * len([each for each in link.gather() if isinstance(each, Heartbeat)])
    for _ in range(100):
        link.now += 100_000
        link.deadlines.run(link.now)
        asked += [link.now // 1_000 for each in link.gather() if isinstance(each, Heartbeat)]
    assert asked == [0, 100, 300, 700, 1_500, 3_100, 4_700, 6_300, 7_900, 9_500]


def test_a_burst_larger_than_the_window_arrives() -> None:
    link = Link(limits=Limits(reorder_window=8))
    link.match()
    for number in range(100):
        link.write(b"\0\1\0\0" + bytes((number,)))
    link.way.reverse()
    link.settle()
    assert [payload[4] for payload in link.payloads()] == list(range(100))
    assert link.counters["reorder_window"] > 0


@settings(max_examples=31)
@given(st.integers(0, 30))
def test_what_is_asked_for_is_on_its_way_once(lost: int) -> None:
    # In a network that loses nothing more, each lost sample is sent again once, and nothing else is.
    link = Link()
    link.match()
    link.settle()
    for number in range(30):
        link.write(b"\0\1\0\0" + bytes((number,)))
        if number < lost:
            link.way.clear()
    link.settle()
    assert len(link.received) == 30
    assert link.counters["resent"] == lost
    assert link.counters["duplicate"] == 0


@settings(max_examples=100)
@given(MISFORTUNES, st.lists(st.integers(1, 40), max_size=8))
def test_an_owner_that_keeps_decides_what_the_writer_may_forget(
    misfortunes: list[tuple[str, int]], keeps: list[int]
) -> None:
    link = Link(acknowledge_when_kept=True)
    link.match()
    written = suffer(link, misfortunes)
    for through in sorted(keeps):
        through = min(through, len(link.received))
        link.reader.keep(WRITER, through=through, now=link.now)
        link.carry_all()
        link.pass_time(200_000)
        link.carry_all()
        assert {change.sequence for change in link.writer.history} >= set(range(through + 1, len(written) + 1))
    for _ in range(40):  # HEARTBEATs that ask for an answer do not get one that says more
        link.pass_time(100_000)
        link.carry_all()
    assert link.payloads() == written
    kept = max([0, *(min(through, len(written)) for through in keeps)])
    assert len(link.writer.history) >= len(written) - kept
    link.reader.keep(WRITER, through=len(written), now=link.now)
    link.settle()
    assert link.writer.acknowledged


def rest(link: Link) -> None:
    """Let time pass; what is not acknowledged is spoken of again and again."""
    for _ in range(40):
        link.carry_all()
        link.pass_time(100_000)


def test_a_reader_lets_in_no_more_than_its_owner_may_have_unkept_and_asks_for_the_rest_then() -> None:
    link = Link(acknowledge_when_kept=True, most_unkept=300)
    link.match()
    rest(link)
    for number in range(900):
        link.write(b"\0\1\0\0" + number.to_bytes(2))
    rest(link)
    assert len(link.received) == 300
    assert len(link.writer.history) == 900
    for step in range(1, 10):
        link.reader.keep(WRITER, through=100 * step, now=link.now)
        rest(link)
        received = [received.sequence for received in link.received]
        assert received == list(range(1, len(received) + 1))
        # What it had no room for it asks for, and an ACKNACK can name no more than 256 numbers beyond what is kept.
        assert min(900, 256 + 100 * step) <= len(received) <= 300 + 100 * step
    assert link.writer.acknowledged


def test_a_reader_goes_on_behind_what_its_owner_has() -> None:
    link = Link(keeps=True, acknowledge_when_kept=True, kept={WRITER: 6})
    for number in range(10):
        link.write(b"\0\1\0\0" + bytes((number,)))
    link.match(with_history=True)
    link.carry_all()
    assert [received.sequence for received in link.received] == [7, 8, 9, 10]
    assert link.counters["resent"] == 4
    link.reader.keep(WRITER, through=10, now=link.now)
    link.settle()
    assert link.writer.acknowledged


def test_a_writer_that_is_found_again_goes_on_where_it_was() -> None:
    link = Link(keeps=True, acknowledge_when_kept=True)
    for number in range(10):
        link.write(b"\0\1\0\0" + bytes((number,)))
    link.match(with_history=True)
    link.carry_all()
    link.reader.keep(WRITER, through=4, now=link.now)
    link.carry_all()
    link.reader.unmatch(WRITER)
    link.writer.unmatch(READER)
    link.match(with_history=True)
    link.write(b"\0\1\0\0\12")
    link.carry_all()
    link.pass_time(300_000)
    link.carry_all()
    assert [received.sequence for received in link.received] == list(range(1, 12))  # nothing twice
    assert link.writer.readers[READER].acknowledged <= 5  # and what is not safe is not acknowledged
    link.reader.keep(WRITER, through=11, now=link.now)
    link.settle()
    assert link.writer.acknowledged


def test_a_volatile_reader_begins_with_what_was_pushed_before_the_writer_was_known() -> None:
    link = Link()
    link.match(from_first=False, pushed_from=7)
    link.way.clear()
    link.reader.receive_data(WRITER, Data(READER.entity, WRITER.entity, 9, b"\0\1\0\0"), timestamp=None, now=0)
    link.reader.receive_heartbeat(WRITER, Heartbeat(READER.entity, WRITER.entity, 1, 9, 1), 0)
    (answer,) = (each for each in link.gather() if isinstance(each, AckNack))
    assert answer.missing == NumberSet(7, 2, 0b11)
