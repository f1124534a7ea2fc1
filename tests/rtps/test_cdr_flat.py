"""The short way of flat structs gives what the long way gives, or nothing."""

from __future__ import annotations

import pickle
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import EventError, WireFormatError
from rookery.rtps.cdr import decode_sample, encode_sample
from rookery.rtps.cdr_flat import flat_codec
from rookery.rtps.qos import XCDR1, XCDR2
from rookery.rtps.types import CdrMember, CdrSequence, CdrString, CdrStruct, Extensibility, Primitive

FLAT = [kind for kind in Primitive if kind is not Primitive.CHAR]
VALUES: dict[object, st.SearchStrategy[Any]] = {
    Primitive.BOOLEAN: st.booleans(),
    Primitive.FLOAT32: st.floats(width=32, allow_nan=False),
    Primitive.FLOAT64: st.floats(allow_nan=False),
    **{
        kind: st.integers(
            -(1 << 8 * kind.size - 1) if kind.code.islower() else 0,
            (1 << 8 * kind.size - (1 if kind.code.islower() else 0)) - 1,
        )
        for kind in FLAT
        if kind not in (Primitive.BOOLEAN, Primitive.FLOAT32, Primitive.FLOAT64)
    },
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
ODD = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3))


@st.composite
def structs_and_values(draw: st.DrawFn) -> tuple[CdrStruct, dict[str, Any]]:
    kinds = draw(st.lists(st.sampled_from([*FLAT, CdrString()]), min_size=1, max_size=8))
    fields = tuple(CdrMember(f"m{number}", kind) for number, kind in enumerate(kinds))
    event = {field.name: draw(TEXTS if isinstance(field.type, CdrString) else VALUES[field.type]) for field in fields}
    return CdrStruct("t", fields), event


@given(structs_and_values(), st.sampled_from([XCDR1, XCDR2]))
def test_both_ways_are_one(drawn: tuple[CdrStruct, dict[str, Any]], representation: int) -> None:
    of, event = drawn
    codec = flat_codec(of, representation)
    assert codec is not None
    payload = codec.encode(event)
    assert payload == encode_sample(of, event, representation=representation)
    assert codec.decode(payload) == decode_sample(of, payload)
    assert pickle.loads(pickle.dumps(codec)).encode(event) == payload


@given(structs_and_values(), st.data())
def test_what_is_not_regular_is_declined_or_the_same(
    drawn: tuple[CdrStruct, dict[str, Any]], data: st.DataObject
) -> None:
    of, event = drawn
    codec = flat_codec(of, XCDR1)
    assert codec is not None
    event[data.draw(st.sampled_from(list(event)))] = data.draw(ODD)
    payload = codec.encode(event)
    if payload is not None:
        assert payload == encode_sample(of, event, representation=XCDR1)


@given(structs_and_values(), st.data())
def test_damaged_octets_are_declined_or_read_as_the_long_way_reads_them(
    drawn: tuple[CdrStruct, dict[str, Any]], data: st.DataObject
) -> None:
    of, event = drawn
    codec = flat_codec(of, XCDR1)
    assert codec is not None
    payload = bytearray(encode_sample(of, event, representation=XCDR1))
    at = data.draw(st.integers(0, len(payload) - 1))
    payload[at] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0xFF]))
    damaged = bytes(payload[: data.draw(st.integers(0, len(payload)))] + data.draw(st.binary(max_size=5)))
    found = codec.decode(damaged)
    if found is not None:
        packed = [struct.pack("<d", value) if isinstance(value, float) else value for value in found.values()]
        plain = decode_sample(of, damaged).values()
        assert packed == [struct.pack("<d", value) if isinstance(value, float) else value for value in plain]


def test_wrong_values_and_octets_are_named_by_the_long_way() -> None:
    of = CdrStruct(
        "t", (CdrMember("n", Primitive.INT8), CdrMember("s", CdrString()), CdrMember("b", Primitive.BOOLEAN))
    )
    codec = flat_codec(of, XCDR1)
    assert codec is not None
    for event in ({"n": 128, "s": "", "b": True}, {"n": 1, "s": "\ud800", "b": True}, {"n": 1, "s": ""}):
        assert codec.encode(event) is None
        with pytest.raises((EventError, UnicodeEncodeError)):
            encode_sample(of, event, representation=XCDR1)
    whole = codec.encode({"n": 1, "s": "ab", "b": True})
    assert whole is not None
    for damaged in (whole[:-1], whole[:9], whole.replace(b"ab\0", b"ab!"), whole.replace(b"ab", b"\xff\xff")):
        assert codec.decode(damaged) is None
        with pytest.raises(WireFormatError):
            decode_sample(of, damaged)


def test_types_that_are_not_flat_have_no_short_way() -> None:
    for of in (
        CdrStruct("t", (CdrMember("c", Primitive.CHAR),)),
        CdrStruct("t", (CdrMember("s", CdrString(bound=3)),)),
        CdrStruct("t", (CdrMember("q", CdrSequence(Primitive.INT8)),)),
        CdrStruct("t", (CdrMember("n", Primitive.INT8, optional=True),)),
        CdrStruct("t", (CdrMember("n", Primitive.INT8),), Extensibility.APPENDABLE),
    ):
        assert flat_codec(of, XCDR1) is None
