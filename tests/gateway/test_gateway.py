"""Islands in the world: every sample reaches every reader that wants it once, over cycles, crashes and returns."""

from __future__ import annotations

import pytest

from rookery.gateway import GatewayFound, SiteTakenOver
from rookery.machine import Machine
from rookery.model import Schema
from rookery.rtps.events import SampleReceived
from rookery.simulated.gateways import SimulatedIslands

from .application import QUOTES, TYPE, VOLATILE, Application, chain, ring


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


def test_what_its_own_participant_wrote_waits_until_the_other_site_has_it() -> None:
    """Also in the moment before the gateway has taken it in: who flushes and leaves would lose it."""
    world = chain("ab")
    one, reader = world.sites["a"], Application(world.sites["b"])
    reader.read("quotes")
    writer = one.gateway.participant.create_writer("quotes", "Quote", VOLATILE, keyed=False, now=one.now)
    one.flush()
    world.run(6)
    assert one.gateway.waiting == 0
    one.gateway.participant.write(writer, TYPE.encode({"symbol": "ACME", "price": 7.0}), now=one.now)
    one.flush()
    assert one.gateway.waiting > 0
    world.run(2, until=lambda: one.gateway.waiting == 0)
    assert reader.prices == [7.0]


def test_a_gateway_is_a_machine_whose_timer_is_the_first_of_its_parts() -> None:
    world = chain("ab")
    machine: Machine = world.sites["a"].gateway
    gateway = world.sites["a"].gateway
    world.run(3)
    assert machine.timer() == gateway.participant.timer()  # nothing but the lease to renew
    reader = Application(world.sites["b"])
    reader.read("quotes")
    source = Application(world.sites["a"])
    source.advertise("quotes")
    seen = set()
    for _ in range(400):
        world.run(0.005)
        parts = {"taps": gateway._taps, "proxies": gateway._proxies, "backbone": gateway.backbone}
        for name, part in parts.items():
            due = part.timer()
            if due is not None:
                assert machine.timer() is not None
                assert machine.timer() <= due  # type: ignore[operator]
                seen.add(name)
    assert seen >= {"taps", "backbone"}
    assert machine.effects() == []  # they were all done


def test_a_writer_of_the_gateways_own_participant_is_offered_although_nothing_else_happens() -> None:
    world = chain("ab")
    source, reader = world.sites["a"], Application(world.sites["b"])
    reader.read("quotes")
    world.run(5)
    participant = source.gateway.participant
    writer = participant.create_writer("quotes", "Quote", VOLATILE, keyed=False, now=source.now)
    source.flush()
    world.run(2)
    participant.write(writer, TYPE.encode({"symbol": "ACME", "price": 6.0}), now=source.now)
    source.flush()
    world.run(1)
    assert reader.prices == [6.0]
