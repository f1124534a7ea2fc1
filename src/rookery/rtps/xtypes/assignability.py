"""Whether a reader can take what a writer sends (DDS-XTypes 7.2.4.4), and if not, which member stands in the way.

Two types that are alike but for the names of the types fit. Otherwise a struct fits if both are of the same
extensibility, members of one name have one id, keys are on both sides, and the types of members that both have fit: at
the same places unless it is mutable, and all of them if it is final. A struct inside must be alike if it is final,
because a reader cannot tell where another one would end. Bounds of strings and sequences do not count, those of keys
do, unless the reader's consistency policy says otherwise.

Whether octets can be read is a second question: XCDR1 does not say where an appendable struct inside another one ends,
so there two that differ in their members do not fit, whatever the types say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rookery.rtps.qos import STANDARD_CONSISTENCY, TypeConsistency
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrForeign,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Extensibility,
    Primitive,
    Type,
)
from rookery.rtps.xtypes.objects import describe, name_hash

__all__ = ["Mismatch", "mismatch", "spoken", "undelimited"]

_STRICTEST = replace(
    STANDARD_CONSISTENCY, ignores_sequence_bounds=False, ignores_string_bounds=False, prevents_widening=True
)

_NUMBERS = {Primitive.FLOAT32: "float32", Primitive.FLOAT64: "float64"}


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What keeps two types apart: where, and what the reader and the writer have there."""

    path: str
    reader: str
    writer: str

    def told(self, *, we_read: bool) -> str:
        """Say it from one side."""
        here, there = (self.reader, self.writer) if we_read else (self.writer, self.reader)
        return f"{self.path} is {there} there, {here} here"


def spoken(of: Type) -> str:
    """Return the name of a type as people write it."""
    match of:
        case Primitive():
            return _NUMBERS.get(of, of.idl)
        case CdrString():
            return "string" if of.bound is None else f"string<{of.bound}>"
        case CdrSequence():
            bound = "" if of.bound is None else f", {of.bound}"
            return f"sequence<{spoken(of.element)}{bound}>"
        case CdrArray():
            return f"{spoken(of.element)}[{of.length}]"
        case CdrForeign():
            return of.kind
        case CdrStruct():
            return f"{of.extensibility.name.lower()} struct {of.name}"
        case CdrEnum():
            return f"enum {of.name}"


def mismatch(
    reader: Type, writer: Type, path: str = "the type", *, by: TypeConsistency = STANDARD_CONSISTENCY
) -> Mismatch | None:
    """Return what keeps a reader from taking what a writer sends, by the reader's policy; None if nothing does."""
    if _are_alike(reader, writer):
        return None
    if not by.coercion:
        # What differs says more than that something does, where the difference alone would be no obstacle.
        apart = mismatch(reader, writer, path, by=_STRICTEST)
        return apart or Mismatch(path, spoken(reader), f"another {spoken(writer)}")
    match reader, writer:
        case CdrString(), CdrString():
            has_room = by.ignores_string_bounds or _has_room(reader.bound, writer.bound)
            return None if has_room else Mismatch(path, spoken(reader), spoken(writer))
        case CdrEnum(), CdrEnum():
            return _between_enums(reader, writer, path)
        case CdrSequence(), CdrSequence():
            if not by.ignores_sequence_bounds and not _has_room(reader.bound, writer.bound):
                return Mismatch(path, spoken(reader), spoken(writer))
            return _strong(reader.element, writer.element, f"an element of {path}", by)
        case CdrArray(), CdrArray() if _bounds(reader) == _bounds(writer):
            return _strong(_element(reader), _element(writer), f"an element of {path}", by)
        case CdrStruct(), CdrStruct():
            return _between_structs(reader, writer, "" if path == "the type" else f"{path}.", by)
    return Mismatch(path, spoken(reader), spoken(writer))


def undelimited(reader: Type, writer: Type, path: str = "") -> Mismatch | None:
    """Return the appendable struct of two types that fit whose end cannot be told in XCDR1; None if there is none."""
    match reader, writer:
        case CdrSequence() | CdrArray(), CdrSequence() | CdrArray():
            return undelimited(reader.element, writer.element, path)
        case CdrStruct(), CdrStruct():
            ours, theirs = len(reader.fields), len(writer.fields)
            if path and reader.extensibility is Extensibility.APPENDABLE and ours != theirs:
                return Mismatch(path, f"of {ours} members", f"of {theirs} members in XCDR1")
            by_id = dict(writer.numbered)
            for number, member in reader.numbered:
                other = by_id.get(number)
                inner = f"{path}.{member.name}" if path else member.name
                apart = None if other is None else undelimited(member.type, other.type, inner)
                if apart is not None:
                    return apart
    return None


def _are_alike(one: Type, other: Type) -> bool:
    """Say whether two types have the same minimal description."""
    match one, other:
        case CdrEnum(), CdrEnum():
            return one.extensibility is other.extensibility and _numbered(one) == _numbered(other)
        case CdrStruct(), CdrStruct():
            known = not _is_foreign(one) and not _is_foreign(other)
            return known and describe(one).minimal == describe(other).minimal
        case (CdrSequence(), CdrSequence()):
            return one.bound == other.bound and _are_alike(one.element, other.element)
        case (CdrArray(), CdrArray()):
            return one.length == other.length and _are_alike(one.element, other.element)
        case (CdrForeign(), CdrForeign()):
            return False  # what it is made of is not known
    return one == other


def _numbered(of: CdrEnum) -> dict[int, bytes]:
    return {value: name_hash(name) for name, value in of.members}


def _is_foreign(of: Type) -> bool:
    match of:
        case CdrForeign():
            return True
        case CdrStruct():
            return any(_is_foreign(field.type) for field in of.fields)
        case CdrSequence() | CdrArray():
            return _is_foreign(of.element)
    return False


def _bounds(of: CdrArray) -> list[int]:
    return [of.length, *(_bounds(of.element) if isinstance(of.element, CdrArray) else ())]


def _element(of: CdrArray) -> Type:
    return _element(of.element) if isinstance(of.element, CdrArray) else of.element


def _has_room(reader: int | None, writer: int | None) -> bool:
    return reader is None or (writer is not None and writer <= reader)


def _strong(reader: Type, writer: Type, path: str, by: TypeConsistency) -> Mismatch | None:
    """Return what keeps apart two types whose values stand among others, so that their ends must be known."""
    if not _are_alike(reader, writer) and not _is_delimited(writer):
        return Mismatch(path, spoken(reader), f"another {spoken(writer)}")
    return mismatch(reader, writer, path, by=by)


def _is_delimited(of: Type) -> bool:
    match of:
        case Primitive() | CdrString() | CdrEnum():
            return True
        case CdrSequence() | CdrArray():
            return _is_delimited(of.element)
        case CdrStruct():
            return of.extensibility is not Extensibility.FINAL
    return False


def _between_enums(reader: CdrEnum, writer: CdrEnum, path: str) -> Mismatch | None:
    ours, theirs = _numbered(reader), _numbered(writer)
    if reader.extensibility is not writer.extensibility:
        return Mismatch(path, reader.extensibility.name.lower(), writer.extensibility.name.lower())
    for value in sorted(ours.keys() & theirs.keys()):
        if ours[value] != theirs[value]:
            return Mismatch(path, _labels(reader), _labels(writer))
    if reader.extensibility is Extensibility.FINAL and ours.keys() != theirs.keys():
        return Mismatch(path, _labels(reader), _labels(writer))
    return None


def _labels(of: CdrEnum) -> str:
    return "one of " + ", ".join(f"{name} = {value}" for name, value in of.members)


def _between_structs(reader: CdrStruct, writer: CdrStruct, path: str, by: TypeConsistency) -> Mismatch | None:
    if reader.extensibility is not writer.extensibility:
        return Mismatch(f"{path}its type", spoken(reader), spoken(writer))
    ours, theirs = reader.numbered, writer.numbered
    by_id = dict(theirs)
    apart = _names_and_keys(ours, theirs, path, by)
    if apart is not None:
        return apart
    for number, member in ours:
        other = by_id.get(number)
        if other is not None:
            apart = _between_members(member, other, f"{path}{member.name}", by)
            if apart is not None:
                return apart
    if reader.extensibility is not Extensibility.MUTABLE:
        for (number, member), (its, other) in zip(ours, theirs, strict=False):
            apart = _at_one_place(number, member, its, other, path, by)
            if apart is not None:
                return apart
    if by.prevents_widening:
        apart = _widened(dict(ours), by_id, path)
        if apart is not None:
            return apart
    if reader.extensibility is Extensibility.FINAL and len(ours) != len(theirs):
        return Mismatch(f"{path}the number of members", str(len(ours)), str(len(theirs)))
    if not by_id.keys() & dict(ours).keys():
        return Mismatch(f"{path}its type", "without a member that both have", "without a member that both have")
    return None


def _widened(ours: dict[int, CdrMember], theirs: dict[int, CdrMember], path: str) -> Mismatch | None:
    """Return a member that one side alone has; what is optional at the writer may be unknown to the reader."""
    for number, member in ours.items():
        if number not in theirs:
            return Mismatch(f"{path}{member.name}", spoken(member.type), "missing")
    for number, member in theirs.items():
        if number not in ours and not member.optional:
            return Mismatch(f"{path}{member.name}", "missing", spoken(member.type))
    return None


def _names_and_keys(
    ours: tuple[tuple[int, CdrMember], ...], theirs: tuple[tuple[int, CdrMember], ...], path: str, by: TypeConsistency
) -> Mismatch | None:
    """Members of one name have one id, and the other way; keys and what must be understood are on both sides."""
    for number, member in ours:
        for its, opposite in theirs:
            same = name_hash(member.name) == name_hash(opposite.name)
            if (number == its) != same and not by.ignores_member_names:
                if same:
                    return Mismatch(f"{path}{member.name}", f"member {number}", f"member {its}")
                return Mismatch(f"{path}member {number}", member.name, opposite.name)
    mine, its_own = dict(ours), dict(theirs)
    for number in sorted(mine.keys() | its_own.keys()):
        both = (mine.get(number), its_own.get(number))
        one = both[0] or both[1]
        if one is not None and None in both and (one.key or (one.must_understand and not one.optional)):
            return Mismatch(f"{path}{one.name}", *("missing" if each is None else spoken(each.type) for each in both))
    return None


def _between_members(member: CdrMember, other: CdrMember, path: str, by: TypeConsistency) -> Mismatch | None:
    apart = mismatch(_without_keys(member.type), _without_keys(other.type), path, by=by)
    if apart is not None or not other.key:
        return apart
    ours, theirs = member.type, other.type
    if isinstance(ours, CdrString | CdrSequence) and isinstance(theirs, CdrString | CdrSequence):
        if ours.bound is not None and (theirs.bound is None or theirs.bound > ours.bound):
            return Mismatch(path, spoken(ours), spoken(theirs))
    elif isinstance(ours, CdrEnum) and isinstance(theirs, CdrEnum):
        if _numbered(theirs).keys() - _numbered(ours).keys():
            return Mismatch(path, _labels(ours), _labels(theirs))
    elif isinstance(ours, CdrStruct) and isinstance(theirs, CdrStruct):
        return mismatch(_keys_alone(ours), _keys_alone(theirs), path, by=by)
    return None


def _at_one_place(
    number: int, member: CdrMember, its: int, other: CdrMember, path: str, by: TypeConsistency
) -> Mismatch | None:
    if number != its:
        return Mismatch(f"{path}the member at its place", member.name, other.name)
    if member.optional != other.optional:
        told = ("optional", "always there")
        return Mismatch(f"{path}{member.name}", *(told if member.optional else reversed(told)))
    return _strong(member.type, other.type, f"{path}{member.name}", by)


def _without_keys(of: Type) -> Type:
    if not isinstance(of, CdrStruct):
        return of
    return replace(of, fields=tuple(replace(field, key=False) for field in of.fields))


def _keys_alone(of: CdrStruct) -> CdrStruct:
    numbered = tuple(replace(field, id=number) for number, field in of.numbered)
    if of.is_keyed:
        return replace(of, fields=tuple(field for field in numbered if field.key))
    return replace(of, fields=tuple(replace(field, key=True) for field in numbered))
