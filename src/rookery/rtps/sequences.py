"""Sets of sequence numbers, as ACKNACK, GAP and NACK_FRAG carry them: a base and a bitmap of at most 256 bits.

On the wire the first number of the bitmap is the most significant bit of the first 32-bit word (RTPS 2.5, 9.4.2.6). In
memory bit i (value 1 << i) stands for `base + i`, so membership is one shift.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor

__all__ = ["MAX_SEQUENCE_NUMBER", "SET_BITS", "NumberSet"]

SET_BITS = 256
MAX_SEQUENCE_NUMBER = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class NumberSet:
    """The numbers `base + i` for each bit i of `bits`; `length` says how many bits are meaningful."""

    base: int
    length: int = 0
    bits: int = 0

    @classmethod
    def of(cls, numbers: Iterable[int], *, base: int) -> NumberSet:
        """Return the set of those `numbers` that lie in the window of 256 from `base`."""
        bits = 0
        for number in numbers:
            if 0 <= number - base < SET_BITS:
                bits |= 1 << (number - base)
        return cls(base, bits.bit_length(), bits)

    def __iter__(self) -> Iterator[int]:
        bits = self.bits
        while bits:
            lowest = bits & -bits
            yield self.base + lowest.bit_length() - 1
            bits ^= lowest

    def encode(self, *, little: bool, wide: bool = True) -> bytes:
        """Return the octets; `wide` for sequence numbers (64 bits), else fragment numbers (32 bits)."""
        order = "<" if little else ">"
        words = (self.length + 31) // 32
        swapped = int(f"{self.bits:0{32 * words}b}"[::-1], 2) if words else 0
        bitmap = [(swapped >> (32 * (words - 1 - i))) & 0xFFFFFFFF for i in range(words)]
        if wide:
            head = struct.pack(order + "iI", self.base >> 32, self.base & 0xFFFFFFFF)
        else:
            head = struct.pack(order + "I", self.base)
        return head + struct.pack(f"{order}I{words}I", self.length, *bitmap)

    @classmethod
    def decode(cls, cursor: Cursor, *, wide: bool = True) -> NumberSet:
        """Read a set; more than 256 bits is malformed."""
        base = cursor.sequence_number() if wide else cursor.u32()
        length = cursor.u32()
        if length > SET_BITS:
            raise WireFormatError(f"a set of {length} bits; the limit is {SET_BITS}")
        if base < 0 or base + length > MAX_SEQUENCE_NUMBER:
            raise WireFormatError(f"a set that begins at {base}")
        bits = 0
        for word in range((length + 31) // 32):
            value = cursor.u32()
            bits |= int(f"{value:032b}"[::-1], 2) << (32 * word)
        return cls(base, length, bits & ((1 << length) - 1))
