"""Types as Fast DDS 2.9.1 announced them: octets that it wrote, read, compared, damaged and cut."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from rookery.errors import WireFormatError
from rookery.rtps.types import (
    CdrArray,
    CdrForeign,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Extensibility,
    Primitive,
)
from rookery.rtps.xtypes.plain_objects import plain_mismatch, read_plain_object

CASES = json.loads((Path(__file__).parents[2] / "cases" / "rtps" / "fastdds_types.json").read_text())["cases"]
QUOTE, COLLECTIONS, ANNOTATED, IN_PARTS = (bytes.fromhex(case["octets"]) for case in CASES)
QUOTE_HERE = CdrStruct(
    "Quote",
    (
        CdrMember("symbol", CdrString()),
        CdrMember("price", Primitive.FLOAT64),
        CdrMember("size", Primitive.INT64),
    ),
)


def test_what_fast_dds_wrote_is_read() -> None:
    assert read_plain_object(QUOTE) == replace(
        QUOTE_HERE, fields=(CdrMember("symbol", CdrString(255)), *QUOTE_HERE.fields[1:])
    )
    assert read_plain_object(COLLECTIONS) == CdrStruct(
        "A",
        (
            CdrMember("id", Primitive.INT32, key=True),
            CdrMember("s", CdrSequence(Primitive.FLOAT64, 100)),
            CdrMember("t", CdrSequence(Primitive.FLOAT64, 10)),
            CdrMember("u", CdrArray(CdrArray(Primitive.INT16, 300), 3)),
            CdrMember("v", CdrString(1_000)),
        ),
    )
    assert read_plain_object(ANNOTATED) == CdrStruct("C", (CdrMember("x", Primitive.INT32),))


def test_big_endian_is_read_too() -> None:
    header = bytes.fromhex("00000000f2510001000000000000000100000000000000010000000000000001000000000000000000000002")
    member = bytes.fromhex("4300000000000001000000000000040000000002780000000000000100000000000000010000000000000000")
    assert read_plain_object(header + member) == CdrStruct("C", (CdrMember("x", Primitive.INT32),))


def test_a_struct_whose_parts_are_named_by_hashes_is_not_known() -> None:
    found = read_plain_object(IN_PARTS)
    assert isinstance(found, CdrForeign)
    assert "hashes" in found.kind
    enumeration = bytearray(QUOTE)
    enumeration[5] = 0x40
    assert read_plain_object(bytes(enumeration)) == CdrForeign("a type of kind 0x40")


def test_what_fits_in_plain_octets_fits_and_what_does_not_is_told() -> None:
    there = read_plain_object(QUOTE)
    assert isinstance(there, CdrStruct)
    for extensibility in (Extensibility.FINAL, Extensibility.APPENDABLE):
        for we_read in (True, False):
            assert plain_mismatch(replace(QUOTE_HERE, extensibility=extensibility), there, we_read=we_read) is None
    mutable = plain_mismatch(replace(QUOTE_HERE, extensibility=Extensibility.MUTABLE), there, we_read=True)
    assert mutable is not None
    wrong = replace(QUOTE_HERE, fields=(*QUOTE_HERE.fields[:2], CdrMember("size", Primitive.FLOAT64)))
    for we_read in (True, False):
        apart = plain_mismatch(wrong, there, we_read=we_read)
        assert apart is not None
        assert apart.told(we_read=we_read) == "size is int64 there, float64 here"
    fewer = replace(QUOTE_HERE, fields=QUOTE_HERE.fields[:2])
    assert plain_mismatch(fewer, there, we_read=True) is not None
    assert plain_mismatch(replace(fewer, extensibility=Extensibility.APPENDABLE), there, we_read=True) is None


@pytest.mark.parametrize("one", [Primitive.OCTET, Primitive.UINT8, Primitive.INT8])
def test_octets_and_whole_numbers_of_eight_bits_are_one_kind_there(one: Primitive) -> None:
    there = CdrStruct("T", (CdrMember("x", CdrSequence(Primitive.OCTET)),))
    here = CdrStruct("T", (CdrMember("x", CdrSequence(one)),))
    assert plain_mismatch(here, there, we_read=True) is None


@pytest.mark.parametrize("octets", [QUOTE, COLLECTIONS, ANNOTATED, IN_PARTS])
def test_what_is_cut_or_damaged_is_read_or_refused(octets: bytes) -> None:
    refused = 0
    for length in range(len(octets)):
        with pytest.raises(WireFormatError):
            read_plain_object(octets[:length])
    dice = random.Random(1)
    for _ in range(3_000):
        damaged = bytearray(octets)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.choice((0, 1, 0x7F, 0xFF, dice.randrange(256)))
        try:
            read_plain_object(bytes(damaged))
        except WireFormatError:
            refused += 1
    assert 300 < refused < 3_000
