"""The ancestor queue: the latest residents first, the silent forgotten."""

from __future__ import annotations

import random

from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.ownership import ZoneOwnership
from rookery.papers.seed_003.static import StaticBrokers
from rookery.space.zones import (
    box_of,
    contains,
)


def test_the_ancestor_queue_keeps_the_latest_residents_and_forgets_the_silent() -> None:
    zones = StaticBrokers.balanced(2, 4).paths()
    queue = AncestorQueue(zones[0], dimensions=2, bits=2, capacity=3)
    for owner in range(4, 8):
        queue.learn(ZoneOwnership(zones[owner], 1, owner))
    (residents,) = [entries for zone, entries in queue.levels[1].items() if zone == zones[4][:2]]
    assert [ownership.owner for ownership in residents] == [7, 6, 5]
    queue.prefer(ZoneOwnership(zones[5], 1, 5))
    queue.learn(ZoneOwnership(zones[4], 1, 4))
    assert [ownership.owner for ownership in residents] == [5, 4, 7]
    queue.forget(5)
    for _ in range(3):
        queue.renew()
        queue.learn(ZoneOwnership(zones[4], 1, 4))
    assert [ownership.owner for ownership in queue] == [4]
    assert all(not contains(box_of(zones[0][:2], 2), point) for point in queue.probes(random.Random(1))[:2])


def test_what_is_kept_does_not_grow_with_what_passes_by() -> None:
    zones = StaticBrokers.balanced(2, 10).paths()
    queue = AncestorQueue(zones[0], dimensions=2, bits=2, capacity=3)
    for owner in range(1, len(zones)):
        queue.learn(ZoneOwnership(zones[owner], 1, owner))
        queue.learn(ZoneOwnership(zones[-owner], 1, len(zones) - owner), first=False)
    assert len(queue) > 20
    assert len(queue._learned) == len(queue)


def test_who_says_that_it_is_elsewhere_resides_there_no_more() -> None:
    """Else it is a way to where it is not, until its lease ends: a route over it may come back and go there again."""
    zones = StaticBrokers.balanced(2, 4).paths()
    queue = AncestorQueue(zones[0], dimensions=2, bits=2, capacity=3)
    for owner in range(4, 7):
        queue.learn(ZoneOwnership(zones[owner], 1, owner))
    queue.learn(ZoneOwnership(zones[8], 1, 8))
    queue.moved(ZoneOwnership(zones[8], 2, 5))  # no resident of that zone is known to have gone
    assert {one.owner for one in queue} == {4, 6, 8}
    queue.learn(ZoneOwnership(zones[8], 2, 5))
    queue.moved(ZoneOwnership(zones[8][:-1], 3, 5))  # it has merged its zone, and resides there as before
    assert {one.owner for one in queue} == {4, 5, 6, 8}
    queue.moved(ZoneOwnership(zones[15], 9, 8))
    queue.moved(ZoneOwnership(zones[15], 9, 5))
    assert {one.owner for one in queue} == {4, 6}
    assert {zone for level in queue.levels for zone in level} == {zones[4][:2]}  # an entry without residents is none
    queue.moved(ZoneOwnership(zones[15], 9, 77))  # never heard of
    assert len(queue._learned) == len(queue) == 2
