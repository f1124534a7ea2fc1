"""Proxies: whoever has found one misses nothing and gets nothing twice."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.gateway.messages import Forwarded
from rookery.rtps.qos import QualityOfService
from rookery.simulated.gateways import SimulatedIslands
from rookery.simulated.links import LinkConditions

from .application import BEST_EFFORT, TYPE, VOLATILE, Application, chain


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


def test_a_repetition_is_written_once() -> None:
    world = chain("ab")
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    source.write("quotes", 1.0)
    world.run(1)
    target = world.sites["b"]
    ((_, proxy),) = target.gateway._proxies
    payload = TYPE.encode({"symbol": "ACME", "price": 1.0})
    again = Forwarded(proxy.number, source.writers["quotes"].octets(), 1, 0, b"", payload)
    assert target.gateway.take("a", again, target.now)
    target.flush()
    world.run(1)
    assert reader.prices == [1.0]
    assert target.gateway.counters["repetitions"] == 1


def test_a_proxy_that_is_not_offered_again_is_dropped() -> None:
    world = chain("ab")
    source, reader = Application(world.sites["a"]), Application(world.sites["b"])
    source.advertise("quotes")
    reader.read("quotes")
    world.run(5)
    participant = world.sites["b"].gateway.participant
    assert len(participant.local_endpoints) == 1
    world.sites["a"].crash()
    source.member.leave()
    world.sites["a"].start()
    world.run(40)  # the gateway of a begins anew, and has no such writer any more
    assert participant.local_endpoints == ()
