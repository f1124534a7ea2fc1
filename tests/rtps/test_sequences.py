"""Sets of numbers as ACKNACK and GAP carry them: a base and up to 256 numbers from it on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.sequences import SET_BITS, NumberSet


@given(st.integers(1, 1 << 40), st.sets(st.integers(0, 400)), st.booleans())
def test_a_set_is_read_as_it_was_written_and_holds_what_it_can(base: int, offsets: set[int], little: bool) -> None:
    numbers = NumberSet.of(sorted(base + offset for offset in offsets), base=base)
    assert list(numbers) == sorted(base + offset for offset in offsets if offset < SET_BITS)
    assert NumberSet.decode(Cursor(numbers.encode(little=little), little=little)) == numbers


@given(st.integers(1, 1 << 20), st.sets(st.integers(0, SET_BITS - 1)))
def test_fragment_numbers_are_narrow(base: int, offsets: set[int]) -> None:
    numbers = NumberSet.of(sorted(base + offset for offset in offsets), base=base)
    encoded = numbers.encode(little=True, wide=False)
    assert len(encoded) == len(numbers.encode(little=True)) - 4
    assert NumberSet.decode(Cursor(encoded, little=True), wide=False) == numbers


def test_a_set_that_claims_too_much_is_refused() -> None:
    encoded = bytearray(NumberSet(1).encode(little=True))
    encoded[8:12] = (SET_BITS + 1).to_bytes(4, "little")
    with pytest.raises(WireFormatError):
        NumberSet.decode(Cursor(bytes(encoded) + bytes(64), little=True))
