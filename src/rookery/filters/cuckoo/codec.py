"""The compressed cuckoo filter on the wire (seed 001; spec 2.3, 2.5, 2.8).

    header    <B 0xCF, B version 1, B filters 1|2, B flags (bit 1 keyed), I epoch, I seed>
    filter    <B log2 buckets, B encoding 0 raw | 1 run-length, H slot bits, I payload bits> payload, zero padding

Slot bits 0 means 8, the patent's; otherwise 9 … 16, flag included. Run-length: an occupied slot is `1 f…f r`, with
r = copies − 1; a run of one to eight empties is `0 nnn`. Raw is sent when the run-length code is not strictly smaller.
A decoder reads at most what the payload can fill: a table of 2m slots needs at least m bits of code, so the length of
the message bounds the memory.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters.container import CUCKOO, KEYED, VERSION, hasher_for, keyed_flag
from rookery.filters.cuckoo import kernels
from rookery.filters.cuckoo.plain import boustrophedon
from rookery.filters.cuckoo.table import MAXIMAL_LOG2_BUCKETS, CuckooTable
from rookery.filters.hashing import DomainKey, KeyHasher

__all__ = ["HEADER_BYTES", "SECTION_BYTES", "decode", "decode_slots", "encode", "encode_slots"]

_HEADER = struct.Struct("<BBBBII")
_SECTION = struct.Struct("<BBHI")
HEADER_BYTES, SECTION_BYTES = _HEADER.size, _SECTION.size
_RAW, _RUNS = 0, 1
_FAULTS = ("", "truncated", "run passes end of table", "trailing bits")


def encode_slots(slots: NDArray[np.uint16], width: int) -> tuple[int, int, bytes]:
    """Return (encoding, bits, payload) of one table, raw unless the run-length code is strictly smaller."""
    out = np.zeros((slots.size * (width + 1) + 7) // 8, dtype=np.uint8)
    bits = int(kernels.encode_runs(slots, width, out))
    raw_bits = slots.size * width
    if (bits + 7) // 8 < (raw_bits + 7) // 8:
        return _RUNS, bits, out[: (bits + 7) // 8].tobytes()
    if width == 8:
        return _RAW, raw_bits, slots.astype(np.uint8).tobytes()
    places = np.arange(width - 1, -1, -1, dtype=np.uint16)
    return _RAW, raw_bits, np.packbits((slots[:, None] >> places & 1).astype(np.uint8)).tobytes()


def decode_slots(payload: bytes, *, encoding: int, bit_count: int, slot_count: int, width: int) -> NDArray[np.uint16]:
    """Return the slots of one table; `payload` is exactly the bytes of `bit_count` bits."""
    data = np.frombuffer(payload, dtype=np.uint8)
    if bit_count & 7 and payload[-1] & 0xFF >> (bit_count & 7):
        raise FilterError("non-zero padding")
    if encoding == _RUNS:
        if bit_count < 4 * ((slot_count + 7) // 8):
            raise FilterError("truncated: too few bits for this many slots")
        slots = np.empty(slot_count, dtype=np.uint16)
        fault = int(kernels.decode_runs(data, bit_count, width, slots))
        if fault:
            raise FilterError(_FAULTS[fault])
        return slots
    if bit_count != slot_count * width:
        raise FilterError(f"bad section: {bit_count} raw bits for {slot_count} slots of {width}")
    if width == 8:
        slots = data.astype(np.uint16)
    else:
        places = np.unpackbits(data)[:bit_count].reshape(slot_count, width).astype(np.uint16)
        slots = (places << np.arange(width - 1, -1, -1, dtype=np.uint16)).sum(axis=1, dtype=np.uint16)
    if np.any((slots != 0) & (slots < 1 << (width - 1))):
        raise FilterError("bad section: a slot without its flag")
    return slots


def encode(tables: list[CuckooTable], *, hasher: KeyHasher, epoch: int, alternate: bool) -> bytes:
    """Encode one or two tables, the newer first; `alternate` orders the slots of a bucket for longer runs."""
    parts = [_HEADER.pack(CUCKOO, VERSION, len(tables), keyed_flag(hasher), epoch & 0xFFFFFFFF, hasher.seed)]
    for table in tables:
        encoding, bits, payload = encode_slots(boustrophedon(table.slots) if alternate else table.slots, table.width)
        parts.append(_SECTION.pack(table.log2_buckets, encoding, 0 if table.width == 8 else table.width, bits))
        parts.append(payload)
    return b"".join(parts)


def decode(data: bytes, *, domain_key: DomainKey | None) -> tuple[list[CuckooTable], KeyHasher, int]:
    """Return the tables (newer first), the hash function and the epoch of a container."""
    if len(data) < HEADER_BYTES:
        raise FilterError(f"truncated: {len(data)} bytes, the header has {HEADER_BYTES}")
    magic, version, filters, flags, epoch, seed = _HEADER.unpack_from(data)
    if magic != CUCKOO or version != VERSION or filters not in (1, 2) or flags & ~KEYED:
        raise FilterError(f"bad header: magic {magic:#04x} version {version} filters {filters} flags {flags:#04x}")
    hasher, at, tables = hasher_for(flags, seed, domain_key), HEADER_BYTES, []
    for _ in range(filters):
        if len(data) < at + SECTION_BYTES:
            raise FilterError("truncated: no room for a filter")
        log2_buckets, encoding, width, bits = _SECTION.unpack_from(data, at)
        if not 1 <= log2_buckets <= MAXIMAL_LOG2_BUCKETS or encoding > _RUNS or (width and not 9 <= width <= 16):
            raise FilterError(f"bad section: log2 {log2_buckets}, encoding {encoding}, slot bits {width}")
        at += SECTION_BYTES
        end = at + (bits + 7) // 8
        if end > len(data):
            raise FilterError(f"truncated: the payload ends at byte {end} of {len(data)}")
        slots = decode_slots(
            data[at:end], encoding=encoding, bit_count=bits, slot_count=2 << log2_buckets, width=width or 8
        )
        tables.append(CuckooTable.received(slots, log2_buckets=log2_buckets, width=width or 8))
        at = end
    if at != len(data):
        raise FilterError(f"trailing bytes: {len(data) - at}")
    return tables, hasher, epoch
