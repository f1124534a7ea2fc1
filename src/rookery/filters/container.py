"""The one container for every summary (spec 2.8): the bytes that a participant announces.

All integers are little-endian. Ribbon (0xD1), Golomb set (0xD2) and Bloom (0xD3) share the first twelve bytes:

    offset  size  field
    0       1     magic
    1       1     version, 1
    2       1     flags: bit 0 observer, bit 1 keyed; other bits belong to the structure
    3       1     one small parameter of the structure
    4       4     epoch
    8       4     seed

and go on with parameters that each structure's module lays out. The compressed cuckoo filter (0xCF, spec 2.5) and the
dynamic Bloom counting tree (0xDB, spec 1.7) keep their own headers.

An **observer** matches everything. It says so with a flag and no payload; a filter whose bits are (nearly) all ones is
no observer but a fault or an attack, and is rejected by the fill cap.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters.hashing import DomainKey, KeyHasher

__all__ = [
    "BLOOM",
    "CUCKOO",
    "FILL_CAP",
    "GOLOMB",
    "KEYED",
    "OBSERVER",
    "RIBBON",
    "TREE",
    "VERSION",
    "Prefix",
    "check_fill",
    "hasher_for",
    "is_newer",
    "keyed_flag",
    "read_prefix",
    "write_prefix",
]

CUCKOO, RIBBON, GOLOMB, BLOOM, TREE = 0xCF, 0xD1, 0xD2, 0xD3, 0xDB
VERSION = 1
OBSERVER, KEYED = 0x01, 0x02

#: A Bloom filter works at half its bits set. Beyond three quarters it tells little and can be made to match anything.
FILL_CAP = 0.75

_PREFIX = struct.Struct("<BBBBII")


class Prefix(NamedTuple):
    """The twelve bytes that ribbon, Golomb set and Bloom share."""

    flags: int
    parameter: int
    epoch: int
    hasher: KeyHasher


def write_prefix(*, magic: int, flags: int, parameter: int, epoch: int, hasher: KeyHasher) -> bytes:
    """Return the shared twelve bytes; the keyed flag follows from the hasher."""
    return _PREFIX.pack(magic, VERSION, flags | keyed_flag(hasher), parameter, epoch & 0xFFFFFFFF, hasher.seed)


def read_prefix(data: bytes, *, magic: int, size: int, allowed: int, domain_key: DomainKey | None) -> Prefix:
    """Read the shared twelve bytes of a header of `size` bytes, refusing flags beyond `allowed`."""
    if len(data) < size:
        raise FilterError(f"truncated: {len(data)} bytes, the header has {size}")
    found, version, flags, parameter, epoch, seed = _PREFIX.unpack_from(data)
    if found != magic or version != VERSION:
        raise FilterError(f"bad header: magic {found:#04x} version {version}, expected {magic:#04x} version {VERSION}")
    if flags & ~(allowed | KEYED):
        raise FilterError(f"bad header: unknown flags {flags:#04x}")
    return Prefix(flags, parameter, epoch, hasher_for(flags, seed, domain_key))


def keyed_flag(hasher: KeyHasher) -> int:
    """Return the keyed bit of a filter's flags."""
    return 0 if hasher.domain_key is None else KEYED


def hasher_for(flags: int, seed: int, domain_key: DomainKey | None) -> KeyHasher:
    """Return the hash function that a container names; a keyed one needs the domain's key."""
    if not flags & KEYED:
        return KeyHasher(seed=seed)
    if domain_key is None:
        raise FilterError("this filter is keyed; give the domain_key of its domain")
    return KeyHasher(seed=seed, domain_key=domain_key)


def is_newer(epoch: int, than: int) -> bool:
    """Return whether one epoch follows another, by the arithmetic of serial numbers: they wrap.

    A summary is a whole snapshot, so what is not newer is dropped and a lost one is harmless (spec 2.5).
    """
    return 0 < (epoch - than) & 0xFFFFFFFF < 1 << 31


def check_fill(bits: NDArray[np.uint8], bit_count: int) -> int:
    """Return the ones in `bits`, or refuse a filter over its fill cap."""
    ones = int(np.bitwise_count(bits).sum())
    if ones > FILL_CAP * bit_count:
        raise FilterError(f"over the fill cap: {ones} of {bit_count} bits are set, at most {FILL_CAP:.0%} may be")
    return ones
