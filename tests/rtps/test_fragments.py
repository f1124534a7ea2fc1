"""Samples in pieces: whole in any order, once each, within a budget that is given back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import WireFormatError
from rookery.rtps.context import ParticipantContext
from rookery.rtps.fragments import Reassembly
from rookery.rtps.limits import Limits
from rookery.rtps.submessages import DataFragment

SIZE = 8


def fragment(sample: bytes, number: int, *, sequence: int = 1, count: int = 1) -> DataFragment:
    piece = sample[(number - 1) * SIZE : (number - 1 + count) * SIZE]
    return DataFragment(0, 0x103, sequence, number, count, SIZE, len(sample), piece, False, ())


@given(st.binary(min_size=1, max_size=100), st.randoms(use_true_random=False), st.integers(1, 3))
def test_pieces_in_any_order_and_more_than_once_make_the_sample(sample: bytes, random: object, count: int) -> None:
    context = ParticipantContext(b"p" * 12)
    pieces = Reassembly(context)
    numbers = list(range(1, -(-len(sample) // SIZE) + 1, count))
    random.shuffle(numbers)  # type: ignore[attr-defined]
    for number in numbers[:-1]:
        for _ in range(2):
            assert pieces.add(fragment(sample, number, count=count)) is None
        assert 1 in pieces
    missing = set(pieces.missing(1)) if len(numbers) > 1 else set()
    assert not missing or missing <= set(range(numbers[-1], numbers[-1] + count))
    assert pieces.add(fragment(sample, numbers[-1], count=count)) == sample
    assert 1 not in pieces
    assert context.fragment_bytes == 0


def test_the_oldest_of_the_same_writer_makes_room() -> None:
    context = ParticipantContext(b"p" * 12, limits=Limits(fragmented_samples=2))
    pieces = Reassembly(context)
    for sequence in (1, 2, 3):
        pieces.add(fragment(bytes(24), 1, sequence=sequence))
    assert [sequence in pieces for sequence in (1, 2, 3)] == [False, True, True]
    assert context.counters["fragmented_samples"] == 1
    pieces.discard_below(3)
    assert [sequence in pieces for sequence in (2, 3)] == [False, True]
    pieces.clear()
    assert context.fragment_bytes == 0


def test_the_budget_is_that_of_all_writers() -> None:
    context = ParticipantContext(b"p" * 12, limits=Limits(fragment_bytes=400))
    one, other = Reassembly(context), Reassembly(context)
    for number in (1, 2):
        one.add(fragment(bytes(80), number))
    other.add(fragment(bytes(80), 1))  # there is no room, and the other writer has nothing older to give
    assert 1 in one
    assert 1 not in other
    assert context.counters["fragment_bytes"] == 1


def test_claims_that_cannot_be() -> None:
    pieces = Reassembly(ParticipantContext(b"p" * 12, limits=Limits(sample_bytes=50)))
    with pytest.raises(WireFormatError, match="the limit is 50"):
        pieces.add(fragment(bytes(51), 1))
    pieces.add(fragment(bytes(24), 1))
    with pytest.raises(WireFormatError, match="disagree about its size"):
        pieces.add(fragment(bytes(32), 2))
