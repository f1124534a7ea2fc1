"""Type information (DDS-XTypes 7.6.3.2.1): what an endpoint's announcement says of its type.

The names of the type, minimal and complete, and of everything that it is made of, with the sizes of their objects, so
that whoever needs them can ask for all at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.xtypes.identifiers import TypeHash, read_identifier, write_identifier
from rookery.rtps.xtypes.objects import Described
from rookery.rtps.xtypes.writing import Xcdr2Writer, delimited, members

__all__ = ["AnnouncedType", "TypeInformation", "read_information", "write_sized"]

_MINIMAL, _COMPLETE = 0x1001, 0x1002


@dataclass(frozen=True, slots=True)
class TypeInformation:
    """The names of a type; `parts` are those of the complete form, itself first."""

    minimal: TypeHash | None
    complete: TypeHash | None
    minimal_parts: tuple[tuple[TypeHash, int], ...] = ()
    complete_parts: tuple[tuple[TypeHash, int], ...] = ()

    @classmethod
    def of(cls, described: Described) -> TypeInformation:
        """Return what to announce of a type."""
        return cls(
            described.minimal,
            described.complete,
            tuple((name, len(octets)) for name, octets, _, _ in described.parts),
            tuple((name, len(octets)) for _, _, name, octets in described.parts),
        )

    def encode(self) -> bytes:
        """Return the octets of the parameter."""
        out = Xcdr2Writer()
        with out.delimited():
            for number, parts in ((_MINIMAL, self.minimal_parts), (_COMPLETE, self.complete_parts)):
                if parts:
                    with out.member(number), out.delimited():
                        write_sized(out, *parts[0])
                        out.number("i", len(parts) - 1)
                        with out.delimited():
                            out.number("I", len(parts) - 1)
                            for part in parts[1:]:
                                write_sized(out, *part)
        return out.octets()


class AnnouncedType(NamedTuple):
    """A type as somebody else announced it: the names, and the objects behind them as far as they are known."""

    information: TypeInformation
    objects: tuple[bytes, ...]


def read_information(octets: bytes, *, little: bool) -> TypeInformation:
    """Read the octets of the parameter; raise `WireFormatError` where they are wrong."""
    found: dict[int, tuple[tuple[TypeHash, int], ...]] = {}
    for number, _, cursor in members(Cursor(octets, little=little)):
        if number in (_MINIMAL, _COMPLETE):
            found[number] = _read_parts(delimited(cursor))
    minimal, complete = found.get(_MINIMAL, ()), found.get(_COMPLETE, ())
    return TypeInformation(minimal[0][0] if minimal else None, complete[0][0] if complete else None, minimal, complete)


def _read_parts(cursor: Cursor) -> tuple[tuple[TypeHash, int], ...]:
    first = _read_sized(delimited(cursor))
    if first is None:
        return ()
    cursor.align(4)
    cursor.i32()  # how many there are in all: whoever says fewer is asked for the rest
    every = delimited(cursor)
    count = every.u32()
    if count * 4 > every.remaining:
        raise WireFormatError(f"{count} types claimed, {every.remaining} octets left")
    parts = [_read_sized(delimited(every)) for _ in range(count)]
    return (first, *(part for part in parts if part is not None))


def _read_sized(cursor: Cursor) -> tuple[TypeHash, int] | None:
    name = read_identifier(cursor)
    cursor.align(4)
    size = cursor.u32()
    return (name, size) if isinstance(name, TypeHash) else None


def _unnamed(_: object) -> TypeHash:
    raise AssertionError("only names are written here")


def write_sized(out: Xcdr2Writer, name: TypeHash, size: int) -> None:
    """Write a name and the size of its object."""
    with out.delimited():
        write_identifier(out, name, kind=name.kind, name=_unnamed)
        out.number("I", size)
