"""Random types and small changes of them, and the same types as Cyclone DDS has them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any, Optional

from cyclonedds import idl as build
from cyclonedds.idl import annotations as annotate
from cyclonedds.idl import types as idl

from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Extensibility,
    Primitive,
    Type,
)

PRIMITIVES: dict[Primitive, Any] = {
    Primitive.BOOLEAN: bool,
    Primitive.OCTET: idl.byte,
    Primitive.CHAR: idl.char,
    Primitive.INT8: idl.int8,
    Primitive.UINT8: idl.uint8,
    Primitive.INT16: idl.int16,
    Primitive.UINT16: idl.uint16,
    Primitive.INT32: idl.int32,
    Primitive.UINT32: idl.uint32,
    Primitive.INT64: idl.int64,
    Primitive.UINT64: idl.uint64,
    Primitive.FLOAT32: idl.float32,
    Primitive.FLOAT64: idl.float64,
}
EXTENSIBILITIES = (Extensibility.FINAL, Extensibility.FINAL, Extensibility.APPENDABLE, Extensibility.MUTABLE)
_ANNOTATE = {
    Extensibility.FINAL: annotate.final,
    Extensibility.APPENDABLE: annotate.appendable,
    Extensibility.MUTABLE: annotate.mutable,
}
_NUMBERS = count()


def random_struct(dice: random.Random, depth: int = 0, *, extensible: bool = True) -> CdrStruct:
    """Return a struct of one to four members."""
    names = dice.sample("abcdefgh", dice.randint(1, 4))
    fields = tuple(random_member(dice, name, depth, extensible=extensible) for name in names)
    extensibility = dice.choice(EXTENSIBILITIES) if extensible else Extensibility.FINAL
    return CdrStruct(f"T{dice.randrange(3)}", fields, extensibility)


def random_member(dice: random.Random, name: str, depth: int, *, extensible: bool = True) -> CdrMember:
    """Return a member; keys are of what both stacks take for one, and those are not optional."""
    of = random_type(dice, depth, extensible=extensible)
    is_key = depth == 0 and dice.random() < 0.2 and isinstance(of, Primitive | CdrString)
    return CdrMember(name, of, key=is_key, optional=extensible and not is_key and dice.random() < 0.15)


def random_type(dice: random.Random, depth: int, *, extensible: bool = True) -> Type:
    """Return any type; structs inside structs end after two levels."""
    match dice.randrange(9 if depth < 2 else 6):
        case 0 | 1 | 2:
            return dice.choice(list(PRIMITIVES))
        case 3:
            return CdrString(dice.choice([None, None, 8, 300]))
        case 4:
            return random_enum(dice, extensible=extensible)
        case 5:
            return CdrSequence(dice.choice(list(PRIMITIVES)), dice.choice([None, 5, 300]))
        case 6:
            return CdrArray(random_type(dice, depth + 1, extensible=extensible), dice.randint(1, 3))
        case 7:
            return CdrSequence(random_type(dice, depth + 1, extensible=extensible))
    return random_struct(dice, depth + 1, extensible=extensible)


def random_enum(dice: random.Random, *, extensible: bool = True) -> CdrEnum:
    """Return an enumeration of some of a few labels, so that two have some in common."""
    labels = dice.sample([("RED", 0), ("GREEN", 1), ("BLUE", 2), ("LIME", 1)], 2)
    if labels[0][1] == labels[1][1]:
        labels = labels[:1]
    extensibility = dice.choice([Extensibility.FINAL, Extensibility.APPENDABLE]) if extensible else Extensibility.FINAL
    return CdrEnum("Color", tuple(sorted(labels, key=lambda label: label[1])), extensibility)


def free_name(of: CdrStruct) -> str:
    """Return a name that no member has."""
    return next(name for name in "ijklmnopqrst" if name not in {field.name for field in of.fields})


def changed(dice: random.Random, of: CdrStruct, depth: int = 0) -> CdrStruct:
    """Return a struct that differs in one respect, here or further inside."""
    fields = list(of.fields)
    place = dice.randrange(len(fields))
    field = fields[place]
    match dice.randrange(9):
        case 0:
            fields.append(
                random_member(dice, next(name for name in "ijklmnop" if name not in {f.name for f in fields}), depth)
            )
        case 1 if len(fields) > 1:
            del fields[place]
        case 2 if len(fields) > 1:
            dice.shuffle(fields)
        case 3:
            fields[place] = replace(field, name=free_name(of))
        case 4 if not field.key:
            fields[place] = replace(field, optional=not field.optional)
        case 5:
            return replace(of, extensibility=dice.choice(EXTENSIBILITIES))
        case 6 if isinstance(field.type, CdrStruct):
            fields[place] = replace(field, type=changed(dice, field.type, depth + 1))
        case 7 if isinstance(field.type, Primitive | CdrString) and depth == 0:
            fields[place] = replace(field, key=not field.key, optional=False)
        case _:
            fields[place] = replace(field, type=random_type(dice, depth), key=False)
    return replace(of, fields=tuple(fields))


def cyclone_type(of: Type, made: dict[Type, Any] | None = None) -> Any:
    """Return the type as a class of Cyclone's IDL; of one type there is one class in a tree."""
    made = {} if made is None else made
    match of:
        case Primitive():
            return PRIMITIVES[of]
        case CdrString():
            return str if of.bound is None else idl.bounded_str[of.bound]
        case CdrSequence():
            element = cyclone_type(of.element, made)
            return idl.sequence[element] if of.bound is None else idl.sequence[element, of.bound]
        case CdrArray():
            return idl.array[cyclone_type(of.element, made), of.length]
    if of not in made:
        made[of] = _cyclone_class(of, made)
    return made[of]


def _cyclone_class(of: Type, made: dict[Type, Any]) -> Any:
    # Cyclone keeps one description for a name within a process, so every class has a name of its own.
    if isinstance(of, CdrEnum):
        name = f"E{next(_NUMBERS)}"
        made_here = build.make_idl_enum(name, f"m.{name}", dict(of.members))
    else:
        assert isinstance(of, CdrStruct)
        name = f"S{next(_NUMBERS)}"
        fields = {field.name: _optional(field, cyclone_type(field.type, made)) for field in of.fields}
        keys = {field.name: {"key": True} for field in of.fields if field.key}
        made_here = build.make_idl_struct(name, f"m.{name}", fields, field_annotations=keys)
    return _ANNOTATE[of.extensibility](made_here)


def _optional(field: CdrMember, of: Any) -> Any:
    return Optional[of] if field.optional else of  # noqa: UP045  # Cyclone reads this form


def pairs(seed: int) -> Iterator[tuple[CdrStruct, CdrStruct]]:
    """Return pairs of a reader's and a writer's type without end: a type and a change of it, or two changes."""
    dice = random.Random(seed)
    while True:
        one = random_struct(dice)
        other = changed(dice, one)
        if dice.random() < 0.3:
            other = changed(dice, other)
        yield (one, other) if dice.random() < 0.5 else (other, one)
