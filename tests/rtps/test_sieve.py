"""A writer whose readers have filters: what it says to whom, and who counts as having everything."""

from __future__ import annotations

from collections.abc import Sequence

from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.history import EVERYBODY, Choice, History
from rookery.rtps.identity import Guid
from rookery.rtps.locators import Address
from rookery.rtps.outbox import Outbox
from rookery.rtps.peers import Destination
from rookery.rtps.writer import Writer

from .test_writer import OTHER, READER, Scene, data, gone


class Letters:
    """Readers that want the samples with their letter."""

    def __init__(self) -> None:
        self.letters: dict[Guid, bytes] = {}
        self.calls: list[int] = []
        self._filtered: frozenset[Guid] = frozenset()

    def __len__(self) -> int:
        return len(self.letters)

    def set(self, reader: Guid, letter: bytes) -> None:
        self.letters[reader] = letter
        self._filtered = frozenset(self.letters)

    def choices(self, payloads: Sequence[bytes]) -> list[Choice]:
        self.calls.append(len(payloads))
        wanting = [
            frozenset(who for who, letter in self.letters.items() if letter in payload[4:]) for payload in payloads
        ]
        return [EVERYBODY if who == self._filtered else Choice(self._filtered, who) for who in wanting]


class Sieved(Scene):
    """The scene, with filters and two readers that have everything."""

    def __init__(self) -> None:
        context = ParticipantContext(b"writer......")
        self.outbox = context.outbox = Outbox(b"writer......", datagram_bytes=60_000, permit=lambda *_: True)
        self.sieve = Letters()
        history = History(depth=None, keeps_for_late_readers=False, at_most=10)
        self.writer = Writer(Guid(b"writer......", 0x3C2), history=history, context=context, sieve=self.sieve)
        self.count = 0
        for reader in (READER, OTHER):
            destination = Destination(reader.prefix, Address("127.0.0.1", 1))
            self.writer.match(reader, destination=destination, reliable=True, with_history=False, now=0)
            self.ask(base=1, reader=reader)

    def put(self, *texts: bytes) -> None:
        for text in texts:
            self.writer.write(SampleKind.ALIVE, b"", b"\0\3\0\0" + text, timestamp=None, now=0)


def test_what_is_written_in_one_go_is_matched_in_one_go() -> None:
    scene = Sieved()
    scene.sieve.set(READER, b"a")
    scene.put(b"b", b"c", b"ab", b"c", b"a")
    said = scene.said()
    assert scene.sieve.calls == [5]
    assert data(said) == [(3, b"ab"), (5, b"a")]
    # The first stretch is told with what follows it; what lies between is asked for where nothing else says it.
    assert gone(said) == {1, 2}
    assert gone(scene.ask(4, base=4)) == {4}


def test_readers_without_a_filter_get_everything_and_are_waited_for() -> None:
    scene = Sieved()
    scene.sieve.set(READER, b"a")
    scene.put(b"b", b"c")
    assert data(scene.said(OTHER)) == [(1, b"b"), (2, b"c")]
    assert not scene.writer.acknowledged
    scene.ask(base=3, reader=OTHER)
    assert scene.writer.acknowledged


def test_a_reader_that_had_everything_before_it_had_a_filter_is_not_waited_for() -> None:
    scene = Sieved()
    scene.put(b"x")
    for reader in (READER, OTHER):
        scene.ask(base=2, reader=reader)
    scene.sieve.set(READER, b"a")
    scene.sieve.set(OTHER, b"b")
    scene.put(b"c", b"d")
    assert scene.writer.acknowledged
    # Nobody needs any of it: the history goes on having room.
    scene.put(*[b"c"] * 30)
    assert scene.writer.acknowledged
    scene.put(b"ab")
    assert data(scene.said()) == [(34, b"ab")]
    assert not scene.writer.acknowledged


def test_after_filters_a_sample_for_everybody_is_told_with_what_was_left_out() -> None:
    scene = Sieved()
    scene.sieve.set(READER, b"a")
    scene.sieve.set(OTHER, b"b")
    scene.put(b"c", b"b")
    scene.said()
    scene.ask(base=3, reader=OTHER)
    scene.put(b"ab")
    said = scene.said()
    assert data(said)[-1] == (3, b"ab")
    assert gone(said) == {1, 2}


def test_what_waits_is_sent_before_a_reader_comes_or_goes() -> None:
    scene = Sieved()
    scene.sieve.set(READER, b"a")
    scene.put(b"a", b"b")
    scene.writer.unmatch(OTHER)
    scene.put(b"b")
    said = scene.said(OTHER)
    assert [number for number, _ in data(said)] == [1, 2]
    assert scene.sieve.calls == [2, 1]
