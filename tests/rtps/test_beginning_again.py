"""A reader that begins again, with a writer that has not noticed that it was given up and tells of chosen instances.

Leases differ, so this is what a partition leaves behind. The writer passes a number over that the reader has under
another one; whoever has begun again has not, and by the time that the writer sees this, the GAP has been believed. The
oracle is the table of instances: once the link works, the reader knows exactly those that it wants and that are there.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.rtps.deadlines import Deadlines
from rookery.rtps.events import SampleKind
from rookery.rtps.fragments import FragmentBudget
from rookery.rtps.history import History
from rookery.rtps.identity import Guid
from rookery.rtps.limits import Counters, Limits
from rookery.rtps.locators import Address
from rookery.rtps.messages import decode_message
from rookery.rtps.outbox import Outbox
from rookery.rtps.peers import Destination
from rookery.rtps.reader import Reader, Received
from rookery.rtps.submessages import AckNack, Data, Gap, Heartbeat
from rookery.rtps.writer import Writer

LEFT, RIGHT = b"left........", b"right......."
WRITER, READER = Guid(LEFT, 0x3C2), Guid(RIGHT, 0x3C7)
NAMES = "abcdef"


class Telling:
    """A writer on the left that tells a reader on the right of chosen instances, and datagrams on their way."""

    def __init__(self) -> None:
        self.now = 0
        self.deadlines = Deadlines()
        self.boxes = {prefix: Outbox(prefix, datagram_octets=1_400, permit=lambda *_: True) for prefix in (LEFT, RIGHT)}
        self.way: list[tuple[bytes, bytes]] = []
        self.there: set[str] = set()
        self.ended: set[str] = set()
        self.wanted: set[str] = set()
        self.known: set[str] = set()
        common = {"deadlines": self.deadlines, "limits": Limits(), "counters": Counters()}
        history = History(depth=1, keeps_for_late_readers=True, at_most=1_000)
        self.writer = Writer(WRITER, history=history, outbox=self.boxes[LEFT], **common)
        self.reader = Reader(READER, deliver=self.take, outbox=self.boxes[RIGHT], budget=FragmentBudget(), **common)

    def match(self, *, push: bool = False) -> None:
        self.writer.match(
            READER,
            destination=Destination(RIGHT, Address("127.0.0.1", 1)),
            reliable=True,
            with_history=True,
            now=self.now,
            wants=lambda instance: instance.decode() in self.wanted,
            push=push,
        )
        self.listen()

    def listen(self) -> None:
        here = Destination(LEFT, Address("127.0.0.1", 1))
        self.reader.match(WRITER, destination=here, reliable=True, from_first=True, now=self.now, expected=True)
        self.gather()

    def begin_again(self) -> None:
        """Forget the writer and find it again: a lease later, so that nothing from before is on its way any more."""
        self.way.clear()
        self.known.clear()
        self.reader.unmatch(WRITER)
        self.listen()

    def write(self, name: str, kind: SampleKind = SampleKind.ALIVE) -> None:
        """Write an instance, for the first time or again, as for somebody whose interest is new."""
        if name not in self.ended:  # the name of an endpoint is never given again
            self.there.add(name)
            self.writer.write(kind, name.encode(), b"\0\3\0\0" + name.encode(), timestamp=None, now=self.now)
            self.gather()

    def end(self, name: str) -> None:
        if name in self.there:
            self.write(name, SampleKind.DISPOSED_AND_UNREGISTERED)
            self.there.discard(name)
            self.ended.add(name)

    def want(self, name: str) -> None:
        if name not in self.wanted:
            self.wanted.add(name)
            if name in self.there:
                self.write(name)

    def take(self, _: Guid, received: Received) -> None:
        name = received.payload[4:5].decode()
        self.known.add(name) if received.kind is SampleKind.ALIVE else self.known.discard(name)

    def gather(self) -> None:
        self.way += [(prefix, datagram) for prefix, box in self.boxes.items() for datagram, _ in box.datagrams()]

    def carry(self, index: int = 0, *, again: bool = False) -> None:
        _, datagram = self.way[index] if again else self.way.pop(index)
        for said in decode_message(datagram).submessages:
            match said:
                case Data():
                    self.reader.receive_data(WRITER, said, timestamp=None, now=self.now)
                case Heartbeat():
                    self.reader.receive_heartbeat(WRITER, said, self.now)
                case Gap():
                    self.reader.receive_gap(WRITER, said, self.now)
                case AckNack():
                    self.writer.receive_acknack(READER, said, self.now)
        self.gather()

    def wait(self, microseconds: int) -> None:
        self.now += microseconds
        self.deadlines.run(self.now)
        self.gather()

    def settle(self) -> None:
        for _ in range(1_000):
            while self.way:
                self.carry()
            if self.deadlines.next() is None:
                return
            self.wait(50_000)
        raise AssertionError("the two never come to rest")


def test_what_a_gap_passed_over_comes_under_a_new_number() -> None:
    telling = Telling()
    telling.wanted = {"a", "b", "c"}
    telling.write("a")
    telling.write("b")
    telling.match()
    telling.settle()
    telling.write("a")  # for somebody else: the reader has it
    telling.begin_again()
    telling.write("c")  # with a GAP for what was written before it
    telling.settle()
    assert telling.known == {"a", "b", "c"}


def test_who_begins_again_is_noticed_even_if_nothing_is_left_under_an_old_number() -> None:
    telling = Telling()
    telling.wanted = {"a", "b"}
    telling.write("a")
    telling.match()
    telling.settle()
    telling.write("a")
    telling.begin_again()
    telling.write("b")
    telling.settle()
    assert telling.known == {"a", "b"}


def test_what_the_reader_lacks_is_not_said_to_be_passed_over_later() -> None:
    telling = Telling()
    telling.wanted = {"a", "b"}
    telling.write("a")
    telling.match()
    telling.settle()
    telling.write("a")  # and nothing is said of it
    telling.begin_again()
    telling.wait(100_000)
    telling.carry()  # it asks where to begin: now it is known to lack everything
    telling.way.clear()  # but the answer is lost
    telling.write("b")
    telling.settle()
    assert telling.known == {"a", "b"}


def test_what_came_before_it_was_noticed_can_still_end() -> None:
    telling = Telling()
    telling.wanted = {"a", "b"}
    telling.write("a")
    telling.match()
    telling.settle()
    telling.begin_again()
    telling.write("b")  # it arrives, and shows that there is something below, for which the reader asks
    telling.settle()
    telling.end("b")
    telling.settle()
    assert telling.known == {"a"}


MOVES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["write", "write", "end", "want"]), st.sampled_from(range(len(NAMES)))),
        st.tuples(st.sampled_from(["carry", "lose", "repeat"]), st.integers(0, 30)),
        st.tuples(st.just("wait"), st.sampled_from([5_000, 20_000, 100_000])),
        st.tuples(st.sampled_from(["settle", "begin again"]), st.just(0)),
    ),
    max_size=30,
)


@settings(max_examples=500)
@given(MOVES, st.booleans())
def test_at_rest_a_reader_knows_what_it_wants_however_often_it_began_again(
    moves: list[tuple[str, int]], push: bool
) -> None:
    telling = Telling()
    telling.wanted = set(NAMES[:-1])
    telling.write(NAMES[0])
    telling.match(push=push)
    telling.settle()
    for move, number in moves:
        if move in ("write", "end", "want"):
            getattr(telling, move)(NAMES[number])
        elif move == "wait":
            telling.wait(number)
        elif move == "settle":
            telling.settle()
        elif move == "begin again":
            telling.begin_again()
        elif telling.way:
            index = number % len(telling.way)
            telling.way.pop(index) if move == "lose" else telling.carry(index, again=move == "repeat")
    telling.settle()
    assert telling.known == telling.wanted & telling.there
