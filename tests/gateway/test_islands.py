"""Islands in the simulator: every sample reaches every reader that wants it once, over cycles, crashes and returns."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.gateway.channels import channel_of
from rookery.model import Schema
from rookery.participant.event_types import event_type
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.events import EndpointMatched, SampleKind, SampleReceived
from rookery.rtps.identity import Guid
from rookery.rtps.qos import Durability, QualityOfService, Reliability, require_supported
from rookery.simulated.domain import SimulatedParticipant, conditions_between

from .backbone_in_memory import Site, World

QUOTES = Schema(symbol=str, price=float)
TYPE = event_type(QUOTES, type_name="Quote")
VOLATILE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
VOLATILE_BEST_EFFORT = QualityOfService(reliability=Reliability.BEST_EFFORT, history_depth=None)
DURABLE = QualityOfService(reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=None)


class Application:
    """A plain participant with writers and readers of quotes."""

    def __init__(self, site: Site) -> None:
        self.member: SimulatedParticipant = site.application()
        self.writers: dict[str, Any] = {}

    def read(self, topic: str, qos: QualityOfService = VOLATILE) -> None:
        self.member.participant.create_reader(topic, "Quote", qos, keyed=False, now=self.member.now)
        self.member.flush()

    def advertise(self, topic: str, qos: QualityOfService = VOLATILE) -> None:
        participant = self.member.participant
        self.writers[topic] = participant.create_writer(topic, "Quote", qos, keyed=False, now=self.member.now)
        self.member.flush()

    def write(self, topic: str, *prices: float, symbol: str = "ACME") -> None:
        for price in prices:
            payload = TYPE.encode({"symbol": symbol, "price": price})
            self.member.participant.write(self.writers[topic], payload, now=self.member.now)
        self.member.flush()

    @property
    def prices(self) -> list[float]:
        samples = [event for event in self.member.events if isinstance(event, SampleReceived)]
        return [TYPE.decode(one.payload)["price"] for one in samples if one.kind is SampleKind.ALIVE]


def ring(names: str = "abc") -> World:
    world = World()
    for name in names:
        world.site(name)
    for one, other in zip(names, names[1:] + names[0], strict=True):
        world.link(one, other)
    return world


def chain(names: str, world: World | None = None) -> World:
    world = world or World()
    for name in names:
        world.site(name)
    for one, other in itertools.pairwise(names):
        world.link(one, other)
    return world


@pytest.mark.parametrize(
    "world", [ring("abc"), chain("abc"), chain("ab"), ring("abcdef")], ids=["ring", "chain", "two", "six"]
)
def test_every_reader_of_every_site_gets_every_sample_once(world: World) -> None:
    applications = {name: Application(site) for name, site in world.sites.items()}
    for application in applications.values():
        application.read("quotes")
        application.advertise("quotes")
    world.run(6)
    expected = []
    for number, application in enumerate(applications.values()):
        prices = [float(100 * number + step) for step in range(20)]
        application.write("quotes", *prices)
        expected += prices
    world.run(6)
    for name, application in applications.items():
        assert sorted(application.prices) == expected, name
    echoes = sum(site.gateway.counters["samples in"] for site in world.sites.values())
    assert echoes == len(expected) * (len(applications) - 1)  # to each other site once: no echo
    before = world.frames
    world.run(60)
    assert world.frames == before  # silence: nothing is repeated for its own sake


def test_only_what_is_wanted_travels() -> None:
    world = ring()
    source, reader, other = (Application(world.sites[name]) for name in "abc")
    for number in range(50):
        source.advertise(f"noise {number}")
    source.advertise("quotes")
    reader.read("quotes")
    other.read("elsewhere")
    world.run(5)
    for number in range(50):
        source.write(f"noise {number}", 1.0, 2.0)
    source.write("quotes", 3.0)
    world.run(5)
    gateway = world.sites["a"].gateway
    assert reader.prices == [3.0]
    assert gateway.counters["samples out"] == 1
    assert gateway.counters["offers"] - gateway.counters["false contacts"] == 1
    assert other.prices == []


def test_a_condition_acts_at_the_source() -> None:
    world = ring()
    source = Application(world.sites["a"])
    source.advertise("quotes")
    target = world.sites["b"]
    now = target.member.now
    target.member.participant.create_reader("quotes", "Quote", VOLATILE, keyed=False, now=now)
    target.gateway.restrict(1, topic="quotes", type_name="Quote", where="price < 10", schema=QUOTES, now=now)
    target.flush()
    world.run(5)
    source.write("quotes", 5.0, 50.0, 7.0, 70.0)
    world.run(3)
    counters = world.sites["a"].gateway.counters
    assert (counters["samples out"], counters["samples spared"]) == (2, 2)
    plain = Application(target)  # a reader that wants everything lifts the restriction
    plain.read("quotes")
    world.run(5)
    source.write("quotes", 80.0)
    world.run(3)
    assert plain.prices == [80.0]
    target.gateway.release(1, target.member.now)


def test_a_condition_that_does_not_fit_lets_everything_through() -> None:
    world = chain("ab")
    source, target = Application(world.sites["a"]), world.sites["b"]
    source.advertise("quotes")
    now = target.member.now
    target.member.participant.create_reader("quotes", "Quote", VOLATILE, keyed=False, now=now)
    wrong = Schema(volume=int)
    target.gateway.restrict(1, topic="quotes", type_name="Quote", where="volume < 1", schema=wrong, now=now)
    world.run(5)
    source.write("quotes", 5.0)
    world.run(3)
    assert target.gateway.counters["samples in"] == 1


def test_a_late_site_gets_what_durable_writers_kept() -> None:
    world = chain("ab")
    source = Application(world.sites["a"])
    source.advertise("quotes", DURABLE)
    source.write("quotes", 1.0, 2.0)
    early = Application(world.sites["b"])
    early.read("quotes", DURABLE)
    world.run(5)
    world.site("c")
    world.link("b", "c")
    late = Application(world.sites["c"])
    late.read("quotes", DURABLE)
    world.run(5)
    source.write("quotes", 3.0)
    world.run(3)
    assert early.prices == late.prices == [1.0, 2.0, 3.0]


def test_a_link_of_the_cycle_may_go_while_samples_are_on_their_way() -> None:
    world = ring()
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    link = next(link for link, (other, _) in world.sites["a"].links.items() if other.name == "b")
    for step in range(50):
        source.write("quotes", float(step))
        world.run(0.002)
        if step == 25:
            world.cut(world.sites["a"], link)
    world.run(10)
    assert reader.prices == [float(step) for step in range(50)]
    assert world.sites["c"].gateway.backbone.counters["relayed"] > 0


def test_a_site_vanishes_and_returns() -> None:
    world = ring()
    source, reader, third = (Application(world.sites[name]) for name in "abc")
    source.advertise("quotes")
    reader.read("quotes")
    third.read("quotes")
    world.run(5)
    source.write("quotes", 1.0)
    world.run(2)
    for link in list(world.sites["b"].links):
        world.cut(world.sites["b"], link)
    source.write("quotes", 2.0)
    world.run(20)
    assert (reader.prices, third.prices) == ([1.0], [1.0, 2.0])
    world.link("a", "b")
    world.run(5)
    source.write("quotes", 3.0)
    world.run(5)
    assert reader.prices == third.prices == [1.0, 2.0, 3.0]  # what came in between waited


@pytest.mark.parametrize("who", ["a", "b"])
def test_a_gateway_crashes_and_another_takes_its_place(who: str) -> None:
    world = ring()
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    source.write("quotes", 1.0)
    world.run(2)
    world.sites[who].crash()
    world.run(15)  # its lease ends
    world.site(who)
    for other in "abc".replace(who, ""):
        world.link(who, other)
    world.run(10)
    source.write("quotes", 2.0, 3.0)
    world.run(5)
    assert reader.prices == [1.0, 2.0, 3.0]


def test_a_site_that_stays_away_is_forgotten() -> None:
    world = ring()
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    world.sites["a"].crash()
    world.run(70)
    assert set(world.sites["b"].gateway.backbone.sites.states) == {"b", "c"}
    assert not any(
        one.guid in world.sites["b"].gateway._own for one in world.sites["b"].member.participant.local_endpoints
    )


def test_a_durable_writer_that_is_best_effort_crosses_as_a_volatile_one() -> None:
    strange = QualityOfService(reliability=Reliability.BEST_EFFORT, durability=Durability.TRANSIENT_LOCAL)
    channel = channel_of(EndpointAnnouncement(Guid(bytes(12), 0x103), "quotes", "Quote", strange))
    assert (channel.reliable, channel.transient_local) == (False, False)
    require_supported(channel.quality(depth=None))  # a tap or proxy may be made of it


def test_writers_and_readers_come_and_go() -> None:
    world = chain("ab")
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    taps = world.sites["a"].member.participant
    assert [one.topic for one in taps.local_endpoints] == ["quotes"]
    reader.member.leave()
    world.run(3)
    assert taps.local_endpoints == ()
    again = Application(world.sites["b"])
    again.read("quotes")
    world.run(5)
    source.write("quotes", 4.0)
    world.run(3)
    assert again.prices == [4.0]
    source.member.leave()
    world.run(3)
    assert taps.local_endpoints == ()
    assert world.sites["b"].member.participant.local_endpoints == ()


def test_two_islands_on_one_network_do_not_echo() -> None:
    world = World()
    first = world.site("a")
    second = Site(world, "b", domain_id=first.domain_id, incarnation=2_000)
    world.sites["b"] = second
    world.link("a", "b")
    source, reader = Application(first), Application(first)
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    source.write("quotes", *[float(step) for step in range(10)])
    world.run(20)
    assert first.gateway.other_gateways == ("b",)
    assert reader.prices == [float(step) for step in range(10)]  # directly, and not over the backbone as well
    before = world.frames
    world.run(30)
    assert world.frames == before


def test_an_older_gateway_of_the_same_site_notices() -> None:
    world = ring()
    usurper = Site(world, "a", domain_id=9, incarnation=99_000_000_000)
    world.sites["a2"] = usurper
    world.link("a2", "b")
    world.run(3)
    assert world.sites["a"].gateway.backbone.taken_over
    assert not usurper.gateway.backbone.taken_over


@pytest.mark.parametrize("qos", [VOLATILE, VOLATILE_BEST_EFFORT], ids=["reliable", "best-effort"])
@pytest.mark.parametrize("names", ["abc", "abcde"])
def test_a_reader_that_knows_its_proxy_misses_nothing(names: str, qos: QualityOfService) -> None:
    world = chain(names)
    source, first = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes", qos)
    first.read("quotes", qos)
    world.run(5)  # the tap is there, for the site that was first
    late = Application(world.sites[names[-1]])
    late.read("quotes", qos)
    written = 0
    known_from: int | None = None
    for _ in range(3_000):
        source.write("quotes", float(written))
        written += 1
        world.run(0.001)
        if known_from is None and any(isinstance(event, EndpointMatched) for event in late.member.events):
            known_from = written
    world.run(5)
    assert known_from is not None
    assert known_from < 2_500
    missing = set(range(known_from, written)) - set(late.prices)
    assert not missing, f"{len(missing)} of what was written after the reader knew the proxy"
    assert late.prices == sorted(set(late.prices))
    assert first.prices == [float(number) for number in range(written)]


@settings(max_examples=8)
@given(
    seed=st.integers(0, 1 << 16),
    loss=st.sampled_from([0.0, 0.05, 0.2]),
    names=st.sampled_from(["ab", "abc", "abcd"]),
    pause=st.integers(1, 20),
)
def test_who_knows_its_proxy_misses_nothing_on_a_bad_network(seed: int, loss: float, names: str, pause: int) -> None:
    world = chain(names, World(seed, conditions_between(50, 5_000, loss=loss)))
    dice = random.Random(seed)
    source = Application(world.sites["a"])
    source.advertise("quotes")
    readers: dict[str, Application] = {}
    known_from: dict[str, int] = {}
    appears = {dice.randrange(300): name for name in names}
    for written in range(700):
        if (name := appears.get(written)) is not None:
            readers[name] = Application(world.sites[name])
            readers[name].read("quotes")
        source.write("quotes", float(written))
        world.run(pause / 1_000)
        for name, reader in readers.items():
            if name not in known_from and any(isinstance(event, EndpointMatched) for event in reader.member.events):
                known_from[name] = written + 1
    world.run(60)
    for name, first in known_from.items():
        if name != "a":  # at its own site a reader knows the writer before the writer knows it: plain DDS
            assert set(range(first, 700)) <= set(readers[name].prices), name
        assert readers[name].prices == sorted(set(readers[name].prices)), name


def test_a_writer_that_knows_a_tap_is_heard_from_then_on() -> None:
    world = chain("ab")
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    written: list[float] = []
    while len(written) < 100:
        world.run(0.0005)
        if any(isinstance(event, EndpointMatched) for event in source.member.events):
            source.write("quotes", float(len(written)))
            written.append(float(len(written)))
    world.run(5)
    assert reader.prices == written


def test_more_than_a_proxy_may_hold_waits_at_the_site_of_the_writer() -> None:
    world = chain("ab")
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5, until=lambda: any(isinstance(event, EndpointMatched) for event in source.member.events))
    prices = [float(number) for number in range(300)]
    source.write("quotes", *prices, symbol="x" * 10_000)  # three times what is held
    world.run(20)
    assert reader.prices == prices
    assert world.sites["b"].gateway.backbone.counters["held back"] > 0
    assert world.sites["a"].gateway.backbone.waiting == 0
