"""Bulks divide what there is, in its order, and none is larger than a frame has room for."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rookery.brokers.bulks import MOST_ITEMS, MOST_TEXT, bulks


@given(st.lists(st.integers(0, 3 * MOST_TEXT) | st.integers(0, 40), max_size=40), st.integers(1, 100))
def test_bulks_are_all_there_is_in_its_order_and_bounded(lengths: list[int], times: int) -> None:
    items = lengths * times
    found = list(bulks(items, lambda item: item))
    assert [item for bulk in found for item in bulk] == items
    assert all(0 < len(bulk) <= MOST_ITEMS for bulk in found)
    assert all(sum(bulk) <= MOST_TEXT or len(bulk) == 1 for bulk in found)
    for bulk, following in itertools.pairwise(found):
        assert len(bulk) == MOST_ITEMS or sum(bulk) + following[0] > MOST_TEXT, "a bulk is as large as may be"
