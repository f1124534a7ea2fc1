"""Types cross between sites: a proxy announces the type of its writers, explains it, and keeps their XCDR."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.rtps.cdr import decode_sample, encode_sample
from rookery.rtps.events import EndpointDiscovered, EndpointMatched, SampleReceived, TypeIncompatible
from rookery.rtps.qos import XCDR1, XCDR2
from rookery.rtps.types import CdrMember, CdrString, CdrStruct, Extensibility, Primitive

from .application import VOLATILE, Application, chain, ring

READING = CdrStruct(
    "Reading",
    (
        CdrMember("sensor", CdrString()),
        CdrMember("value", Primitive.FLOAT64),
        CdrMember("n", CdrString(), optional=True),
    ),
    Extensibility.APPENDABLE,
)
OTHER = replace(READING, fields=(READING.fields[0], CdrMember("value", Primitive.INT64)))
OLDER = replace(READING, fields=READING.fields[:2])
BOTH = replace(VOLATILE, representations=(XCDR1, XCDR2))
VALUE = {"sensor": "a", "value": 1.5, "n": None}


def test_the_type_crosses_and_is_judged_at_the_other_site() -> None:
    world = chain("ab")
    source, target = (Application(world.sites[name]) for name in "ab")
    one, other = source.member.participant, target.member.participant
    qos = replace(VOLATILE, representations=(XCDR2,))
    writer = one.create_writer("readings", "Reading", qos, keyed=False, now=source.member.now, type=READING)
    source.member.flush()
    kinds = {"right": READING, "older": OLDER, "wrong": OTHER}
    readers = {
        name: other.create_reader("readings", "Reading", BOTH, keyed=False, now=target.member.now, type=of)
        for name, of in kinds.items()
    }
    target.member.flush()
    world.run(10)
    proxy = next(e.announcement for e in target.member.events if isinstance(e, EndpointDiscovered))
    announced = one.endpoint(writer)
    assert announced is not None
    assert proxy.type_information == announced.type_information
    matched = {event.local for event in target.member.events if isinstance(event, EndpointMatched)}
    assert matched == {readers["right"], readers["older"]}
    refused = [event for event in target.member.events if isinstance(event, TypeIncompatible)]
    assert [(event.local, event.reason) for event in refused] == [
        (readers["wrong"], "value is float64 there, int64 here")
    ]
    one.write(writer, encode_sample(READING, VALUE), now=source.member.now)
    source.member.flush()
    world.run(5)
    got = {event.reader: event.payload for event in target.member.events if isinstance(event, SampleReceived)}
    assert decode_sample(READING, got[readers["right"]]) == VALUE
    assert decode_sample(OLDER, got[readers["older"]]) == {"sensor": "a", "value": 1.5}
    assert set(got) == matched


def test_writers_of_two_types_are_two_channels() -> None:
    world = ring()
    source, target = (Application(world.sites[name]) for name in "ab")
    one, other = source.member.participant, target.member.participant
    now = source.member.now
    plain = CdrStruct("Reading", (CdrMember("value", Primitive.FLOAT64),))
    whole = CdrStruct("Reading", (CdrMember("value", Primitive.INT64),))
    writers = [one.create_writer("t", "Reading", VOLATILE, keyed=False, now=now, type=of) for of in (plain, whole)]
    source.member.flush()
    reader = other.create_reader("t", "Reading", BOTH, keyed=False, now=target.member.now, type=whole)
    target.member.flush()
    world.run(10)
    one.write(writers[0], encode_sample(plain, {"value": 2.0}), now=source.member.now)
    one.write(writers[1], encode_sample(whole, {"value": 3}), now=source.member.now)
    source.member.flush()
    world.run(5)
    got = [event for event in target.member.events if isinstance(event, SampleReceived)]
    assert [decode_sample(whole, event.payload) for event in got] == [{"value": 3}]
    assert {event.reader for event in got} == {reader}


@pytest.mark.parametrize("information", [b"\x01", b"\xff" * 100, bytes(1 << 17)])
def test_nonsense_about_a_type_refuses_the_offer(information: bytes) -> None:
    from rookery.gateway.channels import channel_of_offer
    from rookery.gateway.messages import Offer

    offer = Offer(1, "t", "T", False, True, False, [], None, 0, information)
    assert channel_of_offer(offer) is None
    assert channel_of_offer(Offer(1, "t", "T", False, True, False, [], None, 7, b"")) is None
    assert channel_of_offer(Offer(1, "t", "T", False, True, False, [], None)) is not None
