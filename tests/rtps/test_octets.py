"""A cursor reads what is there, and refuses to read what is not."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF), st.integers(-(1 << 31), (1 << 31) - 1), st.booleans())
def test_numbers_are_read_in_either_order(short: int, long: int, signed: int, little: bool) -> None:
    data = struct.pack(("<" if little else ">") + "HxxIi", short, long, signed)
    cursor = Cursor(data, little=little)
    assert cursor.u16() == short
    cursor.align(4)
    assert (cursor.u32(), cursor.i32(), cursor.remaining) == (long, signed, 0)


@given(st.binary(max_size=20), st.integers(0, 30))
def test_nothing_beyond_the_end_is_read(data: bytes, count: int) -> None:
    cursor = Cursor(data, little=True)
    if count <= len(data):
        assert cursor.take(count) == data[:count]
        assert cursor.remaining == len(data) - count
    else:
        with pytest.raises(WireFormatError):
            cursor.take(count)


def test_strings_end_with_a_zero_and_are_utf8() -> None:
    def read(octets: bytes) -> str:
        return Cursor(struct.pack("<I", len(octets)) + octets, little=True).string()

    assert read("täglich".encode() + b"\0") == "täglich"
    for wrong in (b"\xff\0", b"a\xc3\0"):
        with pytest.raises(WireFormatError):
            read(wrong)
