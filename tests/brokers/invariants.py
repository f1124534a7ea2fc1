"""The invariants K1 to K9 of the broker network, checked by looking at every broker at once."""

from __future__ import annotations

from collections.abc import Callable

from rookery import Schema
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.spanhop import next_hop
from rookery.errors import SpaceError
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.tables import face_neighbors
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.links import LinkConditions
from rookery.space.axes import Axis, EventSpace
from rookery.space.zones import Path, box_of, contains, inside, meets, touching

SECOND = 1_000_000
NAMES = ("x", "y", "z")
#: Long enough for everything to settle: deaths found out, zones taken over and passed on, subscriptions sent again.
SETTLED = 150 * SECOND
#: How often it is looked whether everything has: as often as brokers say that they are there.
LOOK = 5 * SECOND


def configuration(dimensions: int = 2, **options: object) -> BrokerConfiguration:
    names = NAMES[:dimensions]
    space = EventSpace(Schema(**dict.fromkeys(names, float)), [Axis(name) for name in names])
    return BrokerConfiguration(space=space, refresh=30 * SECOND, ancestors=30 * SECOND, **options)  # type: ignore[arg-type]


def network(
    brokers: int,
    *,
    seed: int = 1,
    dimensions: int = 2,
    conditions: LinkConditions | None = None,
    rests_long: bool = False,
    **options: object,
) -> SimulatedBrokers:
    """Make a network of so many brokers, one after the other, and let it settle, or rest until anything would have."""
    made = SimulatedBrokers(configuration(dimensions, **options), seed=seed, conditions=conditions)
    for _ in range(brokers):
        made.join()
        made.run(SECOND)
    until = made.world.now + SETTLED
    assert not brokers or settled(made), "a network that nothing happens to does not come to rest"
    made.run(until - made.world.now if rests_long else 0)
    return made


def settled(made: SimulatedBrokers, also: Callable[[], bool] = lambda: True, *, within: int = SETTLED) -> bool:
    """Let time pass until the invariants hold, and something more; say whether they came to in so much time."""
    until = made.world.now + within
    while not (is_at_rest(made) and also()):
        if made.world.now >= until:
            return False
        made.run(LOOK)
    return True


def is_at_rest(made: SimulatedBrokers) -> bool:
    """Whether the invariants hold, and no zone waits for subscriptions that it may have lost."""
    if any(
        owned.grace_until > made.world.time(number)
        for number, broker in made.brokers.items()
        for owned in broker.owned.values()
    ):
        return False
    try:
        check_all(made, [(0.5,) * made.configuration.space.dimensions])
    except (AssertionError, SpaceError):
        return False
    return True


def owned_zones(made: SimulatedBrokers) -> dict[Path, OwnedZone]:
    return {path: owned for broker in made.brokers.values() for path, owned in broker.owned.items()}


def check_zones(made: SimulatedBrokers) -> None:
    """K1: the zones tile the space, and every broker has one."""
    owned = [path for broker in made.brokers.values() for path in broker.owned]
    assert len(owned) == len(set(owned)), "two brokers own one zone"
    StaticBrokers.from_paths(owned, dimensions=made.configuration.space.dimensions)
    assert {number: len(broker.owned) for number, broker in made.brokers.items()} == dict.fromkeys(made.brokers, 1)
    for number, broker in made.brokers.items():
        for path, owned in broker.owned.items():
            assert (owned.ownership.path, owned.ownership.owner) == (path, number)


def check_neighbors(made: SimulatedBrokers) -> None:
    """K2: every neighbor table holds the face neighbors and nobody else, with their owners; hence it is symmetric."""
    all_owned = owned_zones(made)
    for path, owned in all_owned.items():
        beside = face_neighbors(path, list(all_owned), owned.dimensions)
        assert {ownership.path: ownership.owner for ownership in owned.neighbors} == {
            other: all_owned[other].ownership.owner for other in beside
        }
        assert owned.holes() == []


def check_ancestors(made: SimulatedBrokers) -> None:
    """K3 and K4: the levels follow the path, residents reside where they are listed, beside the ancestor."""
    for path, owned in owned_zones(made).items():
        bits = owned.bits
        assert len(owned.levels) == len(path) // bits + 1
        for level, entries in enumerate(owned.levels):
            ancestor = box_of(path[: level * bits], owned.dimensions)
            assert owned.queue.box(level) == ancestor
            for zone, residents in entries.items():
                assert inside(zone, path[: (level - 1) * bits])
                assert touching(ancestor, box_of(zone, owned.dimensions))
                assert 1 <= len(residents) <= made.configuration.residents
                assert all(inside(resident.path, zone) for resident in residents)
                assert owned.ownership.owner not in {resident.owner for resident in residents}


def route(made: SimulatedBrokers, source: OwnedZone, point: tuple[float, ...]) -> list[ZoneOwnership]:
    """Follow the tables, as they are, to the owner of a point."""
    owned, taken = source, []
    while (hop := next_hop(owned, point, usable=lambda ownership: ownership.owner in made.brokers)) is not None:
        taken.append(hop)
        (owned,) = made.brokers[hop.owner].owned.values()
        assert len(taken) < 100, "a loop"
    assert contains(owned.box, point)
    return taken


def check_routes(made: SimulatedBrokers, points: list[tuple[float, ...]]) -> None:
    """K5: from everywhere to everywhere, within the bound of the specification."""
    all_owned = owned_zones(made)
    deepest = max(len(path) for path in all_owned)
    for owned in all_owned.values():
        bits = owned.bits
        for point in points:
            assert len(route(made, owned, point)) <= max(1, (2**bits - 1) * -(-deepest // bits)) + deepest


def check_subscriptions(made: SimulatedBrokers) -> None:
    """K6: a subscription of a living client is stored in exactly the zones that its box meets, and nothing else is."""
    wanted = {
        name: subscription
        for broker in made.brokers.values()
        for name, subscription in broker.placement.clients.items()
        if broker.sessions.is_here(name)
    }
    for owned in owned_zones(made).values():
        stored = {held.subscription_id for held, _ in owned.store}
        assert stored == {
            name for name, held in wanted.items() if held.lower and meets(owned.box, held.lower, held.upper)
        }


def check_all(made: SimulatedBrokers, points: list[tuple[float, ...]]) -> None:
    """Check everything that holds when nothing moves."""
    check_zones(made)
    check_neighbors(made)
    check_ancestors(made)
    check_routes(made, points)
    check_subscriptions(made)
