"""Pieces: whatever the sizes, one behind the other they are all matches in order, each of whole events."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rookery
from rookery.matching import pieces
from rookery.matching.pieces import events_at_once, joined, merged, ordered_pieces

Array = np.ndarray[Any, Any]


def matches_of(event: int, most: int) -> list[int]:
    """Return slots that an event is said to match: some have none, some very many."""
    return [] if event % 3 == 0 else [(event * 7 + 13 * place) % 500 for place in range(event % most)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 900), st.integers(1, 40), st.integers(1, 300), st.integers(1, 200))
def test_pieces_are_all_matches_in_order(events: int, most: int, wanted: int, large: int) -> None:
    codes = np.arange(events, dtype=np.int64).reshape(-1, 1)
    asked: list[int] = []

    def probe(some: Array) -> Array:
        asked.append(len(some))
        found = [(at << 32) | slot for at, (code,) in enumerate(some.tolist()) for slot in matches_of(code, most)]
        return np.array(found[::-1], np.int64)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pieces, "FIRST_EVENTS", 16)
        patched.setattr(pieces, "LEAST_EVENTS", 2)
        patched.setattr(pieces, "MOST_EVENTS", 64)
        patched.setattr(pieces, "MOST_FACTOR", 1)
        patched.setattr(pieces, "WANTED_PAIRS", wanted)
        patched.setattr(pieces, "LARGE_PIECE", large)
        found = list(ordered_pieces(probe, codes))
    assert found
    assert sum(asked) == events
    assert all(count <= 128 for count in asked)
    expected = [(event, slot) for event in range(events) for slot in sorted(set(matches_of(event, most)))]
    whole = joined(found)
    assert list(zip(whole[0].tolist(), whole[1].tolist(), strict=True)) == expected
    assert all(len(one) >= large for one, _ in found[:-1])
    for (before, _), (after, _) in pairwise(found):
        assert before[-1] < after[0]  # no event stands in two


def test_of_few_attributes_more_events_are_matched_at_a_time_and_of_many_fewer() -> None:
    assert [events_at_once(attributes) for attributes in (0, 1, 4, 20, 200, 900)] == [
        16_384, 16_384, 8_192, 2_048, 655, 512,
    ]  # fmt: skip


def test_nothing_is_one_empty_piece() -> None:
    assert [len(one) for one, _ in merged([])] == [0]
    assert [len(one) for one in joined([])] == [0, 0]


def test_a_table_of_many_matches_has_them_all_in_order() -> None:
    matcher = rookery.matcher(rookery.Schema(x=int))
    matcher.add_boxes([f"s{number}" for number in range(700)], lower={"x": np.arange(700)})
    events = [{"event_id": number, "x": number % 900} for number in range(1_500)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pieces, "LARGE_PIECE", 5_000)
        table = matcher.match_many(events)
    assert table.column("event_id").num_chunks >= 2
    expected = [(one["event_id"], f"s{slot}", 1) for one in events for slot in range(700) if one["x"] >= slot]
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == expected
