"""Islands in the simulator: every sample reaches every reader that wants it once, over cycles, crashes and returns."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.gateway import GatewayFound, SiteTakenOver
from rookery.gateway.channels import channel_of
from rookery.model import Schema
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.events import SampleReceived
from rookery.rtps.identity import Guid
from rookery.rtps.qos import Durability, QualityOfService, Reliability, require_supported
from rookery.simulated.gateways import SimulatedIslands
from rookery.simulated.links import LinkConditions

from .application import BEST_EFFORT, DURABLE, QUOTES, TYPE, VOLATILE, Application


def ring(names: str = "abc") -> SimulatedIslands:
    world = chain(names)
    world.join(names[-1], names[0])
    return world


def chain(names: str, world: SimulatedIslands | None = None) -> SimulatedIslands:
    world = world or SimulatedIslands()
    for name in names:
        world.site(name)
    for one, other in itertools.pairwise(names):
        world.join(one, other)
    return world


@pytest.mark.parametrize(
    "world", [ring("abc"), chain("abc"), chain("ab"), ring("abcdef")], ids=["ring", "chain", "two", "six"]
)
def test_every_reader_of_every_site_gets_every_sample_once(world: SimulatedIslands) -> None:
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
    now = target.now
    target.gateway.participant.create_reader("quotes", "Quote", VOLATILE, keyed=False, now=now)
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
    target.gateway.release(1, target.now)


def test_a_condition_that_does_not_fit_lets_everything_through() -> None:
    world = chain("ab")
    source, target = Application(world.sites["a"]), world.sites["b"]
    source.advertise("quotes")
    now = target.now
    target.gateway.participant.create_reader("quotes", "Quote", VOLATILE, keyed=False, now=now)
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
    world.join("b", "c")
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
    for step in range(50):
        source.write("quotes", float(step))
        world.run(0.002)
        if step == 25:
            world.part("a", "b")
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
    for other in "ac":
        world.part("b", other)
    source.write("quotes", 2.0)
    world.run(20)
    assert (reader.prices, third.prices) == ([1.0], [1.0, 2.0])
    world.join("a", "b")
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
    world.sites[who].start()
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
        one.guid in world.sites["b"].gateway._own for one in world.sites["b"].gateway.participant.local_endpoints
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
    taps = world.sites["a"].gateway.participant
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
    assert world.sites["b"].gateway.participant.local_endpoints == ()


def test_two_islands_on_one_network_do_not_echo() -> None:
    world = SimulatedIslands()
    first = world.site("a")
    world.site("b", domain_id=first.domain_id)
    world.join("a", "b")
    source, reader = Application(first), Application(first)
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    source.write("quotes", *[float(step) for step in range(10)])
    world.run(20)
    assert first.gateway.other_gateways == ("b",)
    assert first.events.count(GatewayFound("b")) == 1
    assert reader.prices == [float(step) for step in range(10)]  # directly, and not over the backbone as well
    before = world.frames
    world.run(30)
    assert world.frames == before


def test_an_older_gateway_of_the_same_site_notices() -> None:
    world = ring()
    world.run(1)
    usurper = world.site("a2", called="a", domain_id=9)
    world.join("a2", "b")
    world.run(3)
    assert [event for event in world.sites["a"].events if isinstance(event, SiteTakenOver)] == [SiteTakenOver("a")]
    assert SiteTakenOver("a") not in usurper.events


@pytest.mark.parametrize("qos", [VOLATILE, BEST_EFFORT], ids=["reliable", "best-effort"])
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
        if known_from is None and late.is_matched:
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
    world = chain(names, SimulatedIslands(seed=seed, conditions=LinkConditions(latency=50, jitter=4_950, loss=loss)))
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
            if name not in known_from and reader.is_matched:
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
        if source.is_matched:
            source.write("quotes", float(len(written)))
            written.append(float(len(written)))
    world.run(5)
    assert reader.prices == written


def test_more_than_a_proxy_may_hold_waits_at_the_site_of_the_writer() -> None:
    world = chain("ab")
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5, until=lambda: source.is_matched)
    prices = [float(number) for number in range(300)]
    source.write("quotes", *prices, symbol="x" * 10_000)  # three times what is held
    world.run(20)
    assert reader.prices == prices
    assert world.sites["b"].gateway.backbone.counters["held back"] > 0
    assert world.sites["a"].gateway.backbone.waiting == 0


@pytest.mark.parametrize(
    ("other", "wanted"),
    [(replace(VOLATILE, history_depth=5), VOLATILE), (BEST_EFFORT, BEST_EFFORT), (DURABLE, VOLATILE)],
    ids=["depth", "reliability", "durability"],
)
def test_a_sample_crosses_once_where_writers_of_its_topic_differ(
    other: QualityOfService, wanted: QualityOfService
) -> None:
    world = chain("ab")
    first, second, reader = (Application(world.sites[name]) for name in "aab")
    first.advertise("quotes", VOLATILE)
    second.advertise("quotes", other)
    reader.read("quotes", wanted)
    world.run(5)
    first.write("quotes", 1.0)
    second.write("quotes", 2.0)
    world.run(5)
    assert sorted(reader.prices) == [1.0, 2.0]


def test_a_command_to_the_participant_is_heard_by_the_gateway_first() -> None:
    world = chain("ab")
    source, reader = world.sites["a"], Application(world.sites["b"])
    participant = source.gateway.participant
    writer = participant.create_writer("quotes", "Quote", VOLATILE, keyed=False, now=source.now)
    own = participant.create_reader("quotes", "Quote", VOLATILE, keyed=False, now=source.now)
    source.flush()
    reader.read("quotes")
    world.run(5)
    participant.write(writer, TYPE.encode({"symbol": "ACME", "price": 6.0}), now=source.now)
    source.flush()
    world.run(1)
    assert reader.prices == [6.0]
    assert [event.payload for event in source.events if isinstance(event, SampleReceived) and event.reader == own]
