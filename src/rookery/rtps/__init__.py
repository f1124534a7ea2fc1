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
from rookery.rtps.qos import Durability, QualityOfService, Reliability
from rookery.rtps.types import (
    ArrayType,
    EnumType,
    Field,
    Primitive,
    SequenceType,
    StringType,
    StructType,
)

__all__ = [
    "Address",
    "AllowedNetworks",
    "ArrayType",
    "Durability",
    "EnumType",
    "Field",
    "Guid",
    "Limits",
    "Primitive",
    "QualityOfService",
    "Reliability",
    "SampleKind",
    "SequenceType",
    "StringType",
    "StructType",
]
