"""The matches of a batch: sets of (row, name), however they are written down."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rookery.brokers.batch_matches import BatchMatches
from rookery.brokers.batches import batch_of
from rookery.brokers.row_cuts import RowCuts

MATCHES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abcd")), unique=True)


@given(st.sets(st.sampled_from("xyz")), MATCHES, st.sets(st.sampled_from("abcdxyz")))
def test_batch_matches_are_sets_of_matches(every: set[str], some: list[tuple[int, str]], names: set[str]) -> None:
    matches = BatchMatches(tuple(every), tuple(row for row, _ in some), tuple(name for _, name in some))
    whole = set(matches.each(5))
    assert whole == {(row, name) for name in every for row in range(5)} | set(some)
    assert set(matches.only(names).each(5)) == {match for match in whole if match[1] in names}
    assert set(matches.without(names).each(5)) == {match for match in whole if match[1] not in names}
    assert set(matches.only(names).joined(matches.without(names)).each(5)) == whole
    assert bool(matches) == bool(whole)
    assert matches.counts(5) == Counter(name for _, name in whole)
    if whole:
        batch = batch_of(1, 0, [{"a": row} for row in range(5)])
        delivery = matches.delivery(1, batch, RowCuts(batch))
        numbers = delivery.batch.sequences()
        delivered = {
            (numbers[row], name)
            for row, name in BatchMatches(delivery.every, delivery.rows, delivery.names).each(len(numbers))
        }
        assert delivered == whole
