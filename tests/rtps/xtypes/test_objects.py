"""Type objects and identifiers, with Cyclone DDS as the oracle of every hash; and what strangers may send."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest

from rookery.errors import TopicError, WireFormatError
from rookery.rtps.identity import Guid
from rookery.rtps.types import CdrForeign, CdrMember, CdrSequence, CdrStruct, Primitive, Type
from rookery.rtps.xtypes.identifiers import COMPLETE, MINIMAL, TypeHash, hash_of
from rookery.rtps.xtypes.information import TypeInformation, read_information
from rookery.rtps.xtypes.lookup import TypeReply, TypeRequest, encode_dependencies, encode_types
from rookery.rtps.xtypes.objects import Alias, TypeObject, assemble, describe, name_hash, read_object

pytest.importorskip("cyclonedds", reason="cyclonedds is not installed: pip install cyclonedds==11.0.1")

from cyclonedds.idl._xt_builder import XTBuilder

from .random_types import cyclone_type, random_struct

ASKER = Guid(b"0123456789ab", 0x000300C3)


def types(count: int, seed: int = 0) -> list[CdrStruct]:
    dice = random.Random(seed)
    return [random_struct(dice) for _ in range(count)]


def numbered(of: Type) -> Type:
    """Return a type as it is read: every member says its number."""
    match of:
        case CdrStruct():
            fields = tuple(replace(field, id=number, type=numbered(field.type)) for number, field in of.numbered)
            return replace(of, fields=fields)
        case CdrSequence():
            return replace(of, element=numbered(of.element))
    return of if not hasattr(of, "length") else replace(of, element=numbered(of.element))


def test_hashes_are_those_of_cyclone() -> None:
    for of in types(150):
        information, _ = XTBuilder.process_type(cyclone_type(of))
        mine = TypeInformation.of(describe(of))
        assert mine.minimal is not None
        assert bytes(information.minimal.typeid_with_size.type_id.value) == mine.minimal.digest, of
        assert information.minimal.typeid_with_size.typeobject_serialized_size == mine.minimal_parts[0][1]


def test_a_type_is_put_together_from_its_objects() -> None:
    for of in types(150, seed=1):
        described = describe(of)
        objects = {name: read_object(octets) for name, octets in described.objects().items()}
        assert assemble(described.complete, objects) == numbered(of)
        by_hash = assemble(described.minimal, objects)
        assert isinstance(by_hash, CdrStruct)
        assert describe(by_hash).minimal == described.minimal


def test_missing_parts_are_named() -> None:
    inner = CdrStruct("Inner", (CdrMember("x", Primitive.INT8),))
    described = describe(CdrStruct("Outer", (CdrMember("many", CdrSequence(inner)),)))
    outer = {described.complete: read_object(described.objects()[described.complete])}
    assert assemble(described.complete, outer) == frozenset({describe(inner).complete})
    assert assemble(described.complete, {}) == frozenset({described.complete})


def test_a_second_name_and_a_base_are_seen_through() -> None:
    base = CdrStruct("Base", (CdrMember("x", Primitive.INT8, id=0),))
    derived = CdrStruct("Derived", (CdrMember("y", Primitive.INT8, id=1),))
    names = [TypeHash(COMPLETE, bytes([number]) * 14) for number in range(3)]
    objects = {
        names[0]: TypeObject(derived, names[1]),
        names[1]: TypeObject(Alias(names[2])),
        names[2]: TypeObject(base),
    }
    whole = assemble(names[0], objects)
    assert isinstance(whole, CdrStruct)
    assert [field.name for field in whole.fields] == ["x", "y"]


def test_a_type_that_contains_itself_is_refused() -> None:
    name = TypeHash(COMPLETE, bytes(14))
    with pytest.raises(WireFormatError, match="contains itself"):
        assemble(name, {name: TypeObject(Alias(CdrSequence(name)))})  # type: ignore[arg-type]


def test_what_is_not_supported_cannot_be_offered() -> None:
    with pytest.raises(TopicError, match="a union, which is not supported"):
        describe(CdrStruct("T", (CdrMember("u", CdrForeign("a union")),)))


def test_information_comes_back() -> None:
    for of in types(50, seed=2):
        information = TypeInformation.of(describe(of))
        assert read_information(information.encode(), little=True) == information


def test_questions_and_answers_come_back() -> None:
    for of in types(50, seed=3):
        objects = tuple(describe(of).objects().items())
        request = TypeRequest(ASKER, 1 << 33 | 7, tuple(name for name, _ in objects))
        assert TypeRequest.decode(request.encode("dds.builtin.TOS.x")) == request
        assert TypeReply.decode(encode_types(request, objects)) == TypeReply(ASKER, request.number, objects)
        asks_what_it_is_made_of = replace(request, dependencies=True)
        assert TypeRequest.decode(asks_what_it_is_made_of.encode("x")) == asks_what_it_is_made_of
        assert TypeReply.decode(encode_dependencies(request, [(name, len(each)) for name, each in objects])) is None


def test_an_object_under_another_name_is_not_believed() -> None:
    one, other = (describe(of) for of in types(2, seed=4))
    lie = encode_types(TypeRequest(ASKER, 1, ()), [(one.complete, other.objects()[other.complete])])
    with pytest.raises(WireFormatError, match="not the one of its name"):
        TypeReply.decode(lie)


def test_names_have_the_same_hash_in_either_form() -> None:
    assert name_hash("#" + name_hash("price").hex()) == name_hash("price")
    assert hash_of(MINIMAL, b"x").digest == hash_of(COMPLETE, b"x").digest


def damaged(dice: random.Random, octets: bytes) -> bytes:
    changed = bytearray(octets)
    for _ in range(dice.randint(1, 4)):
        changed[dice.randrange(len(changed))] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)])
    return bytes(changed[: dice.randint(0, len(changed))] if dice.random() < 0.3 else changed)


@pytest.mark.parametrize("what", ["object", "information", "request", "reply"])
def test_damage_is_refused_and_never_raises_anything_else(what: str) -> None:
    dice, refused = random.Random(what), 0
    for of in types(60, seed=5):
        described = describe(of)
        objects = tuple(described.objects().items())
        request = TypeRequest(ASKER, 1, tuple(name for name, _ in objects))
        whole, read = {
            "object": (objects[0][1], read_object),
            "information": (TypeInformation.of(described).encode(), partial(read_information, little=True)),
            "request": (request.encode("x"), TypeRequest.decode),
            "reply": (encode_types(request, objects), TypeReply.decode),
        }[what]
        for _ in range(100):
            try:
                read(damaged(dice, whole))
            except WireFormatError:
                refused += 1
    assert refused > 600
