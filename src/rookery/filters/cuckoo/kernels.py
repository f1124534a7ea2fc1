"""Cuckoo table kernels (spec 2.1): insertion with atomic failure, probing, and the run-length code both ways (2.3).

A table is 2m slots of `width` bits in an array of 16-bit numbers, slot = flag bit | fingerprint, 0 = empty; the owner's
shadow array holds the 64-bit hash behind every slot. The plain twin is `tests.twins.cuckoo`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.hashing.kernels import BLOCK, fmix64, hash_block, prefetch
from rookery.kernels import kernel

__all__ = ["MAXIMAL_KICKS", "contains_strings", "decode_runs", "encode_runs", "find_slot", "insert_hashes"]

MAXIMAL_KICKS = 500

_0, _1, _2, _7, _13, _17, _64 = (np.uint64(n) for n in (0, 1, 2, 7, 13, 17, 64))


@kernel
def _tag(value: np.uint64, width: int) -> np.uint64:
    return (_1 << np.uint64(width - 1)) | (value >> (_64 - np.uint64(width - 1)))


@kernel
def _offset(tag: np.uint64, width: int, mask: np.uint64) -> np.uint64:
    fingerprint = tag & ((_1 << np.uint64(width - 1)) - _1)
    return max(_1, fmix64(fingerprint + _1) & mask)


@kernel
def _place(
    slots: NDArray[np.uint16], shadow: NDArray[np.uint64], bucket: np.uint64, tag: np.uint64, value: np.uint64
) -> bool:
    for slot in (_2 * bucket, _2 * bucket + _1):
        if slots[slot] == 0:
            slots[slot] = tag
            shadow[slot] = value
            return True
    return False


@kernel
def _insert(
    slots: NDArray[np.uint16],
    shadow: NDArray[np.uint64],
    generator: NDArray[np.uint64],
    value: np.uint64,
    width: int,
    path: NDArray[np.uint64],
) -> bool:
    mask = np.uint64(slots.size // 2 - 1)
    tag = _tag(value, width)
    bucket = value & mask
    if _place(slots, shadow, bucket, tag, value):
        return True
    bucket ^= _offset(tag, width, mask)
    if _place(slots, shadow, bucket, tag, value):
        return True
    state = generator[0]
    for kick in range(MAXIMAL_KICKS):
        state ^= state << _13
        state ^= state >> _7
        state ^= state << _17
        slot = _2 * bucket + (state & _1)
        path[kick] = slot
        tag, slots[slot] = np.uint64(slots[slot]), tag
        value, shadow[slot] = shadow[slot], value
        bucket ^= _offset(tag, width, mask)
        if _place(slots, shadow, bucket, tag, value):
            generator[0] = state
            return True
    for kick in range(MAXIMAL_KICKS - 1, -1, -1):  # failure is atomic: walk the path back
        slot = path[kick]
        tag, slots[slot] = np.uint64(slots[slot]), tag
        value, shadow[slot] = shadow[slot], value
    return False


@kernel
def insert_hashes(
    slots: NDArray[np.uint16],
    shadow: NDArray[np.uint64],
    generator: NDArray[np.uint64],
    hashes: NDArray[np.uint64],
    width: int,
) -> int:
    """Insert hashes in order; return how many went in before the first failure."""
    path = np.empty(MAXIMAL_KICKS, dtype=np.uint64)
    for index in range(hashes.size):
        if not _insert(slots, shadow, generator, hashes[index], width, path):
            return index
    return int(hashes.size)


@kernel
def find_slot(slots: NDArray[np.uint16], shadow: NDArray[np.uint64], value: np.uint64, width: int) -> np.int64:
    """Return the slot whose shadow hash equals `value`, or −1."""
    mask = np.uint64(slots.size // 2 - 1)
    tag = _tag(value, width)
    bucket = value & mask
    for candidate in (bucket, bucket ^ _offset(tag, width, mask)):
        for slot in (_2 * candidate, _2 * candidate + _1):
            if slots[slot] != 0 and shadow[slot] == value:
                return np.int64(slot)
    return np.int64(-1)


@kernel
def contains_strings(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    secret: NDArray[np.uint8],
    salt: np.uint64,
    slots: NDArray[np.uint16],
    width: int,
    found: NDArray[np.bool_],
) -> None:
    """Or into `found` whether each key of an Arrow string array has its fingerprint in one of its two buckets."""
    hashes = np.empty(BLOCK, dtype=np.uint64)
    seconds = np.empty(BLOCK, dtype=np.uint64)
    count, mask = offsets.size - 1, np.uint64(slots.size // 2 - 1)
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        hash_block(offsets, data, first, last, secret, salt, hashes)
        for key in range(np.uint64(last - first)):
            value = hashes[key]
            bucket = value & mask
            seconds[key] = bucket ^ _offset(_tag(value, width), width, mask)
            prefetch(slots, int(_2 * bucket))
            prefetch(slots, int(_2 * seconds[key]))
        for key in range(np.uint64(last - first)):
            tag = np.uint16(_tag(hashes[key], width))
            one, two = _2 * (hashes[key] & mask), _2 * seconds[key]
            hit = (slots[one] == tag) | (slots[one + _1] == tag) | (slots[two] == tag) | (slots[two + _1] == tag)
            found[np.uint64(first) + key] |= hit


@kernel
def encode_runs(slots: NDArray[np.uint16], width: int, out: NDArray[np.uint8]) -> int:
    """Write the run-length code of `slots` into the zeroed `out`, MSB first; return its bits."""
    bits, slot = 0, 0
    while slot < slots.size:
        tag = np.uint64(slots[slot])
        if tag != _0:
            copies = 2 if slot + 1 < slots.size and slots[slot + 1] == slots[slot] else 1
            code, length = (tag << _1) | np.uint64(copies - 1), width + 1
        else:
            copies = 1
            while copies < 8 and slot + copies < slots.size and slots[slot + copies] == 0:
                copies += 1
            code, length = np.uint64(copies - 1), 4
        for place in range(length - 1, -1, -1):
            if code >> np.uint64(place) & _1:
                out[bits >> 3] |= np.uint8(0x80 >> (bits & 7))
            bits += 1
        slot += copies
    return bits


@kernel
def _read_bits(data: NDArray[np.uint8], at: int, length: int) -> int:
    value = 0
    for place in range(at, at + length):
        value = value << 1 | (int(data[place >> 3]) >> (7 - (place & 7))) & 1
    return value


@kernel
def decode_runs(data: NDArray[np.uint8], bit_count: int, width: int, slots: NDArray[np.uint16]) -> int:
    """Fill `slots` from the first `bit_count` bits of `data`; return 0, or 1 truncated, 2 overrun, 3 trailing bits."""
    at, slot = 0, 0
    while slot < slots.size:
        if at >= bit_count:
            return 1
        occupied = _read_bits(data, at, 1)
        length = width + 1 if occupied else 4
        if at + length > bit_count:
            return 1
        code = _read_bits(data, at, length)
        at += length
        copies = 1 + (code & 1 if occupied else code & 7)
        if slot + copies > slots.size:
            return 2
        for _ in range(copies):
            slots[slot] = code >> 1 if occupied else 0
            slot += 1
    return 0 if at == bit_count else 3
