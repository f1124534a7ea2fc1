"""The index of coordinates says where everybody resides, and whoever looked there is told of changes (Algorithms 2, 3).

No renewal helps here: the period of refreshes is longer than every run, so what is right was told by a message.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.messages import PutResident, ResidentChanged, ResidentsFound, Routed
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.proximity import closest, scale
from rookery.machine import Send
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.zones import Cut, Path, box_of, contains, inside

from .invariants import SECOND, configuration, owned_zones

SIDE = 100.0
EXTENT = ((0.0, 0.0), (SIDE, SIDE))
NEVER = 10_000_000 * SECOND


def placed(brokers: int, *, seed: int = 1) -> SimulatedBrokers:
    """Brokers with coordinates, of which none ever renews anything."""
    given = configuration(extent=EXTENT)
    settings = {name: getattr(given, name) for name in given.__slots__} | {"ancestors": NEVER}
    made = SimulatedBrokers(type(given)(**settings), seed=seed)
    generator = random.Random(seed)
    for _ in range(brokers):
        made.join(position=(generator.uniform(0, SIDE), generator.uniform(0, SIDE)))
        made.run(5 * SECOND)
    made.run(60 * SECOND)
    return made


def noted(made: SimulatedBrokers) -> set[tuple[Path, int, int]]:
    """Return the whole index: zone, resident, and at whose broker."""
    return {
        (zone, resident, number)
        for number, broker in made.brokers.items()
        for owned in broker.owned.values()
        for zone, entries in owned.index.items()
        for resident in entries
    }


def residing(made: SimulatedBrokers) -> set[tuple[Path, int, int]]:
    """Return what Algorithm 2 says the index has: everybody in its zone of each level, where its coordinates fall."""
    owners = owned_zones(made)
    found = set()
    for path, owned in owners.items():
        for depth in range(owned.bits, len(path) + 1, owned.bits):
            point = scale(made.brokers[owned.ownership.owner].position, box_of(path[:depth], 2), EXTENT)
            (holder,) = (other.ownership.owner for other in owners.values() if contains(other.box, point))
            found.add((path[:depth], owned.ownership.owner, holder))
    return found


def entries(made: SimulatedBrokers) -> Iterator[tuple[OwnedZone, Path, list[ZoneOwnership]]]:
    for owned in owned_zones(made).values():
        for level in owned.levels[1:]:
            for zone, residents in level.items():
                yield owned, zone, residents


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_everybody_is_noted_in_the_zones_of_all_its_levels_and_nowhere_else(seed: int) -> None:
    """Lines 2 to 8 for newcomers, lines 9 to 14 for those whose zone was split."""
    made = placed(24, seed=seed)
    assert noted(made) == residing(made)
    assert max(len(zone) for zone, _, _ in noted(made)) >= 4


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_who_leaves_is_struck_off_and_who_moves_is_noted_anew(seed: int) -> None:
    made = placed(24, seed=seed)
    for number in (3, 11, 7, 19):
        made.leave(number)
        made.run(60 * SECOND)
    assert len(made.brokers) == 20
    assert noted(made) == residing(made)


def test_who_located_a_zone_is_told_of_a_closer_resident() -> None:
    """Those who joined early are told of those who joined late, and choose among all as if they looked now."""
    made = placed(12)
    early = set(made.brokers)
    told = sum(broker.counters["ResidentChanged"] for broker in made.brokers.values())
    generator = random.Random("late")
    for _ in range(12):
        made.join(position=(generator.uniform(0, SIDE), generator.uniform(0, SIDE)))
        made.run(5 * SECOND)
    made.run(30 * SECOND)
    assert sum(broker.counters["ResidentChanged"] for broker in made.brokers.values()) > told
    late = [(owned, zone, residents[0]) for owned, zone, residents in entries(made) if owned.ownership.owner in early]
    assert sum(resident.owner not in early for _, _, resident in late) > len(late) / 4
    homes = {path: owned.ownership.owner for path, owned in owned_zones(made).items()}

    def away(owned: OwnedZone, other: int) -> float:
        return math.dist(made.brokers[owned.ownership.owner].position, made.brokers[other].position)

    least = [min(away(owned, owner) for path, owner in homes.items() if inside(path, zone)) for owned, zone, _ in late]
    assert sum(away(owned, resident.owner) for owned, _, resident in late) < 1.05 * sum(least)


def test_a_resident_is_preferred_by_an_older_claim() -> None:
    """What is noted of a resident is older than the last split of its zone."""
    whole: Path = (Cut(0, 1, 0.5), Cut(1, 0, 0.5))
    queue = AncestorQueue((Cut(0, 0, 0.5), Cut(1, 0, 0.5)), dimensions=2, bits=2, capacity=4)
    for ownership in (ZoneOwnership(whole, 3, 4), ZoneOwnership((*whole, Cut(0, 0, 0.75)), 5, 7)):
        queue.learn(ownership)
    queue.prefer(ZoneOwnership(whole, 2, 4))
    assert queue.preferred(whole) == ZoneOwnership(whole, 3, 4)
    queue.prefer(ZoneOwnership(whole, 4, 7))
    assert queue.preferred(whole) == ZoneOwnership((*whole, Cut(0, 0, 0.75)), 5, 7)
    queue.dismiss(whole, 7)
    assert queue.preferred(whole) is None
    assert [ownership.owner for ownership in queue] == [4]


@pytest.mark.parametrize("seed", [1, 3])
def test_who_chose_a_resident_that_leaves_chooses_another(seed: int) -> None:
    made = placed(24, seed=seed)
    choosers: dict[int, list[tuple[int, Path]]] = {}
    for owned, zone, _ in entries(made):
        preferred = owned.queue.preferred(zone)
        if preferred is not None:
            choosers.setdefault(preferred.owner, []).append((owned.ownership.owner, zone))
    popular = max(choosers, key=lambda owner: len(choosers[owner]))
    assert len(choosers[popular]) >= 4
    made.leave(popular)
    made.run(60 * SECOND)
    assert popular not in made.brokers
    for owned, zone, residents in entries(made):
        assert residents[0].owner != popular
        if (owned.ownership.owner, zone) in choosers[popular]:
            assert popular not in {resident.owner for resident in residents}


def test_one_who_hears_that_its_chosen_resident_moved_drops_it_and_looks_again() -> None:
    """A resident that lives on elsewhere: nothing comes back undeliverable, the message alone says so."""
    made = placed(24)
    owned, zone = next(
        (owned, zone)
        for owned, zone, residents in entries(made)
        if owned.queue.preferred(zone) is not None and len(residents) > 2
    )
    broker, chosen = made.brokers[owned.ownership.owner], owned.queue.preferred(zone)
    assert chosen is not None
    (entry,) = (level[zone] for level in owned.levels if zone in level)
    for resident, looks in ((entry[-1], 0), (chosen, 1)):
        before = broker.counters["located"]
        broker.receive(ResidentChanged(zone, resident, True), 99, made.calendar.now)
        made.perform(broker.id)
        left = [one.owner for level in owned.levels if zone in level for one in level[zone]]
        assert left
        assert resident.owner not in left
        assert broker.counters["located"] - before == looks
    made.run(SECOND)
    assert owned.queue.preferred(zone) is not None


def test_news_go_to_those_who_asked_here_and_once() -> None:
    """A repetition is no news, another position is, and nobody is told of itself."""
    made = placed(8)
    (broker,) = [one for one in made.brokers.values() if any(owned.watchers for owned in one.owned.values())][:1]
    (owned,) = broker.owned.values()
    zone, askers = next(iter(owned.watchers.items()))
    point = box_of(owned.path, 2).lower
    near = ZoneOwnership((*zone, Cut(0, 0, 0.1)), 1, 99, 0, (1.0, 1.0))

    def told(ownership: ZoneOwnership, lease: int) -> list[tuple[int, bool]]:
        broker.receive(Routed(point, PutResident(zone, ownership, lease), 99), 99, made.calendar.now)
        sent = [effect for effect in broker.effects() if isinstance(effect, Send)]
        return sorted((receiver, message.gone) for receiver, message in sent if isinstance(message, ResidentChanged))

    others = sorted(asker for asker in askers if asker != broker.id)
    assert others
    assert told(near, SECOND) == [(asker, False) for asker in others]
    assert told(near, SECOND) == []
    moved = ZoneOwnership(near.path, 1, 99, 0, (2.0, 2.0))
    assert told(moved, SECOND) == [(asker, False) for asker in others]
    assert told(moved, 0) == [(asker, True) for asker in others]
    assert told(moved, 0) == []
    itself = ZoneOwnership(near.path, 1, others[0], 0, (3.0, 3.0))
    assert told(itself, SECOND) == [(asker, False) for asker in others[1:]]


def test_what_is_not_renewed_is_forgotten() -> None:
    made = placed(8)
    for broker in made.brokers.values():
        broker.now += 4 * NEVER
        broker.proximity._prune()
        assert all(not owned.index and not owned.watchers for owned in broker.owned.values())


def test_an_answer_that_nobody_waits_for_and_news_without_coordinates_harm_nobody() -> None:
    made = placed(4)
    for broker in made.brokers.values():
        before = [(zone, list(residents)) for owned, zone, residents in entries(made)]
        broker.receive(ResidentsFound((Cut(0, 0, 0.3),), (ZoneOwnership((), 9, 99, 0, (1.0,)),)), 99, made.calendar.now)
        strange = ZoneOwnership((Cut(0, 1, 0.3),), 9, 99, 0, (1.0, 1.0))
        broker.receive(ResidentChanged((Cut(0, 1, 0.3),), strange, True), 99, made.calendar.now)
        assert [(zone, list(residents)) for owned, zone, residents in entries(made)] == before
    assert closest((0.0, 0.0), [ZoneOwnership((), 1, 1), ZoneOwnership((), 1, 2, 0, (3.0, 4.0))]) == ZoneOwnership(
        (), 1, 2, 0, (3.0, 4.0)
    )
