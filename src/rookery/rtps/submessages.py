"""The submessages of RTPS: what each one holds, how it is written, how it is read.

A submessage is an id, flags (bit 0 is the byte order of everything that follows in it), a length, and a body (RTPS
2.5, 9.4). The classes here are the bodies as values; `encode` gives header and body, in either byte order, and
`DECODERS` reads a body back. Decoders check what can be checked without knowing any state: a heartbeat whose last
number lies two below its first, a set of more than 256 bits or a fragment of size zero is malformed, whoever sent it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from rookery.errors import WireFormatError
from rookery.rtps.identity import PREFIX_LENGTH
from rookery.rtps.octets import Cursor
from rookery.rtps.parameters import Parameter, encode_list, read_inline_list
from rookery.rtps.sequences import MAX_SEQUENCE_NUMBER, NumberSet

__all__ = [
    "DECODERS",
    "AckNack",
    "Data",
    "DataFragment",
    "Gap",
    "Heartbeat",
    "HeartbeatFragment",
    "InfoTimestamp",
    "NackFragment",
    "Pad",
    "SourceChange",
    "Submessage",
    "ToParticipant",
    "encode_sample_data",
]

PAD: Final = 0x01
ACKNACK: Final = 0x06
HEARTBEAT: Final = 0x07
GAP: Final = 0x08
INFO_TS: Final = 0x09
INFO_SRC: Final = 0x0C
INFO_DST: Final = 0x0E
NACK_FRAG: Final = 0x12
HEARTBEAT_FRAG: Final = 0x13
DATA: Final = 0x15
DATA_FRAG: Final = 0x16

_LITTLE: Final = 0x01


class Submessage(Protocol):
    """Anything that can stand in an RTPS message."""

    def encode(self, *, little: bool = True) -> bytes:
        """Return header and body."""
        ...


def _framed(identity: int, flags: int, body: bytes, little: bool) -> bytes:
    # A length of zero means "to the end of the message", which is the one way to say a body of 64 KiB or more.
    length = len(body) if len(body) < 0x10000 else 0
    return struct.pack("<BBH" if little else ">BBH", identity, flags | (_LITTLE if little else 0), length) + body


def _pair(reader: int, writer: int) -> bytes:
    return struct.pack(">II", reader, writer)


def _sequence(number: int, little: bool) -> bytes:
    return struct.pack("<iI" if little else ">iI", number >> 32, number & 0xFFFFFFFF)


def _positive(number: int, what: str) -> int:
    if not 1 <= number <= MAX_SEQUENCE_NUMBER:
        raise WireFormatError(f"{what} {number}")
    return number


class Pad(msgspec.Struct, frozen=True, gc=False):
    """Octets that mean nothing."""

    def encode(self, *, little: bool = True) -> bytes:
        return _framed(PAD, 0, b"", little)


class InfoTimestamp(msgspec.Struct, frozen=True, gc=False):
    """INFO_TS: when the following data were written, in microseconds since 1970; None takes it back."""

    microseconds: int | None

    def encode(self, *, little: bool = True) -> bytes:
        if self.microseconds is None:
            return _framed(INFO_TS, 0x02, b"", little)
        seconds, rest = divmod(self.microseconds, 1_000_000)
        # Rounded up, so that reading it back (rounded down) gives the same microsecond.
        fraction = -(-(rest << 32) // 1_000_000)
        return _framed(INFO_TS, 0, struct.pack("<II" if little else ">II", seconds & 0xFFFFFFFF, fraction), little)


class ToParticipant(msgspec.Struct, frozen=True, gc=False):
    """INFO_DST: the following submessages are for this participant alone; zeros mean everyone."""

    prefix: bytes

    def encode(self, *, little: bool = True) -> bytes:
        return _framed(INFO_DST, 0, self.prefix, little)


class SourceChange(msgspec.Struct, frozen=True, gc=False):
    """INFO_SRC: the following submessages come from another participant (a bridge speaks for it)."""

    version: tuple[int, int]
    vendor: bytes
    prefix: bytes

    def encode(self, *, little: bool = True) -> bytes:
        return _framed(INFO_SRC, 0, bytes(4) + bytes(self.version) + self.vendor + self.prefix, little)


class Data(msgspec.Struct, frozen=True, gc=False):
    """DATA: one sample, or only its key (`key_only`), or nothing but inline QoS (`payload` None)."""

    reader: int
    writer: int
    sequence: int
    payload: bytes | None
    key_only: bool = False
    inline: tuple[Parameter, ...] = ()

    def encode(self, *, little: bool = True) -> bytes:
        order = "<HH" if little else ">HH"
        inline = encode_list(self.inline, little=little) if self.inline else b""
        flags = 0x02 if self.inline else 0
        if self.payload is not None:
            flags |= 0x08 if self.key_only else 0x04
        head = struct.pack(order, 0, 16) + _pair(self.reader, self.writer) + _sequence(self.sequence, little)
        return _framed(DATA, flags, head + inline + (self.payload or b""), little)


_SAMPLE_HEAD = struct.Struct("<BBHHH8siI")


def encode_sample_data(entities: bytes, sequence: int, payload: bytes) -> bytes:
    """Return DATA of a sample without inline QoS, little-endian, as `Data.encode` gives it; `entities` are the eight
    octets of the reader's and the writer's ids.
    """
    length = 20 + len(payload)
    if length >= 0x10000:
        length = 0
    head = _SAMPLE_HEAD.pack(DATA, 0x05, length, 0, 16, entities, sequence >> 32, sequence & 0xFFFFFFFF)
    return head + payload


class DataFragment(msgspec.Struct, frozen=True, gc=False):
    """DATA_FRAG: `count` fragments of one sample, from fragment number `first` on (numbers begin at 1)."""

    reader: int
    writer: int
    sequence: int
    first: int
    count: int
    fragment_size: int
    sample_size: int
    payload: bytes
    key_only: bool = False
    inline: tuple[Parameter, ...] = ()

    def encode(self, *, little: bool = True) -> bytes:
        order = "<" if little else ">"
        inline = encode_list(self.inline, little=little) if self.inline else b""
        flags = (0x02 if self.inline else 0) | (0x04 if self.key_only else 0)
        head = struct.pack(order + "HH", 0, 28) + _pair(self.reader, self.writer) + _sequence(self.sequence, little)
        head += struct.pack(order + "IHHI", self.first, self.count, self.fragment_size, self.sample_size)
        return _framed(DATA_FRAG, flags, head + inline + self.payload, little)


class Heartbeat(msgspec.Struct, frozen=True, gc=False):
    """HEARTBEAT: the writer has `first` to `last` to give; `final` means that no answer is needed.

    With `liveliness` the writer's program says that it is alive.
    """

    reader: int
    writer: int
    first: int
    last: int
    count: int
    final: bool = False
    liveliness: bool = False

    def encode(self, *, little: bool = True) -> bytes:
        body = _pair(self.reader, self.writer) + _sequence(self.first, little) + _sequence(self.last, little)
        body += struct.pack("<I" if little else ">I", self.count & 0xFFFFFFFF)
        flags = (0x02 if self.final else 0) | (0x04 if self.liveliness else 0)
        return _framed(HEARTBEAT, flags, body, little)


class HeartbeatFragment(msgspec.Struct, frozen=True, gc=False):
    """HEARTBEAT_FRAG: of sample `sequence` the writer has the fragments up to `last`."""

    reader: int
    writer: int
    sequence: int
    last: int
    count: int

    def encode(self, *, little: bool = True) -> bytes:
        body = _pair(self.reader, self.writer) + _sequence(self.sequence, little)
        return _framed(HEARTBEAT_FRAG, 0, body + struct.pack("<II" if little else ">II", self.last, self.count), little)


class AckNack(msgspec.Struct, frozen=True, gc=False):
    """ACKNACK: everything below `missing.base` has arrived, and the members of `missing` are asked for."""

    reader: int
    writer: int
    missing: NumberSet
    count: int
    final: bool = False

    def encode(self, *, little: bool = True) -> bytes:
        body = _pair(self.reader, self.writer) + self.missing.encode(little=little)
        body += struct.pack("<I" if little else ">I", self.count & 0xFFFFFFFF)
        return _framed(ACKNACK, 0x02 if self.final else 0, body, little)


class NackFragment(msgspec.Struct, frozen=True, gc=False):
    """NACK_FRAG: of sample `sequence` these fragments are asked for."""

    reader: int
    writer: int
    sequence: int
    missing: NumberSet
    count: int

    def encode(self, *, little: bool = True) -> bytes:
        body = _pair(self.reader, self.writer) + _sequence(self.sequence, little)
        body += self.missing.encode(little=little, wide=False)
        body += struct.pack("<I" if little else ">I", self.count & 0xFFFFFFFF)
        return _framed(NACK_FRAG, 0, body, little)


class Gap(msgspec.Struct, frozen=True, gc=False):
    """GAP: `start` up to (not including) `rest.base`, and the members of `rest`, will never come."""

    reader: int
    writer: int
    start: int
    rest: NumberSet

    def encode(self, *, little: bool = True) -> bytes:
        body = _pair(self.reader, self.writer) + _sequence(self.start, little) + self.rest.encode(little=little)
        return _framed(GAP, 0, body, little)


def _decode_timestamp(cursor: Cursor, flags: int) -> InfoTimestamp:
    if flags & 0x02:
        return InfoTimestamp(None)
    seconds, fraction = cursor.u32(), cursor.u32()
    return InfoTimestamp(seconds * 1_000_000 + ((fraction * 1_000_000) >> 32))


def _decode_destination(cursor: Cursor, flags: int) -> ToParticipant:
    return ToParticipant(cursor.take(PREFIX_LENGTH))


def _decode_source(cursor: Cursor, flags: int) -> SourceChange:
    cursor.skip(4)
    major, minor = cursor.take(2)
    return SourceChange((major, minor), cursor.take(2), cursor.take(PREFIX_LENGTH))


def _inline(cursor: Cursor, flags: int, after_offset: int, offset: int) -> tuple[Parameter, ...]:
    # The offset lets a later minor version put fields before the inline QoS (RTPS 2.5, 9.4.5.3.3).
    cursor.skip(after_offset + offset - cursor.position)
    return tuple(read_inline_list(cursor)) if flags & 0x02 else ()


def _decode_data(cursor: Cursor, flags: int) -> Data:
    cursor.skip(2)
    offset = cursor.u16()
    after_offset = cursor.position
    reader, writer = cursor.entity(), cursor.entity()
    sequence = _positive(cursor.sequence_number(), "a sample with sequence number")
    inline = _inline(cursor, flags, after_offset, offset)
    if flags & 0x0C == 0x0C:
        raise WireFormatError("DATA that says it holds both a sample and a key")
    payload = cursor.take(cursor.remaining) if flags & 0x0C else None
    return Data(reader, writer, sequence, payload, bool(flags & 0x08), inline)


def _decode_data_fragment(cursor: Cursor, flags: int) -> DataFragment:
    cursor.skip(2)
    offset = cursor.u16()
    after_offset = cursor.position
    reader, writer = cursor.entity(), cursor.entity()
    sequence = _positive(cursor.sequence_number(), "a sample with sequence number")
    first, count, size, sample_size = cursor.u32(), cursor.u16(), cursor.u16(), cursor.u32()
    inline = _inline(cursor, flags, after_offset, offset)
    if first < 1 or count < 1 or size < 1 or (first - 1) * size >= sample_size:
        raise WireFormatError(f"{count} fragments of {size} octets from {first} on, in a sample of {sample_size}")
    expected = min(count * size, sample_size - (first - 1) * size)
    # The last fragment may be followed by padding to a multiple of four.
    payload = cursor.take(expected)
    return DataFragment(reader, writer, sequence, first, count, size, sample_size, payload, bool(flags & 0x04), inline)


def _decode_heartbeat(cursor: Cursor, flags: int) -> Heartbeat:
    reader, writer = cursor.entity(), cursor.entity()
    first, last = cursor.sequence_number(), cursor.sequence_number()
    _positive(first, "a heartbeat from")
    if last < first - 1:
        raise WireFormatError(f"a heartbeat from {first} to {last}")
    return Heartbeat(reader, writer, first, last, cursor.u32(), bool(flags & 0x02), bool(flags & 0x04))


def _decode_heartbeat_fragment(cursor: Cursor, flags: int) -> HeartbeatFragment:
    reader, writer = cursor.entity(), cursor.entity()
    sequence = _positive(cursor.sequence_number(), "a fragment heartbeat of")
    return HeartbeatFragment(reader, writer, sequence, cursor.u32(), cursor.u32())


def _decode_acknack(cursor: Cursor, flags: int) -> AckNack:
    reader, writer = cursor.entity(), cursor.entity()
    return AckNack(reader, writer, NumberSet.decode(cursor), cursor.u32(), bool(flags & 0x02))


def _decode_nack_fragment(cursor: Cursor, flags: int) -> NackFragment:
    reader, writer = cursor.entity(), cursor.entity()
    sequence = _positive(cursor.sequence_number(), "a fragment request of")
    return NackFragment(reader, writer, sequence, NumberSet.decode(cursor, wide=False), cursor.u32())


def _decode_gap(cursor: Cursor, flags: int) -> Gap:
    reader, writer = cursor.entity(), cursor.entity()
    start = _positive(cursor.sequence_number(), "a gap from")
    rest = NumberSet.decode(cursor)
    if rest.base < start:
        raise WireFormatError(f"a gap from {start} to {rest.base}")
    return Gap(reader, writer, start, rest)


DECODERS: Final[dict[int, Callable[[Cursor, int], Submessage]]] = {
    PAD: lambda cursor, flags: Pad(),
    ACKNACK: _decode_acknack,
    HEARTBEAT: _decode_heartbeat,
    GAP: _decode_gap,
    INFO_TS: _decode_timestamp,
    INFO_SRC: _decode_source,
    INFO_DST: _decode_destination,
    NACK_FRAG: _decode_nack_fragment,
    HEARTBEAT_FRAG: _decode_heartbeat_fragment,
    DATA: _decode_data,
    DATA_FRAG: _decode_data_fragment,
}
