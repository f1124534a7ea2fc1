"""Cyclone DDS as the oracle of CDR: its own serializer writes the same octets, of whole samples and of their keys."""

# No `from __future__ import annotations` here: Cyclone's IDL reads the annotations as types.
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps.cdr import decode_sample, encode_key, encode_sample
from rookery.rtps.types import CdrArray, CdrMember, CdrSequence, CdrString, CdrStruct, Primitive

pytest.importorskip("cyclonedds", reason="cyclonedds is not installed: pip install cyclonedds==11.0.1")

from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import key
from cyclonedds.idl.types import array, float32, int16, int32, int64, sequence, uint8


@dataclass
class Inner(IdlStruct, typename="Inner"):
    small: int16
    ratio: float


@dataclass
class Outer(IdlStruct, typename="Outer"):
    number: int32
    key("number")
    flag: bool
    wide: int64
    text: str
    inner: Inner
    many: sequence[Inner]
    words: sequence[str]
    row: array[float32, 3]
    raw: sequence[uint8]


INNER = CdrStruct("Inner", (CdrMember("small", Primitive.INT16), CdrMember("ratio", Primitive.FLOAT64)))
OUTER = CdrStruct(
    "Outer",
    (
        CdrMember("number", Primitive.INT32, key=True),
        CdrMember("flag", Primitive.BOOLEAN),
        CdrMember("wide", Primitive.INT64),
        CdrMember("text", CdrString()),
        CdrMember("inner", INNER),
        CdrMember("many", CdrSequence(INNER)),
        CdrMember("words", CdrSequence(CdrString())),
        CdrMember("row", CdrArray(Primitive.FLOAT32, 3)),
        CdrMember("raw", CdrSequence(Primitive.OCTET)),
    ),
)

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
inners = st.fixed_dictionaries({"small": st.integers(-(2**15), 2**15 - 1), "ratio": st.floats(allow_nan=False)})
outers = st.fixed_dictionaries(
    {
        "number": st.integers(-(2**31), 2**31 - 1),
        "flag": st.booleans(),
        "wide": st.integers(-(2**63), 2**63 - 1),
        "text": text,
        "inner": inners,
        "many": st.lists(inners, max_size=3),
        "words": st.lists(text, max_size=3),
        "row": st.lists(st.floats(width=32, allow_nan=False), min_size=3, max_size=3),
        "raw": st.binary(max_size=5),
    }
)


@given(outers)
def test_cyclone_writes_the_same_octets(value):
    theirs = Outer(
        **{
            **value,
            "inner": Inner(**value["inner"]),
            "many": [Inner(**each) for each in value["many"]],
            "raw": list(value["raw"]),
        }
    )
    octets = theirs.serialize(use_version_2=False)
    ours = encode_sample(OUTER, value)
    # Cyclone leaves the padding to whoever frames the payload.
    assert ours[4:].rstrip(b"\0") == octets[4:].rstrip(b"\0")
    assert 0 <= len(ours) - len(octets) < 4
    assert decode_sample(OUTER, octets) == value
    assert encode_key(OUTER, value) == theirs.serialize_key(use_version_2=False)
