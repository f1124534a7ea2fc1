"""Quality of service on the wire: each policy is one parameter (RTPS 2.5, 9.6.4).

A duration is a signed count of seconds and an unsigned count of 2⁻³² seconds; here it is an integer of microseconds.
Only what differs from the standard's default needs a parameter, but reliability, durability and history are always
written: stacks have been seen to differ about the default of the first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import astuple
from enum import IntEnum
from typing import Any, TypeVar

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.parameters import Parameter, ParameterId, encode_strings
from rookery.rtps.qos import (
    INFINITE,
    STANDARD_CONSISTENCY,
    USER_DATA_BYTES,
    XCDR1,
    DestinationOrder,
    Durability,
    Liveliness,
    Ownership,
    Presentation,
    QualityOfService,
    Reliability,
    TypeConsistency,
)

__all__ = [
    "decode_duration",
    "decode_quality",
    "decode_user_data",
    "encode_duration",
    "encode_quality",
    "encode_user_data",
]

_MAX_BLOCKING = 100_000
_POLICIES = frozenset(
    {
        ParameterId.RELIABILITY,
        ParameterId.DURABILITY,
        ParameterId.HISTORY,
        ParameterId.DEADLINE,
        ParameterId.PARTITION,
        ParameterId.OWNERSHIP,
        ParameterId.OWNERSHIP_STRENGTH,
        ParameterId.LIVELINESS,
        ParameterId.LATENCY_BUDGET,
        ParameterId.DESTINATION_ORDER,
        ParameterId.PRESENTATION,
        ParameterId.DATA_REPRESENTATION,
        ParameterId.LIFESPAN,
        ParameterId.TIME_BASED_FILTER,
        ParameterId.USER_DATA,
        ParameterId.TYPE_CONSISTENCY,
    }
)
_Kind = TypeVar("_Kind", bound=IntEnum)


def encode_duration(microseconds: int, *, little: bool) -> bytes:
    """Return eight octets; `INFINITE` and more become the infinite duration."""
    order = "<iI" if little else ">iI"
    if microseconds >= INFINITE:
        return struct.pack(order, 0x7FFFFFFF, 0xFFFFFFFF)
    seconds, rest = divmod(microseconds, 1_000_000)
    return struct.pack(order, seconds, -(-(rest << 32) // 1_000_000))


def decode_duration(cursor: Cursor) -> int:
    """Read a duration; negative ones are malformed."""
    seconds, fraction = cursor.i32(), cursor.u32()
    if seconds < 0:
        raise WireFormatError(f"a duration of {seconds} seconds")
    if seconds == 0x7FFFFFFF:
        return INFINITE
    return seconds * 1_000_000 + ((fraction * 1_000_000) >> 32)


def encode_user_data(data: bytes, *, little: bool) -> Parameter:
    """Return the parameter with what an owner says of an endpoint or a participant."""
    padding = bytes(-len(data) % 4)
    return Parameter(ParameterId.USER_DATA, struct.pack("<I" if little else ">I", len(data)) + data + padding)


def decode_user_data(cursor: Cursor) -> bytes:
    """Read what an owner says, as much of it as is kept."""
    return cursor.take(cursor.u32())[:USER_DATA_BYTES]


def encode_quality(qos: QualityOfService, *, little: bool) -> list[Parameter]:
    """Return the parameters that say `qos`."""
    word = "<I" if little else ">I"
    order = word[0]
    blocking = encode_duration(_MAX_BLOCKING, little=little)
    keep_all = qos.history_depth is None
    parameters = [
        Parameter(ParameterId.RELIABILITY, struct.pack(word, qos.reliability) + blocking),
        Parameter(ParameterId.DURABILITY, struct.pack(word, qos.durability)),
        Parameter(ParameterId.HISTORY, struct.pack(order + "Ii", int(keep_all), qos.history_depth or -1)),
    ]
    if qos.deadline < INFINITE:
        parameters.append(Parameter(ParameterId.DEADLINE, encode_duration(qos.deadline, little=little)))
    if qos.partitions:
        parameters.append(Parameter(ParameterId.PARTITION, encode_strings(qos.partitions, little=little)))
    if qos.ownership is not Ownership.SHARED:
        parameters.append(Parameter(ParameterId.OWNERSHIP, struct.pack(word, qos.ownership)))
    if qos.ownership_strength:
        strength = struct.pack(order + "i", qos.ownership_strength)
        parameters.append(Parameter(ParameterId.OWNERSHIP_STRENGTH, strength))
    if qos.liveliness is not Liveliness.AUTOMATIC or qos.liveliness_lease < INFINITE:
        lease = encode_duration(qos.liveliness_lease, little=little)
        parameters.append(Parameter(ParameterId.LIVELINESS, struct.pack(word, qos.liveliness) + lease))
    if qos.latency_budget:
        parameters.append(Parameter(ParameterId.LATENCY_BUDGET, encode_duration(qos.latency_budget, little=little)))
    if qos.destination_order is not DestinationOrder.BY_RECEPTION:
        parameters.append(Parameter(ParameterId.DESTINATION_ORDER, struct.pack(word, qos.destination_order)))
    if qos.presentation is not Presentation.INSTANCE or qos.coherent_access or qos.ordered_access:
        octets = struct.pack(order + "I??", qos.presentation, qos.coherent_access, qos.ordered_access)
        parameters.append(Parameter(ParameterId.PRESENTATION, octets))
    if qos.representations != (XCDR1,):
        octets = struct.pack(f"{order}I{len(qos.representations)}h", len(qos.representations), *qos.representations)
        parameters.append(Parameter(ParameterId.DATA_REPRESENTATION, octets))
    if qos.lifespan < INFINITE:
        parameters.append(Parameter(ParameterId.LIFESPAN, encode_duration(qos.lifespan, little=little)))
    if qos.minimum_separation:
        separation = encode_duration(qos.minimum_separation, little=little)
        parameters.append(Parameter(ParameterId.TIME_BASED_FILTER, separation))
    if qos.user_data:
        parameters.append(encode_user_data(qos.user_data, little=little))
    if qos.type_consistency != STANDARD_CONSISTENCY:
        octets = struct.pack(order + "H5?", *astuple(qos.type_consistency))
        parameters.append(Parameter(ParameterId.TYPE_CONSISTENCY, octets))
    return parameters


def _kind(of: type[_Kind], cursor: Cursor) -> _Kind:
    number = cursor.u32()
    try:
        return of(number)
    except ValueError:
        raise WireFormatError(f"{of.__name__.lower()} {number}") from None


def decode_quality(parameters: Iterable[Parameter], *, little: bool, writer: bool) -> QualityOfService:
    """Read the policies among the parameters; a writer that says nothing is reliable, a reader best effort."""
    changes: dict[str, Any] = {"reliability": Reliability.RELIABLE if writer else Reliability.BEST_EFFORT}
    for parameter in parameters:
        if parameter.id not in _POLICIES:
            continue
        cursor = parameter.cursor(little=little)
        match parameter.id:
            case ParameterId.RELIABILITY:
                changes["reliability"] = _kind(Reliability, cursor)
            case ParameterId.DURABILITY:
                changes["durability"] = _kind(Durability, cursor)
            case ParameterId.HISTORY:
                keep_all, depth = cursor.u32(), cursor.i32()
                changes["history_depth"] = None if keep_all else max(depth, 1)
            case ParameterId.DEADLINE:
                changes["deadline"] = decode_duration(cursor)
            case ParameterId.PARTITION:
                changes["partitions"] = _strings(cursor)
            case ParameterId.OWNERSHIP:
                changes["ownership"] = _kind(Ownership, cursor)
            case ParameterId.OWNERSHIP_STRENGTH:
                changes["ownership_strength"] = cursor.i32()
            case ParameterId.LIVELINESS:
                changes["liveliness"] = _kind(Liveliness, cursor)
                changes["liveliness_lease"] = decode_duration(cursor)
            case ParameterId.LATENCY_BUDGET:
                changes["latency_budget"] = decode_duration(cursor)
            case ParameterId.DESTINATION_ORDER:
                changes["destination_order"] = _kind(DestinationOrder, cursor)
            case ParameterId.PRESENTATION:
                changes["presentation"] = _kind(Presentation, cursor)
                coherent, ordered = cursor.take(2)
                changes |= {"coherent_access": bool(coherent), "ordered_access": bool(ordered)}
            case ParameterId.LIFESPAN:
                changes["lifespan"] = decode_duration(cursor)
            case ParameterId.TIME_BASED_FILTER:
                changes["minimum_separation"] = decode_duration(cursor)
            case ParameterId.USER_DATA:
                changes["user_data"] = decode_user_data(cursor)
            case ParameterId.TYPE_CONSISTENCY:
                kind = int(cursor.number("H"))
                if kind > 1:
                    raise WireFormatError(f"type consistency {kind}")
                # Older stacks say the kind alone, or fewer of the others.
                flags = [bool(octet) for octet in cursor.take(min(cursor.remaining, 5))]
                changes["type_consistency"] = TypeConsistency(bool(kind), *flags)
            case ParameterId.DATA_REPRESENTATION:
                count = cursor.u32()
                if count * 2 > cursor.remaining:
                    raise WireFormatError(f"{count} data representations claimed, {cursor.remaining} octets left")
                changes["representations"] = tuple(int(cursor.number("h")) for _ in range(count)) or (XCDR1,)
    return QualityOfService(**changes)


def _strings(cursor: Cursor) -> tuple[str, ...]:
    count = cursor.u32()
    if count * 4 > cursor.remaining:
        raise WireFormatError(f"{count} strings claimed, {cursor.remaining} octets left")
    strings = []
    for _ in range(count):
        cursor.align(4)
        strings.append(cursor.string())
    return tuple(strings)
