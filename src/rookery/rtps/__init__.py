"""RTPS without I/O: the wire of DDS as values and state machines.

From the bottom: octets and numbers (`octets`, `sequences`), messages (`messages`, `submessages`, `parameters`),
samples (`types`, `cdr`), what is announced (`announcements`, `qos`, `policies`, `locators`), the reliable machinery
(`history`, `writer`, `fragments`, `reader`, `stateless`), and the two discovery protocols (`spdp`, `sedp`).
`rookery.participant` puts them together into a participant.
"""

from __future__ import annotations

from rookery.rtps.events import SampleKind
from rookery.rtps.identity import Guid
from rookery.rtps.limits import Limits
from rookery.rtps.locators import Address, AllowedNetworks
from rookery.rtps.qos import Durability, QualityOfService, Reliability, TypeConsistency
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Extensibility,
    Primitive,
)

__all__ = [
    "Address",
    "AllowedNetworks",
    "CdrArray",
    "CdrEnum",
    "CdrMember",
    "CdrSequence",
    "CdrString",
    "CdrStruct",
    "Durability",
    "Extensibility",
    "Guid",
    "Limits",
    "Primitive",
    "QualityOfService",
    "Reliability",
    "SampleKind",
    "TypeConsistency",
]
