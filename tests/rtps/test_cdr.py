"""CDR: samples come back, wrong values say where, and Cyclone DDS writes the same octets."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import EventError, TopicError, WireFormatError
from rookery.rtps.cdr import decode_key, decode_sample, encode_key, encode_sample, key_hash
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Primitive,
    Type,
    smallest_size,
)

RANGES = {
    Primitive.OCTET: (0, 255),
    Primitive.UINT8: (0, 255),
    Primitive.INT8: (-128, 127),
    Primitive.INT16: (-(1 << 15), (1 << 15) - 1),
    Primitive.UINT16: (0, (1 << 16) - 1),
    Primitive.INT32: (-(1 << 31), (1 << 31) - 1),
    Primitive.UINT32: (0, (1 << 32) - 1),
    Primitive.INT64: (-(1 << 63), (1 << 63) - 1),
    Primitive.UINT64: (0, (1 << 64) - 1),
}
COLOR = CdrEnum("Color", (("RED", 0), ("GREEN", 5), ("BLUE", -2)))


def composed(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return st.one_of(
        st.builds(CdrSequence, inner),
        st.builds(CdrArray, inner, st.integers(1, 4)),
        structs(inner),
    )


def structs(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[CdrStruct]:
    def build(types: list[Type]) -> CdrStruct:
        return CdrStruct("S", tuple(CdrMember(f"f{i}", each) for i, each in enumerate(types)))

    return st.lists(inner, min_size=1, max_size=4).map(build)


leaves = st.sampled_from([*Primitive]) | st.just(CdrString()) | st.just(COLOR)
types: st.SearchStrategy[Type] = st.recursive(leaves, composed, max_leaves=6)


def values(of: Type) -> st.SearchStrategy[Any]:
    match of:
        case Primitive.BOOLEAN:
            return st.booleans()
        case Primitive.CHAR:
            return st.integers(0, 255).map(chr)
        case Primitive.FLOAT32:
            return st.floats(width=32, allow_nan=False)
        case Primitive.FLOAT64:
            return st.floats(allow_nan=False)
        case Primitive():
            return st.integers(*RANGES[of])
        case CdrString():
            return st.text(st.characters(codec="utf-8"), max_size=9)
        case CdrEnum():
            return st.sampled_from([name for name, _ in of.members])
        case CdrSequence():
            if of.element is Primitive.OCTET:
                return st.binary(max_size=5)
            return st.lists(values(of.element), max_size=4)
        case CdrArray():
            if of.element is Primitive.OCTET:
                return st.binary(min_size=of.length, max_size=of.length)
            return st.lists(values(of.element), min_size=of.length, max_size=of.length)
        case CdrStruct():
            return st.fixed_dictionaries({field.name: values(field.type) for field in of.fields})


def plain(of: Type, value: Any, at: int, order: str) -> bytes:
    """The slow twin: the octets of a value that begins at `at`, one primitive after the other."""
    match of:
        case Primitive():
            value = value.encode("latin-1") if of is Primitive.CHAR else value
            return bytes(-at % of.size) + struct.pack(order + of.code, value)
        case CdrEnum():
            return plain(Primitive.INT32, dict(of.members)[value], at, order)
        case CdrString():
            octets = value.encode() + b"\0"
            return plain(Primitive.UINT32, len(octets), at, order) + octets
        case CdrSequence():
            out = plain(Primitive.UINT32, len(value), at, order)
            for element in value:
                out += plain(of.element, element, at + len(out), order)
            return out
        case CdrArray():
            out = b""
            for element in value:
                out += plain(of.element, element, at + len(out), order)
            return out
        case CdrStruct():
            out = b""
            for field in of.fields:
                out += plain(field.type, value[field.name], at + len(out), order)
            return out


@given(structs(types), st.data(), st.booleans())
def test_samples_come_back_and_agree_with_the_slow_twin(of: CdrStruct, choose: st.DataObject, little: bool) -> None:
    value = choose.draw(values(of))
    payload = encode_sample(of, value, little=little)
    assert decode_sample(of, payload) == value
    body = plain(of, value, 0, "<" if little else ">")
    assert payload[:4] == bytes((0, int(little), 0, -len(body) % 4))
    assert payload[4:] == body + bytes(-len(body) % 4)
    assert len(body) >= smallest_size(of) >= 1


@given(structs(types), st.binary(max_size=60), st.booleans())
def test_noise_is_refused_or_read_but_never_crashes(of: CdrStruct, noise: bytes, little: bool) -> None:
    try:
        decode_sample(of, bytes((0, little, 0, 0)) + noise)
    except WireFormatError:
        return


KEYED = CdrStruct(
    "K",
    (
        CdrMember("id", Primitive.INT32, key=True),
        CdrMember("price", Primitive.FLOAT64),
        CdrMember(
            "place",
            CdrStruct("P", (CdrMember("x", Primitive.INT16, key=True), CdrMember("y", Primitive.INT16))),
            key=True,
        ),
    ),
)
LONG = CdrStruct("L", (CdrMember("name", CdrString(), key=True), CdrMember("size", Primitive.INT64)))


def test_keys_are_the_key_fields_alone() -> None:
    value = {"id": 7, "price": 1.5, "place": {"x": -2, "y": 3}}
    assert decode_key(KEYED, encode_key(KEYED, value)) == {"id": 7, "place": {"x": -2}}
    assert key_hash(KEYED, value) == bytes.fromhex("00000007fffe") + bytes(10)


def test_long_keys_are_hashed() -> None:
    import hashlib

    octets = struct.pack(">I", 4) + b"abc\0"
    assert key_hash(LONG, {"name": "abc", "size": 1}) == hashlib.md5(octets).digest()
    bounded = CdrStruct("B", (CdrMember("name", CdrString(bound=11), key=True),))
    assert key_hash(bounded, {"name": "abc"}) == octets.ljust(16, b"\0")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"number": 1}, "field 'text' is missing"),
        ({"number": "one", "text": ""}, "M.number: 'one' is no int32"),
        ({"number": 1 << 40, "text": ""}, "is no int32"),
        ({"number": 1, "text": 5}, "M.text: 5 is no string"),
        ([1, 2], "no mapping of fields"),
    ],
)
def test_wrong_values_say_where(value: Any, reason: str) -> None:
    of = CdrStruct("M", (CdrMember("number", Primitive.INT32), CdrMember("text", CdrString())))
    with pytest.raises(EventError, match=reason):
        encode_sample(of, value)


@pytest.mark.parametrize(
    ("of", "value", "reason"),
    [
        (Primitive.BOOLEAN, 1, "not True or False"),
        (COLOR, "PINK", "no member of Color"),
        (CdrSequence(Primitive.INT16, bound=2), [1, 2, 3], "the bound is 2"),
        (CdrArray(Primitive.INT16, 2), [1], "the array has 2"),
        (CdrSequence(Primitive.INT16), b"12", "another type"),
        (CdrSequence(CdrString()), "ab", "no sequence"),
        (CdrString(bound=3), "abcd", "the bound is 3"),
        (Primitive.CHAR, "€", "is no char"),
        (Primitive.OCTET, 256, "is no octet"),
        (Primitive.FLOAT64, "1", "is no double"),
    ],
)
def test_wrong_values_of_each_type(of: Type, value: Any, reason: str) -> None:
    with pytest.raises(EventError, match=reason):
        encode_sample(CdrStruct("M", (CdrMember("f", of),)), {"f": value})


@pytest.mark.parametrize(
    ("of", "octets", "reason"),
    [
        (CdrSequence(Primitive.INT64), b"\xff\xff\xff\xff", "4294967295 elements claimed"),
        (CdrSequence(CdrString()), b"\xff\xff\xff\x7f", "elements claimed"),
        (CdrString(), b"\xff\xff\xff\xff", "octets expected"),
        (CdrString(), b"\x02\x00\x00\x00ab", "end with NUL"),
        (CdrString(), b"\x02\x00\x00\x00\xff\x00", "not UTF-8"),
        (Primitive.BOOLEAN, b"\x02", "neither 0 nor 1"),
        (COLOR, b"\x07\x00\x00\x00", "no member of Color"),
        (Primitive.INT64, b"\x00" * 7, "8 octets expected"),
        (Primitive.OCTET, b"\x00" * 5, "4 octets after"),
        (CdrString(bound=1), b"\x03\x00\x00\x00ab\x00", "longer than its bound"),
        (CdrSequence(Primitive.OCTET, bound=1), b"\x02\x00\x00\x00ab", "the bound is 1"),
    ],
)
def test_wrong_octets_of_each_type(of: Type, octets: bytes, reason: str) -> None:
    with pytest.raises(WireFormatError, match=reason):
        decode_sample(CdrStruct("M", (CdrMember("f", of),)), b"\x00\x01\x00\x00" + octets)


def test_other_encapsulations_are_refused() -> None:
    of = CdrStruct("M", (CdrMember("f", Primitive.OCTET),))
    for head in (b"", b"\x00\x01", b"\x00\x09\x00\x00\x01", b"\x00\x05\x00\x00\x01", b"\x01\x00\x00\x00\x01"):
        with pytest.raises(WireFormatError):
            decode_sample(of, head)


def test_types_that_cannot_be() -> None:
    with pytest.raises(TopicError, match="no field"):
        CdrStruct("S", ())
    with pytest.raises(TopicError, match="two fields"):
        CdrStruct("S", (CdrMember("a", Primitive.INT8), CdrMember("a", Primitive.INT8)))
    with pytest.raises(TopicError, match="cannot be a key"):
        CdrStruct("S", (CdrMember("a", CdrSequence(Primitive.INT8), key=True),))
    with pytest.raises(TopicError, match="0 elements"):
        CdrArray(Primitive.INT8, 0)
    with pytest.raises(TopicError, match="at least one member"):
        CdrEnum("E", ())


def test_not_a_number_comes_back() -> None:
    of = CdrStruct("M", (CdrMember("f", Primitive.FLOAT64),))
    assert math.isnan(decode_sample(of, encode_sample(of, {"f": math.nan}))["f"])
