"""Little-endian XCDR2, as far as type descriptions need it (DDS-XTypes 7.4.3).

Nothing is aligned to more than four octets. Appendable things, and sequences of anything but primitives, begin with
their length in octets; the members of a mutable thing begin with their id and length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor

__all__ = ["Xcdr2Writer", "delimited", "members"]

#: The length code of a member header that is followed by the length in octets.
_LENGTH_FOLLOWS = 4
#: Length codes whose length is the member's own first word, and what it counts.
_SHARED_LENGTHS = {5: 1, 6: 4, 7: 8}


class Xcdr2Writer:
    """Octets that grow."""

    def __init__(self) -> None:
        self._octets = bytearray()

    def octets(self) -> bytes:
        """Return what has been written."""
        return bytes(self._octets)

    def raw(self, octets: bytes) -> None:
        """Write octets as they are."""
        self._octets += octets

    def number(self, code: str, value: int) -> None:
        """Write an integer of a `struct` code at a multiple of its size."""
        size = struct.calcsize(code)
        self._octets += bytes(-len(self._octets) % size) + struct.pack("<" + code, value)

    def text(self, text: str) -> None:
        """Write a string: its length with the closing NUL, then UTF-8."""
        octets = text.encode("utf-8")
        self.number("I", len(octets) + 1)
        self._octets += octets + b"\0"

    @contextmanager
    def delimited(self) -> Iterator[None]:
        """Put the length of what is written inside before it."""
        self.number("I", 0)
        start = len(self._octets)
        yield
        struct.pack_into("<I", self._octets, start - 4, len(self._octets) - start)

    @contextmanager
    def member(self, number: int) -> Iterator[None]:
        """Put the header of a mutable thing's member before what is written inside."""
        self.number("I", _LENGTH_FOLLOWS << 28 | number)
        with self.delimited():
            yield


def delimited(cursor: Cursor) -> Cursor:
    """Return a cursor over what a length in octets covers, and go behind it."""
    cursor.align(4)
    length = cursor.u32()
    inner = Cursor(cursor.data, little=cursor.little, start=cursor.start, end=cursor.position + length)
    inner.position = cursor.position
    cursor.skip(length)
    return inner


def members(cursor: Cursor) -> Iterator[tuple[int, bool, Cursor]]:
    """Return the members of a mutable thing: id, whether it must be understood, octets; the cursor is of the whole."""
    inner = delimited(cursor)
    while inner.remaining >= 4:
        inner.align(4)
        if inner.remaining < 4:
            return
        header = inner.u32()
        code = header >> 28 & 7
        if code < _LENGTH_FOLLOWS:
            length = 1 << code
        else:
            length = inner.u32()
            if code in _SHARED_LENGTHS:  # the length belongs to the member and is read again there
                length = length * _SHARED_LENGTHS[code] + 4
                inner.position -= 4
        if length > inner.remaining:
            raise WireFormatError(f"a member of {length} octets, {inner.remaining} left")
        part = Cursor(inner.data, little=inner.little, start=inner.start, end=inner.position + length)
        part.position = inner.position
        inner.skip(length)
        yield header & 0x0FFFFFFF, bool(header >> 31), part
