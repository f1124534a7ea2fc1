"""How values are laid out in XCDR1 and XCDR2, octet for octet, and where lengths stand."""

from __future__ import annotations

import pytest

from rookery.errors import EventError
from rookery.rtps.cdr import encode_sample, key_hash, representation_of
from rookery.rtps.cdr_encoding import has_length
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

WIDE = CdrStruct("Wide", (CdrMember("a", Primitive.UINT8), CdrMember("b", Primitive.INT64)))


def body(of: CdrStruct, value: dict[str, object], representation: int) -> str:
    octets = encode_sample(of, value, representation=representation)
    return octets[4 : len(octets) - octets[3]].hex()


@pytest.mark.parametrize(
    ("extensibility", "optional", "representation", "expected"),
    [
        ("FINAL", False, XCDR1, "01" + "00" * 7 + "0200000000000000"),
        ("FINAL", False, XCDR2, "01" + "00" * 3 + "0200000000000000"),
        ("APPENDABLE", False, XCDR1, "01" + "00" * 7 + "0200000000000000"),
        ("APPENDABLE", False, XCDR2, "0c000000" + "01000000" + "0200000000000000"),
        ("MUTABLE", False, XCDR2, "14000000" + "00000000" + "01000000" + "01000030" + "0200000000000000"),
        ("FINAL", True, XCDR2, "01010000" + "0200000000000000"),
        ("FINAL", True, XCDR1, "01000000" + "017f0800" + "01000000" + "08000000" + "0200000000000000"),
    ],
)
def test_layouts(extensibility: str, optional: bool, representation: int, expected: str) -> None:
    fields = (CdrMember("a", Primitive.UINT8), CdrMember("b", Primitive.INT64, optional=optional))
    of = CdrStruct("Wide", fields, Extensibility[extensibility])
    found = body(of, {"a": 1, "b": 2}, representation)
    assert found == expected


def test_an_absent_member_takes_a_truth_or_an_empty_header() -> None:
    of = CdrStruct("O", (CdrMember("a", CdrString(), optional=True),))
    assert body(of, {"a": None}, XCDR2) == body(of, {}, XCDR2) == "00"
    assert body(of, {}, XCDR1) == "017f0800" + "00000000" + "00000000"


def test_collections_of_primitives_alone_have_no_length_in_octets() -> None:
    color = CdrEnum("C", (("RED", 0),))
    assert not has_length(CdrSequence(Primitive.INT64))
    assert not has_length(CdrArray(CdrArray(Primitive.CHAR, 2), 2))
    assert has_length(CdrSequence(CdrString()))
    assert has_length(CdrSequence(CdrArray(Primitive.CHAR, 2)))
    assert has_length(CdrArray(color, 2))


def test_what_may_grow_is_written_in_xcdr2() -> None:
    grows = CdrStruct("G", (CdrMember("a", Primitive.INT8),), Extensibility.APPENDABLE)
    assert representation_of(WIDE) == XCDR1
    assert representation_of(grows) == XCDR2
    assert representation_of(CdrStruct("In", (CdrMember("a", CdrSequence(grows)),))) == XCDR2
    assert representation_of(CdrStruct("O", (CdrMember("a", Primitive.INT8, optional=True),))) == XCDR2


def test_the_name_of_an_instance_is_as_of_a_final_type_in_the_order_of_ids() -> None:
    fields = (CdrMember("b", Primitive.INT64, key=True, id=2), CdrMember("a", Primitive.UINT8, key=True, id=1))
    of = CdrStruct("K", fields, Extensibility.MUTABLE)
    assert key_hash(of, {"a": 1, "b": 2}).hex() == "01000000" + "0000000000000002" + "00000000"
    assert key_hash(of, {"a": 1, "b": 2}, representation=XCDR1).hex() == "01" + "00" * 7 + "0000000000000002"


def test_a_member_that_is_not_optional_must_be_given() -> None:
    of = CdrStruct("M", (CdrMember("a", Primitive.INT8),), Extensibility.MUTABLE)
    with pytest.raises(EventError, match="'a' is missing"):
        encode_sample(of, {})
