"""Types asked for and compared, on the simulated network: with loss, without the service, and with lies."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.events import EndpointMatched, TypeIncompatible
from rookery.rtps.identity import BUILTIN_ENDPOINTS, Guid
from rookery.rtps.limits import Limits
from rookery.rtps.qos import QualityOfService, Reliability
from rookery.rtps.types import CdrEnum, CdrMember, CdrSequence, CdrString, CdrStruct, Primitive
from rookery.rtps.xtypes.lookup import LOOKUP_ENDPOINTS, TypeReply
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant, conditions_between

SECOND = 1_000_000
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
SIDE = CdrEnum("Side", (("BUY", 0), ("SELL", 1)))
LEG = CdrStruct("Leg", (CdrMember("side", SIDE), CdrMember("size", Primitive.INT64)))
ORDER = CdrStruct(
    "Order",
    (CdrMember("price", Primitive.FLOAT64), CdrMember("legs", CdrSequence(LEG)), CdrMember("note", CdrString())),
)
#: A bound makes another hash and does not count.
BOUNDED = replace(ORDER, fields=(*ORDER.fields[:2], CdrMember("note", CdrString(300))))
WRONG = replace(ORDER, fields=(CdrMember("price", Primitive.INT64), *ORDER.fields[1:]))


def write(member: SimulatedParticipant, of: CdrStruct | None, topic: str = "orders") -> Guid:
    guid = member.participant.create_writer(topic, "Order", RELIABLE, keyed=False, now=member.now, type=of)
    member.flush()
    return guid


def read(member: SimulatedParticipant, of: CdrStruct | None, topic: str = "orders") -> Guid:
    guid = member.participant.create_reader(topic, "Order", RELIABLE, keyed=False, now=member.now, type=of)
    member.flush()
    return guid


@pytest.mark.parametrize("protocol", ["simple", "ribbon"])
@pytest.mark.parametrize("seed", range(10))
def test_types_that_fit_are_matched_and_others_refused_whatever_is_lost(protocol: str, seed: int) -> None:
    network = SimulatedNetwork(seed, conditions_between(50, 40_000, loss=0.2, duplication=0.1))
    one, two = (network.join(lease=60 * SECOND, discovery=protocol) for _ in range(2))
    writer = write(one, ORDER)
    fitting, wrong = read(two, BOUNDED), read(two, WRONG)
    done = network.run(
        60 * SECOND,
        until=lambda: two.participant.matched(fitting) == (writer,) and one.participant.matched(writer) == (fitting,),
    )
    assert done
    assert network.run(60 * SECOND, until=lambda: any(isinstance(e, TypeIncompatible) for e in two.events))
    assert network.run(60 * SECOND, until=lambda: any(isinstance(e, TypeIncompatible) for e in one.events))
    refused = [event for event in two.events if isinstance(event, TypeIncompatible)]
    assert [(event.local, event.remote, event.reason) for event in refused] == [
        (wrong, writer, "price is float64 there, int64 here")
    ]
    assert two.participant.matched(wrong) == ()


def test_nothing_is_asked_between_equal_types() -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join()
    writer, reader = write(one, ORDER), read(two, replace(ORDER, name="OtherName"))
    assert network.run(10 * SECOND, until=lambda: two.participant.matched(reader) == (writer,))
    lookup = two.participant._pairing.types
    assert not any(each.readers for each in lookup.writers.values())


def test_endpoints_of_one_participant_are_compared_too() -> None:
    network = SimulatedNetwork(1)
    one = network.join()
    writer = write(one, ORDER)
    fitting, wrong = read(one, BOUNDED), read(one, WRONG)
    assert one.participant.matched(writer) == (fitting,)
    refused = [event for event in one.events if isinstance(event, TypeIncompatible)]
    assert [(event.local, event.remote) for event in refused] == [(writer, wrong)]


def test_who_says_nothing_of_its_type_is_taken_by_its_name() -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join()
    writer, reader = write(one, None), read(two, WRONG)
    assert network.run(10 * SECOND, until=lambda: two.participant.matched(reader) == (writer,))


def test_who_cannot_be_asked_is_taken_by_its_name_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    network = SimulatedNetwork(1)
    two = network.join()
    monkeypatch.setattr(
        "rookery.rtps.announcements.ParticipantAnnouncement.__init__.__defaults__",
        tuple(
            BUILTIN_ENDPOINTS & ~LOOKUP_ENDPOINTS if default == BUILTIN_ENDPOINTS else default
            for default in _defaults()
        ),
        raising=True,
    )
    one = network.join()
    writer, reader = write(one, ORDER), read(two, WRONG)
    assert network.run(10 * SECOND, until=lambda: two.participant.matched(reader) == (writer,))
    assert two.participant.counters["unverified_type"] >= 1


def _defaults() -> tuple[object, ...]:
    from rookery.rtps.announcements import ParticipantAnnouncement

    return ParticipantAnnouncement.__init__.__defaults__ or ()


def test_a_peer_that_does_not_know_its_own_type_is_taken_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join()
    writer, reader = write(one, ORDER), read(two, WRONG)
    one.participant._pairing.types._own.clear()
    assert network.run(30 * SECOND, until=lambda: two.participant.matched(reader) == (writer,))
    assert two.participant.counters["unverified_type"] >= 1


def test_an_answer_that_is_lost_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service acknowledges the question and never answers: the question is put again."""
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join()
    replies = 0
    decode = TypeReply.decode

    def deaf(payload: bytes) -> TypeReply | None:
        nonlocal replies
        replies += 1
        return None if replies == 1 else decode(payload)

    monkeypatch.setattr(TypeReply, "decode", staticmethod(deaf))
    write(one, ORDER)
    reader = read(two, WRONG)
    assert network.run(30 * SECOND, until=lambda: any(isinstance(event, TypeIncompatible) for event in two.events))
    assert two.participant.matched(reader) == ()


def test_a_peer_that_goes_while_it_is_asked_leaves_nothing_behind() -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(lease=5 * SECOND), network.join()
    write(one, ORDER)
    assert network.run(SECOND, until=lambda: len(two.participant.remote_endpoints) == 1)
    network.cut(one, two)
    read(two, WRONG)
    one.crash()
    assert network.run(60 * SECOND, until=lambda: not two.participant.peers)
    lookup, pairing = two.participant._pairing.types, two.participant._pairing
    assert not pairing._waiting
    assert not lookup._asked
    assert not lookup._requests


def test_descriptions_of_others_are_bounded() -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join(limits=Limits(type_bytes=400))
    for number in range(8):
        other = CdrStruct("Order", (CdrMember(f"field{number}", CdrString(number + 1)), *LEG.fields))
        write(one, other, f"topic{number}")
        read(two, WRONG, f"topic{number}")

    def refused() -> list[str]:
        return [event.reason for event in two.events if isinstance(event, TypeIncompatible)]

    assert network.run(60 * SECOND, until=lambda: len(refused()) == 8)
    assert two.participant.type_bytes <= 400
    assert two.participant.counters["type_bytes"] > 0
    assert any("no room" in reason for reason in refused())
    assert not any(isinstance(event, EndpointMatched) for event in two.events)
    one.leave()
    assert network.run(10 * SECOND, until=lambda: not two.participant.peers)
    assert two.participant.type_bytes == 0
    assert not two.participant._pairing.types._objects


def test_the_announcement_keeps_the_type() -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join()
    write(one, ORDER)
    assert network.run(10 * SECOND, until=lambda: len(two.participant.remote_endpoints) == 1)
    announced: EndpointAnnouncement = two.participant.remote_endpoints[0].announcement
    assert announced.type_information == one.participant.local_endpoints[0].type_information


#: As Fast DDS 2.9.1 describes it.
FAST_DDS_QUOTE = bytes.fromhex(
    json.loads((Path(__file__).parents[1] / "cases" / "rtps" / "fastdds_types.json").read_text())["cases"][0]["octets"]
)
QUOTE = CdrStruct(
    "Quote",
    (
        CdrMember("symbol", CdrString()),
        CdrMember("price", Primitive.FLOAT64),
        CdrMember("size", Primitive.INT64),
    ),
)


def _announce_plainly(monkeypatch: pytest.MonkeyPatch, member: SimulatedParticipant) -> None:
    """Let a participant say the description of its type itself, and not its names, as Fast DDS 2 does."""
    encode = EndpointAnnouncement.encode

    def plainly(self: EndpointAnnouncement, *, little: bool = True) -> bytes:
        if self.guid.prefix != member.participant.prefix:
            return encode(self, little=little)
        octets = encode(replace(self, type_information=None), little=little)
        return octets[:-4] + struct.pack("<HH", 0x0072, len(FAST_DDS_QUOTE)) + FAST_DDS_QUOTE + octets[-4:]

    monkeypatch.setattr(EndpointAnnouncement, "encode", plainly)


def test_a_type_that_is_described_in_the_announcement_is_compared_and_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join()
    _announce_plainly(monkeypatch, one)
    writer = write(one, QUOTE)
    fitting = read(two, QUOTE)
    wrong = read(two, replace(QUOTE, fields=(*QUOTE.fields[:2], CdrMember("size", Primitive.FLOAT64))))
    assert network.run(10 * SECOND, until=lambda: two.participant.matched(fitting) == (writer,))
    refused = [event for event in two.events if isinstance(event, TypeIncompatible)]
    assert [(event.local, event.remote, event.reason) for event in refused] == [
        (wrong, writer, "size is int64 there, float64 here")
    ]
    learned = two.participant.announced_type(writer, two.now)
    assert learned == replace(QUOTE, fields=(CdrMember("symbol", CdrString(255)), *QUOTE.fields[1:]))
    assert two.participant.type_bytes == len(FAST_DDS_QUOTE)
    assert two.participant.counters["unverified_type"] == 0
    one.leave()
    assert network.run(10 * SECOND, until=lambda: two.participant.type_bytes == 0)


def test_without_room_for_its_description_a_type_is_taken_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    network = SimulatedNetwork(1)
    one, two = network.join(), network.join(limits=Limits(type_bytes=len(FAST_DDS_QUOTE)))
    _announce_plainly(monkeypatch, one)
    first, second = write(one, QUOTE), write(one, QUOTE)
    reader = read(two, WRONG)
    assert network.run(10 * SECOND, until=lambda: len(two.participant.matched(reader)) == 1)
    network.run(10 * SECOND)
    assert len(two.participant.matched(reader)) == 1
    assert two.participant.counters["type_bytes"] > 0
    assert two.participant.counters["unverified_type"] == 1
    assert two.participant.type_bytes == len(FAST_DDS_QUOTE)
    gone, other = (first, second) if two.participant.matched(reader) == (first,) else (second, first)
    one.participant.delete_endpoint(other, one.now)
    one.flush()
    assert network.run(10 * SECOND, until=lambda: two.participant.type_bytes == 0)
    assert two.participant.matched(reader) == (gone,)
