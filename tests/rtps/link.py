"""A writer, a reader, and a link in between that a test breaks as it likes."""

from __future__ import annotations

from typing import Any

from rookery.rtps.context import ParticipantContext
from rookery.rtps.deadlines import Deadlines
from rookery.rtps.events import SampleKind
from rookery.rtps.history import History
from rookery.rtps.identity import Guid
from rookery.rtps.limits import Counters, Limits
from rookery.rtps.locators import Address
from rookery.rtps.messages import decode_message
from rookery.rtps.outbox import Outbox
from rookery.rtps.peers import Destination
from rookery.rtps.reader import Reader, Received
from rookery.rtps.submessages import AckNack, Data, DataFragment, Gap, Heartbeat, NackFragment, Submessage
from rookery.rtps.writer import Writer

LEFT, RIGHT = b"left........", b"right......."
WRITER, READER = Guid(LEFT, 0x103), Guid(RIGHT, 0x204)
LIMITS = Limits(reorder_window=64)


class Link:
    """A writer on the left, a reader on the right, and datagrams on their way between them."""

    def __init__(
        self, *, depth: int | None = None, keeps: bool = False, limits: Limits = LIMITS, **reader_options: Any
    ) -> None:
        self.now = 0
        self.received: list[Received] = []
        self.counters = Counters()
        self.boxes = {prefix: Outbox(prefix, datagram_bytes=1_400, permit=lambda *_: True) for prefix in (LEFT, RIGHT)}
        self.deadlines = Deadlines()
        history = History(depth=depth, keeps_for_late_readers=keeps, at_most=1_000)
        contexts = {prefix: ParticipantContext(prefix, limits=limits) for prefix in (LEFT, RIGHT)}
        for prefix, context in contexts.items():
            context.outbox = self.boxes[prefix]  # the two have not met: nobody is a peer, and all may be sent
            context.deadlines, context.counters = self.deadlines, self.counters
        self.writer = Writer(WRITER, history=history, context=contexts[LEFT])
        self.reader = Reader(
            READER,
            deliver=lambda _, received, now: self.received.append(received),
            context=contexts[RIGHT],
            **reader_options,
        )
        self.left, self.right = (Destination(prefix, Address("127.0.0.1", 1)) for prefix in (LEFT, RIGHT))
        self.way: list[tuple[bytes, bytes]] = []

    def match(
        self, *, reliable: bool = True, with_history: bool = False, from_first: bool = True, **options: Any
    ) -> None:
        self.writer.match(READER, destination=self.right, reliable=reliable, with_history=with_history, now=self.now)
        self.reader.match(
            WRITER, destination=self.left, reliable=reliable, from_first=from_first, now=self.now, **options
        )
        self.gather()

    def rematch(self, *, writer_too: bool, **options: Any) -> None:
        """Let the reader find the writer again, and the writer the reader if it had lost it."""
        if writer_too:
            self.writer.match(READER, destination=self.right, reliable=True, with_history=True, now=self.now)
        self.reader.match(WRITER, destination=self.left, reliable=True, from_first=True, now=self.now, **options)
        self.gather()

    def write(self, payload: bytes, instance: bytes = b"") -> None:
        self.writer.write(SampleKind.ALIVE, instance, payload, timestamp=None, now=self.now)
        self.gather()

    def gather(self) -> list[Submessage]:
        """Put what was said on its way, and return it."""
        said = []
        for prefix, box in self.boxes.items():
            for _, datagram in box.sends():
                self.way.append((prefix, datagram))
                said += decode_message(datagram).submessages
        return said

    def carry(self, index: int = 0, *, again: bool = False) -> None:
        """Let one datagram arrive, and leave a copy on its way if `again`."""
        prefix, datagram = self.way[index] if again else self.way.pop(index)
        for submessage in decode_message(datagram).submessages:
            self.hear(prefix, submessage)
        self.gather()

    def hear(self, prefix: bytes, submessage: Submessage) -> None:
        match submessage:
            case Data():
                self.reader.receive_data(WRITER, submessage, timestamp=None, now=self.now)
            case DataFragment():
                self.reader.receive_fragment(WRITER, submessage, timestamp=None, now=self.now)
            case Heartbeat():
                self.reader.receive_heartbeat(WRITER, submessage, self.now)
            case Gap():
                self.reader.receive_gap(WRITER, submessage, self.now)
            case AckNack():
                self.writer.receive_acknack(READER, submessage, self.now)
            case NackFragment():
                self.writer.receive_nack_fragment(READER, submessage, self.now)

    def pass_time(self, microseconds: int) -> None:
        self.now += microseconds
        self.deadlines.run(self.now)
        self.gather()

    def carry_all(self) -> None:
        """Let everything arrive that is on its way, and what it leads to."""
        self.gather()
        while self.way:
            self.carry()

    def settle(self) -> None:
        """Let the link work, and time pass, until nothing happens any more."""
        for _ in range(1_000):
            while self.way:
                self.carry()
            if self.deadlines.next() is None:
                return
            self.pass_time(50_000)
        raise AssertionError("the two never come to rest")

    def payloads(self) -> list[bytes]:
        return [received.payload for received in self.received]
