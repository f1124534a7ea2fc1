"""A reader that begins again, with a writer that has not noticed its loss and sends chosen instances.

Leases differ, so this is what a partition leaves behind. The writer passes a number over that the reader has under
another one; whoever has begun again has not, and by the time that the writer sees this, the GAP has been believed. The
oracle is the table of instances: once the link works, the reader knows exactly those that it wants and that are there.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.rtps.events import SampleKind
from rookery.rtps.limits import Limits
from rookery.rtps.locators import Address
from rookery.rtps.peers import Destination

from .link import LEFT, READER, RIGHT, WRITER, Link

NAMES = "abcdef"


class Telling(Link):
    """A link whose writer tells the reader of chosen instances."""

    def __init__(self) -> None:
        super().__init__(depth=1, keeps=True, limits=Limits())
        self.there: set[str] = set()
        self.ended: set[str] = set()
        self.wanted: set[str] = set()

    @property
    def known(self) -> set[str]:
        """What the reader believes, by all that it received since it began."""
        last = {one.payload[4:5].decode(): one.kind for one in self.received}
        return {name for name, kind in last.items() if kind is SampleKind.ALIVE}

    def tell(self, *, push: bool = False) -> None:
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
        self.received.clear()
        self.reader.unmatch(WRITER)
        self.listen()

    def announce(self, name: str, kind: SampleKind = SampleKind.ALIVE) -> None:
        """Write an instance, for the first time or again, as for somebody whose interest is new."""
        if name not in self.ended:  # the name of an endpoint is never given again
            self.there.add(name)
            self.writer.write(kind, name.encode(), b"\0\3\0\0" + name.encode(), timestamp=None, now=self.now)
            self.gather()

    def end(self, name: str) -> None:
        if name in self.there:
            self.announce(name, SampleKind.DISPOSED_AND_UNREGISTERED)
            self.there.discard(name)
            self.ended.add(name)

    def want(self, name: str) -> None:
        if name not in self.wanted:
            self.wanted.add(name)
            if name in self.there:
                self.announce(name)


def test_what_a_gap_passed_over_comes_under_a_new_number() -> None:
    telling = Telling()
    telling.wanted = {"a", "b", "c"}
    telling.announce("a")
    telling.announce("b")
    telling.tell()
    telling.settle()
    telling.announce("a")  # for somebody else: the reader has it
    telling.begin_again()
    telling.announce("c")  # with a GAP for what was written before it
    telling.settle()
    assert telling.known == {"a", "b", "c"}


def test_who_begins_again_is_noticed_even_if_nothing_is_left_under_an_old_number() -> None:
    telling = Telling()
    telling.wanted = {"a", "b"}
    telling.announce("a")
    telling.tell()
    telling.settle()
    telling.announce("a")
    telling.begin_again()
    telling.announce("b")
    telling.settle()
    assert telling.known == {"a", "b"}


def test_what_the_reader_lacks_is_not_said_to_be_passed_over_later() -> None:
    telling = Telling()
    telling.wanted = {"a", "b"}
    telling.announce("a")
    telling.tell()
    telling.settle()
    telling.announce("a")  # and nothing is said of it
    telling.begin_again()
    telling.pass_time(100_000)
    telling.carry()  # it asks where to begin: now it is known to lack everything
    telling.way.clear()  # but the answer is lost
    telling.announce("b")
    telling.settle()
    assert telling.known == {"a", "b"}


def test_what_came_before_it_was_noticed_can_still_end() -> None:
    telling = Telling()
    telling.wanted = {"a", "b"}
    telling.announce("a")
    telling.tell()
    telling.settle()
    telling.begin_again()
    telling.announce("b")  # it arrives, and shows that there is something below, for which the reader asks
    telling.settle()
    telling.end("b")
    telling.settle()
    assert telling.known == {"a"}


MOVES = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["announce", "announce", "end", "want"]), st.sampled_from(range(len(NAMES)))),
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
    telling.announce(NAMES[0])
    telling.tell(push=push)
    telling.settle()
    for move, number in moves:
        if move in ("announce", "end", "want"):
            getattr(telling, move)(NAMES[number])
        elif move == "wait":
            telling.pass_time(number)
        elif move == "settle":
            telling.settle()
        elif move == "begin again":
            telling.begin_again()
        elif telling.way:
            index = number % len(telling.way)
            telling.way.pop(index) if move == "lose" else telling.carry(index, again=move == "repeat")
    telling.settle()
    assert telling.known == telling.wanted & telling.there
