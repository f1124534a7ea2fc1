"""An owned zone: it sees holes among its neighbors, names its backups, and hands over all it knows."""

from __future__ import annotations

from random import Random

import numpy as np

from rookery.brokers.messages import PlacedSubscription, ZoneReport
from rookery.brokers.owned_zone import MOST_BACKUPS, OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.tables import face_neighbors
from rookery.space.zones import Path, box_of, contains, sibling, split

from .invariants import configuration

ZONES = StaticBrokers.balanced(2, 6).paths()
#: In the middle of the space: neighbors at every face.
MINE = next(path for path in ZONES if len(face_neighbors(path, ZONES, 2)) == 4)


def owned_zone(path: Path = MINE) -> OwnedZone:
    return OwnedZone(ZoneOwnership(path, 1, ZONES.index(path) if path in ZONES else 99), configuration())


def complete() -> OwnedZone:
    owned = owned_zone()
    for number, path in enumerate(ZONES):
        if path != MINE:
            owned.learn(ZoneOwnership(path, 1, number))
    return owned


def test_the_neighbors_are_those_that_share_a_face_and_leave_no_hole() -> None:
    owned = complete()
    assert {ownership.path for ownership in owned.neighbors} == set(face_neighbors(MINE, ZONES, 2))
    assert owned.holes() == []


def test_a_missing_neighbor_is_a_hole_and_the_hole_lies_in_its_zone() -> None:
    for missing in face_neighbors(MINE, ZONES, 2):
        owned = complete()
        owned.drop(missing)
        (point,) = owned.holes()
        assert contains(box_of(missing, 2), point)


def test_a_later_owner_of_a_part_replaces_the_neighbor() -> None:
    owned = complete()
    before = next(iter(owned.neighbors))
    axis = len(before.path) % 2
    for half in split(before.path, axis, sum(bounds[axis] for bounds in box_of(before.path, 2)) / 2):
        owned.learn(ZoneOwnership(half, 2, 70 + half[-1].bit))
    assert before not in list(owned.neighbors)
    assert owned.holes() == []
    assert not owned.learn(before), "an earlier epoch"


def test_the_sibling_is_the_first_backup_and_the_dead_are_none() -> None:
    owned = complete()
    first = ZONES.index(sibling(MINE))
    backups = owned.backups(lambda owner: True)
    assert backups[0] == first
    assert len(backups) == MOST_BACKUPS
    assert first not in owned.backups(lambda owner: owner != first)


def test_what_is_handed_over_arrives_with_the_time_its_leases_have_left() -> None:
    given = complete()
    box = given.box
    inside = PlacedSubscription("in", 1, "x > 0", (), box.lower, box.lower, 7)
    given.store.add(inside, 1_000)
    given.store.take_back("gone", (3, 7), 1_000)
    given.grace_until = 500
    for _ in range(20):
        given.reservoir.observe(1, np.array([box.lower]).__getitem__, Random(1))
    state = given.state(given.ownership, [(ownership, 3) for ownership in given.neighbors], 100)
    taken = owned_zone()
    taken.fill(state, 10_000)
    assert list(taken.store) == [(inside, 10_900)]
    assert list(taken.store.taken_back()) == [("gone", (3, 7), 10_900)]
    assert taken.grace_until == 10_400
    assert (taken.reservoir.points, taken.reservoir.seen) == ([box.lower] * 20, 20)


def test_a_part_of_a_zone_knows_what_the_neighbors_told_the_whole_of_themselves() -> None:
    """Else nobody would know the backups of one that is dead, and its zone would wait for long."""
    whole = complete()
    for ownership in whole.neighbors:
        whole.details[ownership.path] = ZoneReport(ownership, (1, 2), (), 1)
    part = owned_zone(split(MINE, 0, box_of(MINE, 2).lower[0] + 0.01)[0])
    for ownership in whole.neighbors:
        part.learn(ownership)
    part.inherit(whole)
    assert 0 < len(part.details) < len(whole.details)
    assert part.details.keys() == {ownership.path for ownership in part.neighbors}
