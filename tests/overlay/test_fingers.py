"""Fingers: for each distance class the nearest known, against a search through all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.overlay.fingers import Fingers
from rookery.overlay.identity import SemanticSpace, clockwise

SPACE = SemanticSpace(cell_count=1)


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=40, unique=True), st.data())
def test_each_class_has_its_nearest(places: list[int], data: st.DataObject) -> None:
    own, *peers = [SPACE.describe(node=node, random_id=place, cells=()) for node, place in enumerate(places)]
    fingers = Fingers(own)
    for one in data.draw(st.permutations(peers)):
        fingers.consider(one)
    gone = data.draw(st.sets(st.sampled_from(peers))) if peers else set()
    nearest: dict[int, int] = {}
    for one in sorted(peers, key=lambda one: clockwise(own, one)):
        nearest.setdefault(clockwise(own, one).bit_length(), one.node)
    assert sorted(one.node for one in fingers) == sorted(nearest.values())
    assert len(fingers) == len(nearest)
    for one in gone:
        fingers.remove(one.node)
    assert {one.node for one in fingers} == set(nearest.values()) - {one.node for one in gone}


def test_a_finger_is_replaced_by_a_newer_self_and_never_by_ourselves() -> None:
    own, old, new = (
        SPACE.describe(node=node, random_id=node, cells=(), epoch=epoch) for node, epoch in ((0, 0), (5, 0), (5, 1))
    )
    fingers = Fingers(own)
    assert fingers.consider(old)
    assert not fingers.consider(new)
    assert [one.epoch for one in fingers] == [1]
    assert not fingers.consider(old)
    assert not fingers.consider(own)
    assert [one.epoch for one in fingers] == [1]


def test_where_a_peer_stood_before_it_is_no_finger() -> None:
    """A walk would be led there, and on to where the peer is now, and back."""
    own, near, far = (
        SPACE.describe(node=node, random_id=place, cells=(), epoch=epoch)
        for node, place, epoch in ((0, 0, 0), (5, 1 << 20, 0), (5, 1 << 50, 1))
    )
    for order in ((near, far), (far, near)):
        fingers = Fingers(own)
        for one in order:
            fingers.consider(one)
        assert list(fingers) == [far]
