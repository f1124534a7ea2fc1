"""Type objects (DDS-XTypes 7.3.4.5): the description behind the hash of a struct or an enumeration.

`describe` makes the objects of a type and of all that it is made of. `TypeLibrary` takes objects of others in and puts
a whole type together once every part is there. A *minimal* object has no names, only the first four octets of the MD5
of each: such a member is called `#` and those octets in hexadecimal, and `name_hash` gives the same of either form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from rookery.errors import TopicError, WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrForeign,
    CdrMember,
    CdrSequence,
    CdrStruct,
    Extensibility,
    Type,
)
from rookery.rtps.xtypes.identifiers import (
    COMPLETE,
    MINIMAL,
    Identifier,
    TypeHash,
    hash_of,
    read_identifier,
    write_identifier,
)
from rookery.rtps.xtypes.writing import Xcdr2Writer, delimited

__all__ = ["Alias", "Described", "TypeObject", "assemble", "describe", "name_hash", "read_object"]

_ALIAS, _ENUM, _STRUCT = 0x30, 0x40, 0x51
_OTHERS = {0x41: "a bitmask", 0x50: "an annotation", 0x52: "a union", 0x53: "a bit set"}
_COLLECTIONS = {0x60: "a sequence", 0x61: "an array", 0x62: "a map"}
_DISCARD, _OPTIONAL, _MUST_UNDERSTAND, _KEY, _DEFAULT = 0x01, 0x08, 0x10, 0x20, 0x40
_EXTENSIBILITY: Final = 0x07
#: Structs inside structs: as deep as anyone writes, and a bound on what a stranger makes us recurse.
_DEEPEST: Final = 32


@dataclass(frozen=True, slots=True)
class Alias:
    """A second name of a type; types are compared as if it were not there."""

    of: Identifier


class TypeObject(NamedTuple):
    """What an object says: the type, in which hashes stand for others, and the base of a struct that has one."""

    type: CdrStruct | CdrEnum | CdrForeign | Alias
    base: Identifier = None


class Described(NamedTuple):
    """The descriptions of a type, itself first: both names and both objects of every struct and enumeration in it."""

    parts: tuple[tuple[TypeHash, bytes, TypeHash, bytes], ...]

    @property
    def minimal(self) -> TypeHash:
        """The name by which the type is compared."""
        return self.parts[0][0]

    @property
    def complete(self) -> TypeHash:
        """The name with names in it."""
        return self.parts[0][2]

    def objects(self) -> dict[TypeHash, bytes]:
        """Return all objects by name."""
        return {name: octets for part in self.parts for name, octets in (part[0:2], part[2:4])}


def name_hash(name: str) -> bytes:
    """Return what stands for a name in a minimal object."""
    if name.startswith("#"):
        return bytes.fromhex(name[1:])
    return hashlib.md5(name.encode("utf-8"), usedforsecurity=False).digest()[:4]


def describe(of: CdrStruct) -> Described:
    """Return the objects of a type and of all that it is made of."""
    parts: dict[CdrStruct | CdrEnum, tuple[TypeHash, bytes, TypeHash, bytes]] = {}

    def add(one: CdrStruct | CdrEnum) -> None:
        for inner in _inner(one):
            if inner not in parts:
                add(inner)
        minimal = _write_object(one, MINIMAL, {each: part[0] for each, part in parts.items()})
        complete = _write_object(one, COMPLETE, {each: part[2] for each, part in parts.items()})
        parts[one] = (hash_of(MINIMAL, minimal), minimal, hash_of(COMPLETE, complete), complete)

    add(of)
    return Described((parts.pop(of), *parts.values()))


def _inner(of: CdrStruct | CdrEnum) -> list[CdrStruct | CdrEnum]:
    found: list[CdrStruct | CdrEnum] = []
    for field in of.fields if isinstance(of, CdrStruct) else ():
        element = field.type
        while isinstance(element, CdrSequence | CdrArray):
            element = element.element
        if isinstance(element, CdrForeign):
            raise TopicError(f"{of.name}.{field.name} is {element.kind}, which is not supported")
        if isinstance(element, CdrStruct | CdrEnum):
            found.append(element)
    return found


def _write_object(of: CdrStruct | CdrEnum, kind: int, names: Mapping[CdrStruct | CdrEnum, TypeHash]) -> bytes:
    out = Xcdr2Writer()
    with out.delimited():
        out.number("B", kind)
        out.number("B", _STRUCT if isinstance(of, CdrStruct) else _ENUM)
        out.number("H", of.extensibility.value)
        if isinstance(of, CdrStruct):
            _write_struct(out, of, kind, names)
        else:
            _write_enum(out, of, kind)
    return out.octets()


def _write_struct(out: Xcdr2Writer, of: CdrStruct, kind: int, names: Mapping[CdrStruct | CdrEnum, TypeHash]) -> None:
    with out.delimited():
        out.number("B", 0)  # no base: its members stand among the struct's own
        if kind == COMPLETE:
            _write_detail(out, of.name)
    with out.delimited():
        out.number("I", len(of.fields))
        for number, field in of.numbered:
            with out.delimited():
                out.number("I", number)
                flags = _DISCARD | _KEY * field.key | _OPTIONAL * field.optional
                out.number("H", flags | _MUST_UNDERSTAND * field.must_understand)
                write_identifier(out, field.type, kind=kind, name=names.__getitem__)
                _write_name(out, field.name, kind)


def _write_enum(out: Xcdr2Writer, of: CdrEnum, kind: int) -> None:
    with out.delimited():
        out.number("H", 32)
        if kind == COMPLETE:
            _write_detail(out, of.name)
    with out.delimited():
        out.number("I", len(of.members))
        for name, value in sorted(of.members, key=lambda member: member[1]):
            with out.delimited():
                with out.delimited():
                    out.number("i", value)
                    out.number("H", _DEFAULT * (name == of.members[0][0]))
                _write_name(out, name, kind)


def _write_detail(out: Xcdr2Writer, name: str) -> None:
    out.raw(b"\0\0")  # no annotations of either kind
    out.text(name)


def _write_name(out: Xcdr2Writer, name: str, kind: int) -> None:
    if kind == MINIMAL:
        out.raw(name_hash(name))
    else:
        out.text(name)
        out.raw(b"\0\0")


def read_object(octets: bytes) -> TypeObject:
    """Read a type object; raise `WireFormatError` where it is wrong."""
    cursor = delimited(Cursor(octets, little=True))
    kind, what = int(cursor.number("B")), int(cursor.number("B"))
    if kind not in (MINIMAL, COMPLETE):
        raise WireFormatError(f"a type object of kind 0x{kind:02x}")
    if what == _ALIAS:
        return TypeObject(_read_alias(cursor))
    if what not in (_ENUM, _STRUCT):
        named = _OTHERS.get(what) or _COLLECTIONS.get(what) or f"a type of kind 0x{what:02x}"
        return TypeObject(CdrForeign(named))
    cursor.align(2)
    flags = cursor.u16() & _EXTENSIBILITY
    # Who says nothing means appendable (Cyclone DDS reads enumerations so).
    extensibility = Extensibility(flags) if flags in (1, 2, 4) else Extensibility.APPENDABLE
    return _read_struct(cursor, kind, extensibility) if what == _STRUCT else _read_enum(cursor, kind, extensibility)


def _read_struct(cursor: Cursor, kind: int, extensibility: Extensibility) -> TypeObject:
    header = delimited(cursor)
    base = read_identifier(header)
    name = _read_detail(header) if kind == COMPLETE else "#"
    fields, every = [], delimited(cursor)
    for member in _sequence(every):
        member.align(4)
        number = member.u32()
        member.align(2)
        flags = member.u16()
        of = read_identifier(member)
        if of is None:
            raise WireFormatError("a member without a type")
        fields.append(
            CdrMember(
                _read_name(member, kind),
                of,  # type: ignore[arg-type]  # a hash, until the object behind it is put in its place
                key=bool(flags & _KEY),
                optional=bool(flags & _OPTIONAL),
                must_understand=bool(flags & _MUST_UNDERSTAND),
                id=number,
            )
        )
    if not fields and base is None:
        return TypeObject(CdrForeign("a struct without members"))
    try:
        struct = CdrStruct(name, tuple(fields), extensibility) if fields else CdrForeign("a struct without own members")
    except TopicError as error:
        raise WireFormatError(str(error)) from None
    return TypeObject(struct, base)


def _read_enum(cursor: Cursor, kind: int, extensibility: Extensibility) -> TypeObject:
    header = delimited(cursor)
    bits = header.u16()
    name = _read_detail(header) if kind == COMPLETE else "#"
    if bits <= 16:
        return TypeObject(CdrForeign(f"an enumeration of {bits} bits"))
    labels: list[tuple[str, int]] = []
    every = delimited(cursor)
    for literal in _sequence(every):
        value = delimited(literal)
        value.align(4)
        number = value.i32()
        label = (_read_name(literal, kind), number)
        # The default comes first, as in a type of our own.
        labels.insert(0 if value.u16() & _DEFAULT else len(labels), label)
    try:
        return TypeObject(CdrEnum(name, tuple(labels), extensibility))
    except TopicError as error:
        raise WireFormatError(str(error)) from None


def _read_alias(cursor: Cursor) -> Alias:
    cursor.align(2)
    cursor.u16()
    delimited(cursor)
    body = delimited(cursor)
    body.align(2)
    body.u16()
    return Alias(read_identifier(body))


def _sequence(cursor: Cursor) -> list[Cursor]:
    """Return the elements of a sequence of things with a length."""
    cursor.align(4)
    count = cursor.u32()
    if count * 4 > cursor.remaining:
        raise WireFormatError(f"{count} elements claimed, {cursor.remaining} octets left")
    return [delimited(cursor) for _ in range(count)]


def _read_detail(cursor: Cursor) -> str:
    if int(cursor.number("B")):  # annotations that are built in: an appendable thing
        delimited(cursor)
    if int(cursor.number("B")):
        delimited(cursor)
    cursor.align(4)
    return cursor.string()


def _read_name(cursor: Cursor, kind: int) -> str:
    if kind == MINIMAL:
        return "#" + cursor.take(4).hex()
    cursor.align(4)
    return cursor.string()


def assemble(name: TypeHash, objects: Mapping[TypeHash, TypeObject]) -> Type | frozenset[TypeHash]:
    """Return the whole type of a name, or the names whose objects are missing."""
    missing: set[TypeHash] = set()

    def whole(of: Identifier, path: tuple[TypeHash, ...]) -> Type:
        match of:
            case TypeHash():
                return _nothing if of in missing else named(of, path)
            case CdrSequence():
                return replace(of, element=whole(of.element, path))
            case CdrArray():
                return replace(of, element=whole(of.element, path))
            case None:
                raise WireFormatError("a type that is none")
        return of

    def named(of: TypeHash, path: tuple[TypeHash, ...]) -> Type:
        if of in path or len(path) > _DEEPEST:
            raise WireFormatError("a type that contains itself")
        found = objects.get(of)
        if found is None:
            missing.add(of)
            return _nothing
        path = (*path, of)
        if isinstance(found.type, Alias):
            return whole(found.type.of, path)
        if not isinstance(found.type, CdrStruct):
            return found.type if found.base is None else _expanded(found, path)
        return _expanded(found, path)

    def _expanded(found: TypeObject, path: tuple[TypeHash, ...]) -> Type:
        own = found.type.fields if isinstance(found.type, CdrStruct) else ()
        fields = tuple(replace(field, type=whole(field.type, path)) for field in own)
        if found.base is None:
            assert isinstance(found.type, CdrStruct)
            return replace(found.type, fields=fields)
        base = whole(found.base, path)
        if base is _nothing:
            return _nothing
        if not isinstance(base, CdrStruct):
            raise WireFormatError("a struct whose base is none")
        shape = found.type if isinstance(found.type, CdrStruct) else base
        inherited = tuple(replace(field, id=number) for number, field in base.numbered)
        return replace(shape, fields=(*inherited, *fields))

    assembled = whole(name, ())
    return frozenset(missing) if missing else assembled


_nothing = CdrForeign("a type that is not known yet")
