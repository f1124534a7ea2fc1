"""Look at a domain for a while: who is there, what they write and read, and who is apart that shares a topic.

The observer joins as a participant without endpoints that says it is one: else participants that go by summaries would
tell it nothing. It waits, and leaves. What it found is plain data, the same for the tables and the `--json` of the
command line.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rookery.discovery.carriage import carried_container, summary_name
from rookery.live.udp import open_participant
from rookery.live.udp_transport import warning_of
from rookery.participant import Participant
from rookery.participant.misfits import misfits
from rookery.rtps.identity import VENDOR, is_keyed, is_writer
from rookery.rtps.peers import RemoteParticipant
from rookery.rtps.qos import INFINITE, DestinationOrder, Liveliness, Ownership, QualityOfService

__all__ = ["SeenEndpoint", "SeenMisfit", "SeenParticipant", "Survey", "describe_quality", "read_survey", "survey"]

#: Seconds between two looks at what is apart.
_LOOK = 0.1
#: Vendors as they are registered with the OMG; those that are likely to be met.
_VENDORS = {
    "01.01": "RTI Connext",
    "01.02": "OpenSplice",
    "01.03": "OpenDDS",
    "01.0f": "eProsima Fast DDS",
    "01.10": "Eclipse Cyclone DDS",
    "01.11": "GurumDDS",
    "01.12": "RustDDS",
    "01.14": "dust-dds",
    "01.5a": "Rookery",
}


@dataclass(frozen=True, slots=True)
class SeenParticipant:
    """A participant of the domain; `summary` is the discovery protocol whose summary it sends, or None."""

    prefix: str
    vendor: str
    name: str
    properties: dict[str, str]
    lease_seconds: float | None
    addresses: list[str]
    writers: int
    readers: int
    summary: str | None
    summary_bytes: int
    #: What its owner says of it; ROS 2 says its enclave.
    user_data: str = ""


@dataclass(frozen=True, slots=True)
class SeenEndpoint:
    """A reader or writer of the domain."""

    guid: str
    kind: str
    topic: str
    type_name: str
    keyed: bool
    quality: dict[str, Any]
    summary: str | None


@dataclass(frozen=True, slots=True)
class SeenMisfit:
    """Writers and readers of a topic that are no pairs, and why."""

    topic: str
    writers: list[str]
    readers: list[str]
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found."""

    domain_id: int
    participants: list[SeenParticipant]
    endpoints: list[SeenEndpoint]
    #: The limits at which something was left out, and what; then the survey does not show all.
    limits_reached: dict[str, str]
    misfits: list[SeenMisfit] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


async def survey(*, domain_id: int = 0, interface: str = "lo", seconds: float = 1.0, **options: Any) -> Survey:
    """Join a domain, listen so long, leave, and return what was there."""
    udp = open_participant(
        on_event=lambda event: None,
        domain_id=domain_id,
        interface=interface,
        name="rookery survey",
        observer=True,
        **options,
    )
    try:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, _LOOK))
            misfits(udp.participant, udp.now())  # what it asks for is there when it counts
            udp.flush()
        found = misfits(udp.participant, udp.now())
        seen = [
            SeenMisfit(one.topic, [*map(str, one.writers)], [*map(str, one.readers)], [*one.reasons]) for one in found
        ]
        return replace(read_survey(udp.participant), misfits=seen)
    finally:
        await udp.close()


def describe_quality(qos: QualityOfService) -> dict[str, Any]:
    """Return a quality of service in words; durations in seconds, None for infinite."""
    described: dict[str, Any] = {
        "reliability": qos.reliability.name.lower(),
        "durability": qos.durability.name.lower(),
        "history": "keep_all" if qos.history_depth is None else f"keep_last {qos.history_depth}",
        "deadline_seconds": _seconds(qos.deadline),
    }
    if qos.partitions:
        described["partitions"] = list(qos.partitions)
    if qos.lifespan < INFINITE:
        described["lifespan_seconds"] = _seconds(qos.lifespan)
    if qos.minimum_separation:
        described["separation_seconds"] = _seconds(qos.minimum_separation)
    if qos.liveliness is not Liveliness.AUTOMATIC or qos.liveliness_lease < INFINITE:
        described["liveliness"] = qos.liveliness.name.lower()
        described["liveliness_seconds"] = _seconds(qos.liveliness_lease)
    if qos.ownership is not Ownership.SHARED:
        described["ownership"] = qos.ownership.name.lower()
        if qos.ownership_strength:
            described["ownership_strength"] = qos.ownership_strength
    if qos.destination_order is not DestinationOrder.BY_RECEPTION:
        described["destination_order"] = qos.destination_order.name.lower()
    if qos.latency_budget:
        described["latency_budget_seconds"] = _seconds(qos.latency_budget)
    if qos.user_data:
        described["user_data"] = _text(qos.user_data)
    return described


def _text(said: bytes) -> str:
    return said.decode("utf-8", "backslashreplace")


def _seconds(microseconds: int) -> float | None:
    return None if microseconds >= INFINITE else microseconds / 1_000_000


def read_survey(participant: Participant) -> Survey:
    """Return what a participant knows of its domain by now."""
    containers = {
        peer.prefix: carried_container(peer.announcement.vendor_parameters)
        for peer in participant.peers
        if peer.announcement.vendor == VENDOR
    }
    summaries = {
        prefix: None if container is None else summary_name(container) for prefix, container in containers.items()
    }
    endpoints = [
        SeenEndpoint(
            str(each.announcement.guid),
            "writer" if is_writer(each.announcement.guid.entity) else "reader",
            each.announcement.topic,
            each.announcement.type_name,
            is_keyed(each.announcement.guid.entity),
            describe_quality(each.announcement.qos),
            summaries.get(each.announcement.guid.prefix),
        )
        for each in participant.remote_endpoints
    ]
    endpoints.sort(key=lambda each: (each.topic, each.type_name, each.kind, each.guid))
    participants = [_participant(peer, endpoints, containers.get(peer.prefix)) for peer in participant.peers]
    participants.sort(key=lambda each: each.prefix)
    limits = participant.configuration.limits
    reached = {name: warning_of(name, limits) for name in participant.counters.reached}
    return Survey(participant.configuration.domain_id, participants, endpoints, reached)


def _participant(peer: RemoteParticipant, endpoints: list[SeenEndpoint], container: bytes | None) -> SeenParticipant:
    announcement, prefix = peer.announcement, peer.prefix.hex()
    vendor = f"{announcement.vendor[0]:02x}.{announcement.vendor[1]:02x}"
    own = [each.kind for each in endpoints if each.guid.startswith(prefix)]
    return SeenParticipant(
        prefix,
        _VENDORS.get(vendor, vendor),
        announcement.name,
        dict(announcement.properties),
        _seconds(announcement.lease),
        [str(address) for address in dict.fromkeys((*peer.metatraffic, *peer.default))],
        own.count("writer"),
        own.count("reader"),
        None if container is None else summary_name(container),
        len(container or b""),
        _text(announcement.user_data),
    )
