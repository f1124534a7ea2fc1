"""What a participant reports to its owner: one frozen value per thing that happened, in order.

A peer's mistake is here too, as `MessageRejected`: it is news, not an exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import msgspec

from rookery.rtps.announcements import EndpointAnnouncement, ParticipantAnnouncement
from rookery.rtps.identity import Guid
from rookery.rtps.locators import Address

__all__ = [
    "DeadlineMissed",
    "EndpointDiscovered",
    "EndpointLost",
    "EndpointMatched",
    "EndpointUnmatched",
    "Event",
    "FoundTopic",
    "LivelinessChanged",
    "LivelinessLost",
    "MessageRejected",
    "ParticipantChanged",
    "ParticipantDiscovered",
    "ParticipantLost",
    "QualityIncompatible",
    "SampleKind",
    "SampleReceived",
    "TreeSearched",
    "TypeIncompatible",
    "TypesLearned",
]


class SampleKind(IntEnum):
    """What a sample says about its instance; the values are the status flags of the wire (RTPS 2.5, 9.6.4.9)."""

    ALIVE = 0
    DISPOSED = 1
    UNREGISTERED = 2
    DISPOSED_AND_UNREGISTERED = 3


@dataclass(frozen=True, slots=True)
class ParticipantDiscovered:
    """A participant that was not known has announced itself."""

    announcement: ParticipantAnnouncement


@dataclass(frozen=True, slots=True)
class ParticipantChanged:
    """A known participant has announced something new about itself."""

    announcement: ParticipantAnnouncement


@dataclass(frozen=True, slots=True)
class ParticipantLost:
    """A participant has left (`reason` "disposed"), is silent for its lease ("expired"), or is elsewhere ("moved")."""

    prefix: bytes
    reason: str


class FoundTopic(NamedTuple):
    """Where in a participant's tree a topic is: β(layer, column), as seed 000 counts them."""

    topic: str
    type_name: str
    layer: int
    column: int


@dataclass(frozen=True, slots=True)
class TreeSearched:
    """The tree that a participant announced, of `size_bytes` bytes, was searched for what local endpoints seek.

    `found` are the topics of counterparts that it may have, each with the sub-node that the search found it in.
    """

    prefix: bytes
    size_bytes: int
    asked: int
    visited: int
    found: tuple[FoundTopic, ...]


@dataclass(frozen=True, slots=True)
class EndpointDiscovered:
    """A remote reader or writer was announced, or its announcement changed."""

    announcement: EndpointAnnouncement


@dataclass(frozen=True, slots=True)
class EndpointLost:
    """A remote reader or writer is gone, alone or with its participant."""

    guid: Guid


@dataclass(frozen=True, slots=True)
class EndpointMatched:
    """A local endpoint and a remote one will exchange samples."""

    local: Guid
    remote: Guid


@dataclass(frozen=True, slots=True)
class EndpointUnmatched:
    """A local endpoint and a remote one will not exchange samples any more."""

    local: Guid
    remote: Guid


@dataclass(frozen=True, slots=True)
class QualityIncompatible:
    """A local endpoint and a remote one share a topic and do not match; `policies` says why."""

    local: Guid
    remote: Guid
    policies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TypeIncompatible:
    """A local endpoint and a remote one share a topic and the name of its type, and the types do not fit."""

    local: Guid
    remote: Guid
    reason: str


@dataclass(frozen=True, slots=True)
class DeadlineMissed:
    """A local reader has got, or a local writer has written, no sample of an instance within its deadline."""

    endpoint: Guid
    instance: bytes


@dataclass(frozen=True, slots=True)
class LivelinessChanged:
    """A writer that a local reader is paired with gave no sign of life within its lease, or gives one again."""

    reader: Guid
    writer: Guid
    alive: bool


@dataclass(frozen=True, slots=True)
class LivelinessLost:
    """A local writer that is alive as its program says was not asserted within its lease."""

    writer: Guid


@dataclass(frozen=True, slots=True)
class TypesLearned:
    """A participant has answered a question about its types."""

    prefix: bytes


class SampleReceived(msgspec.Struct, frozen=True, gc=False):
    """A local reader has a sample; without `kind` ALIVE the payload is the key alone, or empty."""

    reader: Guid
    writer: Guid
    sequence: int
    kind: SampleKind
    payload: bytes
    timestamp: int | None
    key_hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class SampleSuperseded:
    """A sample came that its reader does not take: a stronger writer has its instance, or a later sample was taken."""

    sample: SampleReceived


@dataclass(frozen=True, slots=True)
class MessageRejected:
    """A datagram, or the rest of one, was not understood or not allowed."""

    sender: Address
    reason: str


Event = (
    ParticipantDiscovered
    | ParticipantChanged
    | ParticipantLost
    | TreeSearched
    | EndpointDiscovered
    | EndpointLost
    | EndpointMatched
    | EndpointUnmatched
    | QualityIncompatible
    | TypeIncompatible
    | DeadlineMissed
    | LivelinessChanged
    | LivelinessLost
    | TypesLearned
    | SampleReceived
    | SampleSuperseded
    | MessageRejected
)
