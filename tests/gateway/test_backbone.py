"""The backbone among strangers: whatever a link brings, nothing is raised, and a neighbor's mistake closes its link."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.gateway.backbone import Backbone
from rookery.gateway.messages import (
    Acknowledgment,
    Body,
    Forwarded,
    Greeting,
    Offer,
    Ready,
    SiteState,
    Want,
    decode_message,
    encode,
)
from rookery.machine import Close, Emit, Send
from rookery.rtps.qos import QualityOfService, Reliability
from rookery.simulated.gateways import SimulatedIslands

from .bodies import BODIES, DEPTHS, FRAMES, NUMBERS, TEXTS

SECOND = 1_000_000


class Quiet:
    """An owner that takes everything."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.renewed: list[str] = []
        self.sessions: list[str] = []

    def take(self, origin: str, body: Body, now: int) -> bool:
        self.taken[origin] += 1
        return True

    def site_changed(self, site: str, now: int) -> None: ...
    def session_began(self, origin: str, now: int) -> None:
        self.sessions.append(origin)

    def site_renewed(self, site: str, now: int) -> None:
        self.renewed.append(site)

    def site_gone(self, site: str, now: int) -> None: ...


@given(st.lists(st.tuples(st.sampled_from([1, 2]), FRAMES), max_size=30), st.integers(0, 90_000_000))
def test_nothing_that_a_link_brings_is_raised(frames: list[tuple[int, bytes]], later: int) -> None:
    backbone = Backbone("a", incarnation=5, owner=Quiet())
    for link in (1, 2):
        backbone.open(link)
    now = 0
    for link, frame in frames:
        now += 1_000
        backbone.receive_many([frame], link, now)
    backbone.wake(now + later)
    for effect in backbone.effects():
        assert isinstance(effect, Emit | Close) or isinstance(effect.message, bytes)


def test_what_sites_agree_upon_is_sent_although_too_many_samples_wait() -> None:
    backbone = Backbone("a", incarnation=5, owner=Quiet())
    backbone.open(1)
    backbone.receive_many([encode(Greeting("b", 1)), encode(SiteState("b", 1, 1, ["a"], b""))], 1, 0)
    sample = encode(Forwarded(1, b"writer", 1, 0, b"", bytes(16 << 20)))
    for _ in range(5):
        backbone.send(["b"], sample, 0, is_sample=True)
    waiting = backbone.waiting
    assert backbone.counters["overflow"] == 5 - waiting > 0
    backbone.send(["b"], encode(Ready(1, 1)), 0)
    assert backbone.waiting == waiting + 1


@given(st.binary(max_size=20).filter(lambda data: decode_message(data) is None))
def test_a_neighbor_that_speaks_nonsense_loses_its_link(data: bytes) -> None:
    backbone = Backbone("a", incarnation=5, owner=Quiet())
    backbone.open(1)
    backbone.receive_many([encode(Greeting("b", 1))], 1, 0)
    backbone.receive_many([data, encode(Acknowledgment("b", "a", 1, 1, 0))], 1, 1)
    assert [effect for effect in backbone.effects() if isinstance(effect, Close)] == [Close(1, "malformed")]
    assert backbone.counters["malformed"] == 1


#: Channels that readers here want, as far as their names go, with what follows an offer.
STORIES = st.builds(
    lambda number, *policies: [
        Offer(number, "quotes", "Quote", *policies),
        Ready(number, 1),
        Forwarded(number, b"writer", 1, 0, b"", b"\0\1\0\0"),
        Forwarded(number, b"writer", 2, 3, b"", b"\0\1\0\0"),
    ],
    st.integers(0, 6),
    *[st.booleans()] * 3,
    st.lists(TEXTS | st.just("x" * 100_000), max_size=2) | st.just([str(number) for number in range(1_000)]),
    DEPTHS,
)
SCHEMAS = st.dictionaries(TEXTS, st.integers() | TEXTS | st.just("float64"), max_size=2) | st.just({"price": "float64"})
WANTS = st.builds(Want, st.integers(0, 3), st.booleans(), st.lists(TEXTS | st.just("price < 10")), SCHEMAS, NUMBERS)


@settings(max_examples=60)
@given(st.lists(STORIES | st.lists(BODIES | WANTS, max_size=3), max_size=6).map(itertools.chain.from_iterable))
def test_nothing_that_another_site_says_is_raised(bodies: Iterable[Body]) -> None:
    world = SimulatedIslands()
    first, second = world.site("a"), world.site("b")
    world.join("a", "b")
    for site in (first, second):
        member = site.member()
        qos = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
        member.participant.create_reader("quotes", "Quote", qos, keyed=False, now=member.now)
        member.participant.create_writer("quotes", "Quote", qos, keyed=False, now=member.now)
        member.flush()
    world.run(3)
    for body in bodies:
        first.gateway.take("b", body, first.now)
        first.flush()
        world.run(0.1)
    world.run(5)
    assert first.gateway.participant.peers  # it goes on, whether or not there is anything left to carry


class Wire:
    """Two backbones and a link between them."""

    def __init__(self) -> None:
        self.owners = {"a": Quiet(), "b": Quiet()}
        self.ends = {name: Backbone(name, incarnation=5, owner=owner) for name, owner in self.owners.items()}

    def open(self, now: int) -> None:
        for end in self.ends.values():
            end.open("link")
        self.pump(now)

    def pump(self, now: int) -> None:
        """Carry frames until there are none."""
        moved = True
        while moved:
            moved = False
            for name, other in (("a", "b"), ("b", "a")):
                frames = [effect.message for effect in self.ends[name].effects() if isinstance(effect, Send)]
                self.ends[other].receive_many(frames, "link", now)
                moved = moved or bool(frames)

    def run(self, until: int, *, but: str = "") -> None:
        """Wake both ends when they want it, but one."""
        while True:
            due = [(at, name) for name, end in self.ends.items() if name != but and (at := end.timer()) is not None]
            if not due or min(due)[0] > until:
                return
            now, name = min(due)
            self.ends[name].wake(now)
            self.pump(now)


def test_a_site_that_was_forgotten_at_one_end_alone_begins_anew() -> None:
    wire = Wire()
    wire.open(0)
    for number in range(3):
        wire.ends["b"].send(["a"], encode(Ready(1, number)), 0)
    wire.pump(0)
    wire.run(SECOND)
    assert wire.owners["a"].taken["b"] == 3
    wire.ends["a"].lose("link", SECOND)
    wire.ends["b"].lose("link", 6 * SECOND)  # the two ends notice at different times
    wire.run(62 * SECOND)
    assert "b" not in wire.ends["a"].sites.states
    assert "a" in wire.ends["b"].sites.states
    wire.open(63 * SECOND)
    wire.run(70 * SECOND)
    assert wire.owners["b"].renewed == ["a"]  # although b had nothing to say
    wire.ends["b"].send(["a"], encode(Ready(1, 9)), 70 * SECOND)
    wire.pump(70 * SECOND)
    wire.run(75 * SECOND)
    assert wire.owners["a"].taken["b"] == 4
    assert wire.ends["b"].waiting == 0


def test_a_site_that_was_forgotten_goes_on_with_no_old_session() -> None:
    wire = Wire()
    wire.open(0)
    wire.ends["b"].send(["a"], encode(Ready(1, 1)), 0)
    wire.pump(0)
    wire.run(SECOND)
    for name in "ab":
        wire.ends[name].lose("link", SECOND)
    wire.run(70 * SECOND, but="b")  # b is held up meanwhile, and has not noticed the time
    wire.ends["b"].send(["a"], encode(Ready(1, 2)), 70 * SECOND)
    wire.open(71 * SECOND)
    assert wire.owners["a"].taken["b"] == 1
    wire.run(90 * SECOND)
    wire.ends["b"].send(["a"], encode(Ready(1, 3)), 90 * SECOND)
    wire.pump(90 * SECOND)
    assert wire.owners["a"].taken["b"] == 2
    assert wire.owners["a"].sessions == ["b", "b"]


def test_what_was_for_an_earlier_gateway_of_a_site_is_not_taken_by_the_next() -> None:
    wire = Wire()
    wire.open(0)
    wire.ends["b"].send(["a"], encode(Want(1, True, [], {}, 1)), 0)  # on its way when a falls
    wire.ends["b"].effects()
    wire.ends["b"].lose("link", 0)
    wire.ends["a"] = Backbone("a", incarnation=60_000_000, owner=Quiet())
    wire.owners["a"] = wire.ends["a"]._owner  # type: ignore[assignment]
    wire.ends["a"].open("link")
    wire.ends["b"].open("link")
    greeting = [effect.message for effect in wire.ends["a"].effects() if isinstance(effect, Send)]
    wire.ends["b"].receive_many(greeting, "link", SECOND)  # b knows who it is, and not yet that it is another one
    wire.pump(SECOND)
    wire.run(20 * SECOND)
    assert wire.owners["a"].taken["b"] == 0
    assert wire.owners["b"].renewed == ["a"]
    assert wire.owners["b"].sessions == ["a"]  # what the earlier one has offered is void
    wire.ends["b"].send(["a"], encode(Ready(1, 9)), 20 * SECOND)
    wire.pump(20 * SECOND)
    assert wire.owners["a"].taken["b"] == 1
