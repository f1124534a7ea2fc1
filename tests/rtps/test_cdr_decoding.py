"""What is read of octets that somebody else wrote: older and newer types, other orders, hostile lengths."""

from __future__ import annotations

import random
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import WireFormatError
from rookery.rtps.cdr import decode_sample, encode_sample
from rookery.rtps.qos import XCDR1, XCDR2
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Extensibility,
    Primitive,
)

COLOR = CdrEnum("C", (("RED", 0), ("BLUE", 2)))
OLD = CdrStruct("T", (CdrMember("a", Primitive.UINT8),), Extensibility.APPENDABLE)
MORE = (
    CdrMember("flag", Primitive.BOOLEAN),
    CdrMember("text", CdrString()),
    CdrMember("color", COLOR),
    CdrMember("many", CdrSequence(Primitive.INT32)),
    CdrMember("raw", CdrArray(Primitive.OCTET, 3)),
    CdrMember("inner", CdrStruct("I", (CdrMember("x", Primitive.FLOAT64), CdrMember("c", Primitive.CHAR)))),
    CdrMember("note", CdrString(), optional=True),
)
NEW = replace(OLD, fields=(*OLD.fields, *MORE))
DEFAULTS = {
    "flag": False,
    "text": "",
    "color": "RED",
    "many": [],
    "raw": b"\0\0\0",
    "inner": {"x": 0.0, "c": "\0"},
    "note": None,
}


@pytest.mark.parametrize("representation", [XCDR1, XCDR2])
@pytest.mark.parametrize("extensibility", [Extensibility.APPENDABLE, Extensibility.MUTABLE])
def test_what_an_older_writer_left_out_has_its_default(representation: int, extensibility: Extensibility) -> None:
    old, new = (replace(of, extensibility=extensibility) for of in (OLD, NEW))
    # Three octets fill the payload up, and are no member.
    assert decode_sample(new, encode_sample(old, {"a": 7}, representation=representation)) == {"a": 7, **DEFAULTS}
    newer = encode_sample(new, {"a": 7, **DEFAULTS, "text": "x", "note": "y"}, representation=representation)
    assert decode_sample(old, newer) == {"a": 7}


def test_members_of_a_mutable_struct_come_in_any_order_and_size_of_header() -> None:
    of = CdrStruct("M", (CdrMember("a", Primitive.INT32), CdrMember("b", CdrString())), Extensibility.MUTABLE)
    short = struct.pack("<HHI", 1, 6, 2) + b"x\0\0\0" + struct.pack("<HHi", 0, 4, -3) + struct.pack("<HH", 0x3F02, 0)
    assert decode_sample(of, b"\0\3\0\0" + short) == {"a": -3, "b": "x"}


@pytest.mark.parametrize("representation", [XCDR1, XCDR2])
def test_an_unknown_member_that_must_be_understood_refuses_the_sample(representation: int) -> None:
    known = CdrStruct("M", (CdrMember("a", Primitive.INT32),), Extensibility.MUTABLE)
    more = replace(known, fields=(*known.fields, CdrMember("b", Primitive.INT32, must_understand=True)))
    octets = encode_sample(more, {"a": 1, "b": 2}, representation=representation)
    with pytest.raises(WireFormatError, match="must be understood"):
        decode_sample(known, octets)


def test_a_missing_key_refuses_the_sample() -> None:
    of = CdrStruct("M", (CdrMember("a", Primitive.INT32, key=True),), Extensibility.MUTABLE)
    with pytest.raises(WireFormatError, match="key a"):
        decode_sample(of, b"\0\x0b\0\0\0\0\0\0")


def test_a_few_octets_do_not_become_a_giant_default() -> None:
    of = replace(OLD, fields=(*OLD.fields, CdrMember("big", CdrArray(Primitive.INT64, 1 << 28))))
    with pytest.raises(WireFormatError, match="too large"):
        decode_sample(of, encode_sample(OLD, {"a": 1}))
    wide = replace(NEW, fields=(CdrMember("x", CdrArray(COLOR, 999)),))
    many = CdrStruct("S", (CdrMember("all", CdrSequence(wide)),))
    with pytest.raises(WireFormatError, match="too large"):
        decode_sample(many, b"\0\7\0\0" + struct.pack("<II", 4 + 40_000, 10_000) + bytes(40_000))


@given(st.integers(0), st.sampled_from(Extensibility), st.sampled_from([XCDR1, XCDR2]))
def test_nearly_right_octets_are_read_or_refused(seed: int, extensibility: Extensibility, representation: int) -> None:
    dice = random.Random(seed)
    of = CdrStruct("S", (CdrMember("all", CdrSequence(replace(NEW, extensibility=extensibility))), *NEW.fields))
    value = {"a": 1, **DEFAULTS, "text": "hello", "note": "x"}
    octets = bytearray(encode_sample(of, {"all": [value] * 2, **value}, representation=representation))
    for _ in range(dice.randint(1, 3)):
        octets[dice.randrange(4, len(octets))] = dice.choice((0, 1, 0xFF, dice.randrange(256)))
    try:
        found = decode_sample(of, bytes(octets[: dice.choice((len(octets), dice.randrange(4, len(octets))))]))
    except WireFormatError:
        return
    assert found.keys() == {"all", *value}
