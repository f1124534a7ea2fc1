"""Ownership: of all that overlap the prevailing one is kept by everyone, in whatever order it is heard."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from tests.space.test_zones import paths

from rookery.brokers.ownership import OwnershipMap, ZoneOwnership
from rookery.space.zones import (
    overlap,
)


@given(
    ownerships=st.lists(st.builds(ZoneOwnership, paths(longest=4), st.integers(0, 3), st.integers(1, 3)), max_size=8),
    seed=st.integers(),
)
def test_ownerships_that_prevail_over_all_others_are_kept_in_any_order(
    ownerships: list[ZoneOwnership], seed: int
) -> None:
    shuffled = random.Random(seed).sample(ownerships, len(ownerships))
    one = {ownership.path: (ownership.epoch, ownership.owner) for ownership in OwnershipMap(ownerships)}
    kept = list(OwnershipMap(shuffled))
    assert all(not overlap(a.path, b.path) for a in kept for b in kept if a is not b)
    for ownership in ownerships:
        if all(
            ownership is other or not overlap(ownership.path, other.path) or ownership.prevails(other)
            for other in ownerships
        ):
            assert one[ownership.path] == (ownership.epoch, ownership.owner)
            assert ownership in kept
