"""The types of samples: what an IDL `struct` says, as values.

A topic's type is a struct whose fields are primitives, strings, sequences, arrays, enumerations or further structs.
Fields marked `key` tell the instances of a keyed topic apart. Every type takes at least one octet on the wire (a struct
has a field, an array an element): so a sequence that claims n elements needs n octets that are really there, and a
decoder can refuse a giant length before it allocates anything.

What other participants announce may hold types that are not read here (unions, maps, wide characters): a `CdrForeign`
stands for one of them, so that the rest of such a type can still be compared and named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from rookery.errors import TopicError

__all__ = [
    "CdrArray",
    "CdrEnum",
    "CdrForeign",
    "CdrMember",
    "CdrSequence",
    "CdrString",
    "CdrStruct",
    "Extensibility",
    "Primitive",
    "Type",
    "largest_size",
    "smallest_size",
]


class Primitive(Enum):
    """The primitive types: IDL name, `struct` code, size, which is also the alignment."""

    BOOLEAN = ("boolean", "?", 1)
    OCTET = ("octet", "B", 1)
    CHAR = ("char", "c", 1)
    INT8 = ("int8", "b", 1)
    UINT8 = ("uint8", "B", 1)
    INT16 = ("int16", "h", 2)
    UINT16 = ("uint16", "H", 2)
    INT32 = ("int32", "i", 4)
    UINT32 = ("uint32", "I", 4)
    INT64 = ("int64", "q", 8)
    UINT64 = ("uint64", "Q", 8)
    FLOAT32 = ("float", "f", 4)
    FLOAT64 = ("double", "d", 8)

    def __init__(self, idl: str, code: str, size: int) -> None:
        self.idl = idl
        self.code = code
        self.size = size


class Extensibility(Enum):
    """How a type may differ between a writer and a reader (DDS-XTypes 7.2.2.4.4.4.8); the bit is that of type flags."""

    FINAL = 1
    APPENDABLE = 2
    MUTABLE = 4


@dataclass(frozen=True, slots=True)
class CdrForeign:
    """A type that is not read here; `kind` says what it is."""

    kind: str


@dataclass(frozen=True, slots=True)
class CdrString:
    """UTF-8 text of at most `bound` octets."""

    bound: int | None = None


@dataclass(frozen=True, slots=True)
class CdrSequence:
    """Any count of elements, at most `bound`; octets come as `bytes`."""

    element: Type
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class CdrArray:
    """Exactly `length` elements; octets come as `bytes`."""

    element: Type
    length: int

    def __post_init__(self) -> None:
        if self.length < 1:
            raise TopicError(f"an array of {self.length} elements: give a length of at least 1")


@dataclass(frozen=True, slots=True)
class CdrEnum:
    """Names for 32-bit integers; samples hold the name."""

    name: str
    members: tuple[tuple[str, int], ...]
    extensibility: Extensibility = Extensibility.FINAL

    def __post_init__(self) -> None:
        names, values = [name for name, _ in self.members], [value for _, value in self.members]
        if not names or len(set(names)) < len(names) or len(set(values)) < len(values):
            raise TopicError(f"enumeration {self.name!r} needs at least one member, each of its own name and value")


@dataclass(frozen=True, slots=True)
class CdrMember:
    """One member of a struct."""

    name: str
    type: Type
    key: bool = False
    optional: bool = False
    must_understand: bool = False
    #: The number of the member where it is not its place in the struct.
    id: int | None = None


@dataclass(frozen=True, slots=True)
class CdrStruct:
    """A struct; `name` is the type name that discovery compares (IDL modules are joined with `::`)."""

    name: str
    fields: tuple[CdrMember, ...]
    extensibility: Extensibility = Extensibility.FINAL

    def __post_init__(self) -> None:
        if not self.fields:
            raise TopicError(f"struct {self.name!r} has no field: give it one")
        if len({field.name for field in self.fields}) < len(self.fields):
            raise TopicError(f"struct {self.name!r} has two fields of one name")
        for field in self.fields:
            if field.key and isinstance(field.type, CdrSequence):
                raise TopicError(f"field {field.name!r} of struct {self.name!r} is a sequence and cannot be a key")

    @property
    def numbered(self) -> tuple[tuple[int, CdrMember], ...]:
        """The members with their ids: one that names none comes after the one before it (DDS-XTypes 7.3.1.2.1.1)."""
        numbered, following = [], 0
        for field in self.fields:
            number = following if field.id is None else field.id
            numbered.append((number, field))
            following = number + 1
        return tuple(numbered)

    @property
    def has_optional(self) -> bool:
        """Whether a member may be absent."""
        return any(field.optional for field in self.fields)

    @property
    def is_keyed(self) -> bool:
        """Whether samples of this type belong to instances."""
        return any(field.key for field in self.fields)

    def key_type(self) -> CdrStruct:
        """Return the struct of the key fields alone, in order; nested structs without key marks count whole."""
        keys = []
        for number, field in self.numbered:
            if field.key:
                nested = field.type
                if isinstance(nested, CdrStruct) and nested.is_keyed:
                    nested = nested.key_type()
                keys.append(replace(field, type=nested, id=number))
        return CdrStruct(self.name, tuple(keys), self.extensibility)


Type = Primitive | CdrString | CdrSequence | CdrArray | CdrEnum | CdrStruct | CdrForeign


def smallest_size(of: Type) -> int:
    """Return a lower bound of the octets that one value takes; never zero."""
    match of:
        case Primitive():
            return of.size
        case CdrString() | CdrSequence() | CdrEnum():
            return 4
        case CdrArray():
            return of.length * smallest_size(of.element)
        case CdrStruct():
            size = sum(1 if field.optional else smallest_size(field.type) for field in of.fields)
            # One that may grow may also come without its later members: with a length at least.
            return size if of.extensibility is Extensibility.FINAL else min(size, 4)
        case CdrForeign():
            return 1


def largest_size(of: Type, position: int = 0, *, widest: int = 8) -> int | None:
    """Return where a final value that begins at `position` ends at the latest; None if unbounded.

    Padding is included, of at most `widest` octets.
    """
    match of:
        case Primitive():
            return position + -position % min(of.size, widest) + of.size
        case CdrEnum():
            return position + -position % 4 + 4
        case CdrString():
            return None if of.bound is None else position + -position % 4 + 5 + of.bound
        case CdrSequence() | CdrForeign():
            return None
        case CdrArray():
            end: int | None = position
            for _ in range(of.length):
                end = None if end is None else largest_size(of.element, end, widest=widest)
            return end
        case CdrStruct():
            end = position
            for field in of.fields:
                end = None if end is None else largest_size(field.type, end, widest=widest)
            return end
