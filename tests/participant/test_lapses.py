"""Deadlines that are missed and samples whose life is over, in a domain with virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.errors import UnsupportedPolicyError
from rookery.rtps.cdr import encode_key, encode_sample, key_hash
from rookery.rtps.events import DeadlineMissed, SampleKind, SampleReceived
from rookery.rtps.qos import Durability, QualityOfService, Reliability, require_supported
from rookery.rtps.types import CdrMember, CdrStruct, Primitive
from rookery.simulated.domain import SimulatedNetwork

SECOND = 1_000_000
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
LASTING = replace(RELIABLE, durability=Durability.TRANSIENT_LOCAL)
TYPE = CdrStruct("T", (CdrMember("k", Primitive.INT32, key=True), CdrMember("v", Primitive.INT32)))


def endpoints(network, writer_qos, reader_qos):
    one, two = network.join(), network.join()
    writer = one.participant.create_writer("t", "T", writer_qos, keyed=True, now=one.now, type=TYPE)
    reader = two.participant.create_reader("t", "T", reader_qos, keyed=True, now=two.now, type=TYPE)
    one.flush()
    two.flush()
    network.run(3 * SECOND)
    return one, two, writer, reader


def write(member, writer, key, kind=SampleKind.ALIVE):
    value = {"k": key, "v": 0}
    payload = encode_sample(TYPE, value) if kind is SampleKind.ALIVE else encode_key(TYPE, value)
    member.participant.write(writer, payload, now=member.now, kind=kind, key_hash=key_hash(TYPE, value))
    member.flush()


def missed(member, endpoint):
    found = [event for event in member.events if isinstance(event, DeadlineMissed)]
    assert all(event.endpoint == endpoint for event in found)
    return [event.instance for event in found]


def test_both_sides_report_each_period_in_which_an_instance_was_silent() -> None:
    network = SimulatedNetwork(1)
    qos = replace(RELIABLE, deadline=SECOND)
    one, two, writer, reader = endpoints(network, qos, qos)
    network.run(5 * SECOND)
    assert missed(one, writer) == missed(two, reader) == []  # nothing was begun
    for _ in range(4):
        write(one, writer, 1)
        write(one, writer, 2)
        network.run(SECOND // 2)
    assert missed(one, writer) == missed(two, reader) == []
    first, second = (key_hash(TYPE, {"k": key}) for key in (1, 2))
    for _ in range(4):
        write(one, writer, 1)
        network.run(SECOND // 2)
    assert missed(one, writer) == missed(two, reader) == [second, second]
    write(one, writer, 2, SampleKind.DISPOSED)
    network.run(int(2.2 * SECOND))
    # What is gone is expected no more.
    assert missed(one, writer) == missed(two, reader) == [second, second, first, first]
    one.participant.delete_endpoint(writer, one.now)
    two.participant.delete_endpoint(reader, two.now)
    network.run(5 * SECOND)
    assert len(missed(one, writer)) == 4


def test_a_sample_whose_life_is_over_does_not_reach_a_late_reader() -> None:
    network = SimulatedNetwork(1)
    one, two, writer, reader = endpoints(network, replace(LASTING, lifespan=10 * SECOND), LASTING)
    write(one, writer, 1)
    network.run(6 * SECOND)
    write(one, writer, 2)
    network.run(6 * SECOND)
    late = network.join()
    begun = late.participant.create_reader("t", "T", LASTING, keyed=True, now=late.now, type=TYPE)
    late.flush()
    network.run(3 * SECOND)
    got = [event.payload for event in late.events if isinstance(event, SampleReceived) and event.reader == begun]
    assert got == [encode_sample(TYPE, {"k": 2, "v": 0})]
    assert sum(isinstance(event, SampleReceived) and event.reader == reader for event in two.events) == 2
    network.run(20 * SECOND)
    assert one.participant.is_acknowledged(writer)
    last = network.join()
    last.participant.create_reader("t", "T", LASTING, keyed=True, now=last.now, type=TYPE)
    last.flush()
    network.run(3 * SECOND)
    assert not [event for event in last.events if isinstance(event, SampleReceived)]


@pytest.mark.parametrize(
    "changes",
    [
        {"lifespan": 0},
        {"minimum_separation": -1},
        {"minimum_separation": 5, "deadline": 4},
        {"user_data": bytes(2_000)},
    ],
)
def test_what_cannot_be_promised_raises(changes) -> None:
    with pytest.raises(UnsupportedPolicyError):
        require_supported(replace(RELIABLE, **changes))
