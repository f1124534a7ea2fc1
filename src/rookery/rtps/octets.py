"""Reading octets that somebody else wrote: every step is checked, and a step too far is a `WireFormatError`.

All decoders of this package (messages, parameter lists, CDR values) read through one `Cursor`, so the question "can
this read past the end?" is answered in one place. The cursor never copies more than it is asked for and never
allocates by a length that the octets claim before it has seen that many of them.
"""

from __future__ import annotations

import struct

from rookery.errors import WireFormatError

__all__ = ["Cursor"]

_INTEGERS = {
    little: {
        code: struct.Struct(("<" if little else ">") + code)
        for code in ("b", "B", "h", "H", "i", "I", "q", "Q", "f", "d")
    }
    for little in (False, True)
}


class Cursor:
    """A position in octets of one byte order."""

    __slots__ = ("_structs", "data", "end", "little", "position", "start")

    def __init__(self, data: bytes, *, little: bool, start: int = 0, end: int | None = None) -> None:
        self.data = data
        self.little = little
        self.start = start
        self.position = start
        self.end = len(data) if end is None else end
        self._structs = _INTEGERS[little]

    @property
    def remaining(self) -> int:
        """Octets not read yet."""
        return self.end - self.position

    def number(self, code: str) -> int | float:
        """Read one number of the given `struct` code, without alignment."""
        layout = self._structs[code]
        position = self.position
        after = position + layout.size
        if after > self.end:
            raise WireFormatError(f"{layout.size} octets expected, {self.end - position} left")
        self.position = after
        value: int | float = layout.unpack_from(self.data, position)[0]
        return value

    def u16(self) -> int:
        """Read an unsigned integer of 16 bits."""
        return int(self.number("H"))

    def u32(self) -> int:
        """Read an unsigned integer of 32 bits."""
        return int(self.number("I"))

    def i32(self) -> int:
        """Read a signed integer of 32 bits."""
        return int(self.number("i"))

    def entity(self) -> int:
        """Read an entity id, which has no byte order."""
        return int.from_bytes(self.take(4), "big")

    def sequence_number(self) -> int:
        """Read a sequence number: a signed high half, then an unsigned low half (RTPS 2.5, 9.3.2)."""
        return (self.i32() << 32) | self.u32()

    def take(self, count: int) -> bytes:
        """Read `count` octets as they are."""
        after = self.position + count
        if count < 0 or after > self.end:
            raise WireFormatError(f"{count} octets expected, {self.end - self.position} left")
        taken = self.data[self.position : after]
        self.position = after
        return taken

    def skip(self, count: int) -> None:
        """Leave `count` octets out."""
        if count < 0 or self.position + count > self.end:
            raise WireFormatError(f"{count} octets to leave out, {self.end - self.position} left")
        self.position += count

    def align(self, size: int) -> None:
        """Go to the next multiple of `size` from the start."""
        self.skip(-(self.position - self.start) % size)

    def string(self) -> str:
        """Read a CDR string: a length that counts the closing NUL, then UTF-8."""
        length = self.u32()
        if length == 0:  # not in the standard, but seen from several stacks for the empty string
            return ""
        octets = self.take(length)
        if octets[-1] != 0:
            raise WireFormatError("a string does not end with NUL")
        try:
            return octets[:-1].decode("utf-8")
        except UnicodeDecodeError as error:
            raise WireFormatError(f"a string is not UTF-8: {error.reason}") from None
