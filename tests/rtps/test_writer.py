"""A writer that sends a reader chosen instances alone: the others are gaps, and interest may appear later."""

from __future__ import annotations

from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.history import History
from rookery.rtps.identity import Guid
from rookery.rtps.locators import Address
from rookery.rtps.messages import decode_message
from rookery.rtps.outbox import Outbox
from rookery.rtps.peers import Destination
from rookery.rtps.sequences import NumberSet
from rookery.rtps.submessages import AckNack, Data, Gap, Heartbeat, Submessage
from rookery.rtps.writer import Writer

READER = Guid(b"reader......", 0x3C7)
OTHER = Guid(b"other.......", 0x3C7)


class Scene:
    """A writer with instances, and what it says to its reader."""

    def __init__(self, *instances: str) -> None:
        context = ParticipantContext(b"writer......")
        # The reader is no peer, and all may be sent to it.
        self.outbox = context.outbox = Outbox(b"writer......", datagram_bytes=60_000, permit=lambda *_: True)
        self.writer = Writer(
            Guid(b"writer......", 0x3C2),
            history=History(depth=1, keeps_for_late_readers=True, at_most=10_000),
            context=context,
        )
        self.count = 0
        self.wanted: set[bytes] = set()
        for instance in instances:
            self.write(instance)

    def write(self, instance: str, kind: SampleKind = SampleKind.ALIVE) -> list[Submessage]:
        self.writer.write(kind, instance.encode(), b"\0\3\0\0" + instance.encode(), timestamp=None, now=0)
        return self.said()

    def match(self, reader: Guid = READER, *, push: bool = False) -> list[Submessage]:
        self.writer.match(
            reader,
            destination=Destination(reader.prefix, Address("127.0.0.1", 1)),
            reliable=True,
            with_history=True,
            now=0,
            wants=lambda instance: instance in self.wanted,
            push=push,
        )
        return self.said(reader)

    def ask(self, *missing: int, base: int, reader: Guid = READER) -> list[Submessage]:
        self.count += 1
        wanted = NumberSet.of(missing, base=base)
        self.writer.receive_acknack(reader, AckNack(reader.entity, 0x3C2, wanted, self.count, final=True), 0)
        return self.said(reader)

    def said(self, to: Guid = READER) -> list[Submessage]:
        said = []
        for _, datagram in self.outbox.sends():
            for each in decode_message(datagram).submessages:
                if isinstance(each, Data | Gap | Heartbeat):
                    said.append((datagram[24:36] if datagram[20] == 0x0E else b"", each))
        return [each for prefix, each in said if prefix in (b"", to.prefix)]


def data(said: list[Submessage]) -> list[tuple[int, bytes]]:
    return [(each.sequence, (each.payload or b"")[4:]) for each in said if isinstance(each, Data)]


def gone(said: list[Submessage]) -> set[int]:
    return {
        number for each in said if isinstance(each, Gap) for number in (*range(each.start, each.rest.base), *each.rest)
    }


def test_what_is_asked_for_and_not_wanted_is_a_gap() -> None:
    scene = Scene("a", "b", "c", "d", "e")
    scene.wanted = {b"b", b"d"}
    scene.match()
    said = scene.ask(1, 2, 3, 4, 5, base=1)
    assert data(said) == [(2, b"b"), (4, b"d")]
    assert gone(said) == {1, 3, 5}


def test_a_long_stretch_is_one_gap_however_much_was_asked_for() -> None:
    scene = Scene(*(f"noise{number}" for number in range(1_000)), "wanted")
    scene.wanted = {b"wanted"}
    scene.match()
    said = scene.ask(*range(1, 257), base=1)
    assert [(each.start, each.rest.base) for each in said if isinstance(each, Gap)] == [(1, 1_001)]
    assert data(scene.ask(1_001, base=1_001)) == [(1_001, b"wanted")]


def test_what_is_pushed_is_what_is_wanted_with_gaps_between() -> None:
    scene = Scene("a", "b", "c", "d", "e")
    scene.wanted = {b"b", b"d"}
    said = scene.match(push=True)
    assert data(said) == [(2, b"b"), (4, b"d")]
    assert gone(said) == {3, 5}
    (heartbeat,) = (each for each in said if isinstance(each, Heartbeat))
    assert (heartbeat.first, heartbeat.last) == (2, 5)  # what comes before is not even mentioned


def test_new_instances_go_to_those_who_want_them_and_the_others_hear_nothing() -> None:
    scene = Scene("a")
    scene.match()
    scene.ask(base=2)
    assert scene.write("b") == []
    assert scene.writer.acknowledged
    scene.wanted = {b"c"}
    said = scene.write("c")
    assert data(said) == [(3, b"c")]
    assert gone(said) == {2}


def test_interest_that_appears_later_is_served_under_a_new_number() -> None:
    scene = Scene("a", "b")
    scene.wanted = {b"b"}
    scene.match()
    scene.ask(1, 2, base=1)
    scene.ask(base=3)
    scene.wanted = {b"a", b"b"}
    assert data(scene.write("a")) == [(3, b"a")]
    scene.ask(base=4)
    # Who has it already does not get it again when it is written for another.
    assert data(scene.write("b")) == []
    assert gone(scene.ask(4, base=4)) == {4}


def test_what_was_lost_under_its_old_number_comes_under_the_new_one() -> None:
    scene = Scene("a", "b")
    scene.wanted = {b"a"}
    scene.match()
    assert data(scene.ask(1, 2, base=1)) == [(1, b"a")]  # and is lost on the way
    assert data(scene.write("a")) == [(3, b"a")]
    said = scene.ask(1, 2, 3, base=1)
    assert data(said) == [(3, b"a")]
    assert gone(said) == {1, 2}


def test_a_reader_that_begins_again_gets_everything_again() -> None:
    scene = Scene("a", "b")
    scene.wanted = {b"a", b"b"}
    scene.match()
    scene.ask(1, 2, base=1)
    scene.ask(base=3)
    scene.match(OTHER)
    scene.write("a")  # for the other: the first one has it
    assert data(scene.ask(3, base=3)) == []
    scene.ask(base=4)
    said = scene.ask(1, 2, 3, base=1)  # it was away for longer than its lease, and knows nothing any more
    assert sorted(data(said)) == [(2, b"b"), (4, b"a")]  # it may have heard the GAP for 3, so 3 is of no use
    assert gone(said) == {1, 3}


def test_what_was_sent_and_is_gone_is_forgotten() -> None:
    scene = Scene()
    scene.match()
    for number in range(1, 400):
        scene.wanted = {b"%d" % number}
        scene.write(str(number))
        scene.write(str(number), SampleKind.DISPOSED_AND_UNREGISTERED)
        scene.ask(base=2 * number + 1)
    assert len(scene.writer.history) == 0
    assert len(scene.writer.readers[READER].sent) < 100


def test_a_disposal_goes_to_those_who_had_the_instance() -> None:
    scene = Scene("a", "b")
    scene.wanted = {b"a"}
    scene.match()
    scene.ask(1, 2, base=1)
    scene.ask(base=3)
    scene.wanted = set()
    assert [number for number, _ in data(scene.write("a", SampleKind.DISPOSED_AND_UNREGISTERED))] == [3]
    assert scene.write("b", SampleKind.DISPOSED_AND_UNREGISTERED) == []
