"""Taps: what is offered, to whom, when it is heard, and that it crosses once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rookery.matching.matcher import Matcher
from rookery.participant.event_types import EventType
from rookery.rtps.events import SampleKind, SampleReceived
from rookery.rtps.qos import QualityOfService

from .application import BEST_EFFORT, DURABLE, QUOTES, VOLATILE, Application, chain, ring


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


def test_a_tap_is_made_when_the_first_site_wants_it_and_gone_with_the_last() -> None:
    world = chain("abc")
    source = Application(world.sites["a"])
    source.advertise("quotes")
    world.run(3)
    participant = world.sites["a"].gateway.participant
    assert participant.local_endpoints == ()
    readers = [Application(world.sites[name]) for name in "bc"]
    for reader in readers:
        reader.read("quotes")
    world.run(3)
    assert len(participant.local_endpoints) == 1
    readers[0].member.leave()
    world.run(3)
    assert len(participant.local_endpoints) == 1
    readers[1].member.leave()
    world.run(3)
    assert participant.local_endpoints == ()
    assert not world.sites["a"].gateway._taps._conditions


def test_the_end_of_an_instance_crosses() -> None:
    world = chain("ab")
    source, target = world.sites["a"].member(), world.sites["b"].member()
    writer = source.participant.create_writer("quotes", "Quote", VOLATILE, keyed=True, now=source.now)
    source.flush()
    target.participant.create_reader("quotes", "Quote", VOLATILE, keyed=True, now=target.now)
    target.flush()
    world.run(5)
    key = bytes(range(16))
    source.participant.write(writer, b"", now=source.now, kind=SampleKind.DISPOSED, key_hash=key)
    source.flush()
    world.run(2)
    samples = [event for event in target.events if isinstance(event, SampleReceived)]
    assert [(one.kind, one.key_hash) for one in samples] == [(SampleKind.DISPOSED, key)]


def test_a_sample_is_decoded_and_matched_once_although_three_sites_have_conditions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = chain("abcd")
    source = Application(world.sites["a"])
    source.advertise("quotes")
    for limit, name in enumerate("bcd"):
        site = world.sites[name]
        site.gateway.participant.create_reader("quotes", "Quote", VOLATILE, keyed=False, now=site.now)
        where = f"price < {limit}"
        site.gateway.restrict(1, topic="quotes", type_name="Quote", where=where, schema=QUOTES, now=site.now)
        site.flush()
    world.run(5)
    calls: Counter[str] = Counter()
    decode, match = EventType.decode, Matcher.match
    monkeypatch.setattr(EventType, "decode", lambda *given: (calls.update(["decoded"]), decode(*given))[1])
    monkeypatch.setattr(Matcher, "match", lambda *given: (calls.update(["matched"]), match(*given))[1])
    source.write("quotes", 0.5, 1.5, 2.5)
    world.run(3)
    counters = world.sites["a"].gateway.counters
    assert (counters["samples out"], counters["samples spared"]) == (3, 6)
    assert calls == {"decoded": 3, "matched": 3}
