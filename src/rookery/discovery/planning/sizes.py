"""What discovery weighs: every size is the length of octets that were really encoded.

A participant's announcement, DATA(p), is encoded with the summary that it would carry; each endpoint's record, DATA(w)
or DATA(r), with its own names. The small change of the protocol (INFO_TS, INFO_DST, HEARTBEAT, ACKNACK, the header of a
message) is encoded once. Nothing here is a formula; only how often each is sent is (see `costs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rookery.discovery.carriage import summary_parameter
from rookery.discovery.planning.topology import PlannedEndpoint
from rookery.rtps.announcements import EndpointAnnouncement, ParticipantAnnouncement
from rookery.rtps.identity import (
    READER_KEYLESS,
    SEDP_PUBLICATIONS_READER,
    SEDP_PUBLICATIONS_WRITER,
    SEDP_SUBSCRIPTIONS_READER,
    SEDP_SUBSCRIPTIONS_WRITER,
    SPDP_READER,
    SPDP_WRITER,
    WRITER_KEYLESS,
    Guid,
)
from rookery.rtps.locators import Address, Locator
from rookery.rtps.messages import HEADER_LENGTH
from rookery.rtps.qos import QualityOfService, Reliability
from rookery.rtps.sequences import NumberSet
from rookery.rtps.submessages import AckNack, Data, Heartbeat, InfoTimestamp, ToParticipant

__all__ = [
    "DATAGRAM",
    "SUMMARY_LIMIT",
    "announcement_size",
    "datagrams_for",
    "envelope_size",
    "handshake_size",
    "record_size",
]

#: The largest summary that is sent with every announcement (filters, section 2.8).
SUMMARY_LIMIT = 1_200
#: The largest datagram: it fits an Ethernet frame with all headers.
DATAGRAM = 1_400

_PREFIX = b"\x01\x5a" + bytes(range(1, 11))
_WHEN = 1_700_000_000_000_000
_RELIABLE = QualityOfService(reliability=Reliability.RELIABLE)


@dataclass(frozen=True, slots=True)
class Announcement:
    """One DATA(p) on its way: to the group, or as an answer to one participant."""

    multicast: int
    directed: int
    payload: int


def announcement_size(summary: bytes | None = None) -> Announcement:
    """Return the datagrams of an announcement with a summary, or without one."""
    locators = (Locator.of(Address("127.0.0.1", 40_000)),)
    carried = () if summary is None else (summary_parameter(summary),)
    announced = ParticipantAnnouncement(_PREFIX, 10_000_000, locators, locators, 0, vendor_parameters=carried)
    payload = announced.encode()
    data = Data(SPDP_READER, SPDP_WRITER, 1, payload).encode()
    multicast = HEADER_LENGTH + len(InfoTimestamp(_WHEN).encode()) + len(data)
    return Announcement(multicast, multicast + len(ToParticipant(_PREFIX).encode()), len(payload))


@cache
def record_size(endpoint: PlannedEndpoint) -> int:
    """Return the octets of an endpoint's record in a message: INFO_TS and DATA(w) or DATA(r)."""
    writer = endpoint.kind == "W"
    entity = 1 << 8 | (WRITER_KEYLESS if writer else READER_KEYLESS)
    announced = EndpointAnnouncement(Guid(_PREFIX, entity), endpoint.topic, endpoint.type_name, _RELIABLE)
    pair = (
        (SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER)
        if writer
        else (SEDP_SUBSCRIPTIONS_READER, SEDP_SUBSCRIPTIONS_WRITER)
    )
    return len(InfoTimestamp(_WHEN).encode()) + len(Data(*pair, 1, announced.encode()).encode())


@cache
def handshake_size() -> int:
    """Return the octets of one question and answer between two participants over one builtin topic.

    A datagram with a HEARTBEAT one way, a datagram with an ACKNACK the other way.
    """
    heartbeat = Heartbeat(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, 1, 1, 1).encode()
    acknack = AckNack(SEDP_PUBLICATIONS_READER, SEDP_PUBLICATIONS_WRITER, NumberSet.of([1], base=1), 1).encode()
    return 2 * envelope_size() + len(heartbeat) + len(acknack)


@cache
def envelope_size() -> int:
    """Return the octets around the submessages of a directed datagram: header and INFO_DST."""
    return HEADER_LENGTH + len(ToParticipant(_PREFIX).encode())


def datagrams_for(octets: float, record: float) -> float:
    """Return how many datagrams the records from one participant to another fill.

    Writers and readers are announced by two builtin topics, whose answers leave apart; a datagram that is not the last
    of its topic has room left for half a record on average.
    """
    room = DATAGRAM - envelope_size() - record / 2
    return 2 * max(1.0, octets / 2 / room) if octets > record else float(octets > 0)
