"""Routes by column: for every point what `next_hop` says, and parts that hold each event once, in order."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from rookery.brokers.column_routes import HERE, NOWHERE, ColumnRoutes, ZoneHops
from rookery.brokers.spanhop import next_hop
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.tables import exact_tables
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.zones import box_of

from .invariants import configuration


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 1), (2, 2), (2, 3), (3, 3), (2, 0)])
def test_the_kernel_says_what_next_hop_says(dimensions: int, bits: int) -> None:
    generator = random.Random(dimensions * 10 + bits)
    zones = StaticBrokers.grown(60, dimensions=dimensions, generator=np.random.default_rng(6), choices=1).paths()
    tables = exact_tables(
        zones, dimensions=dimensions, bits=bits or 1, resident=lambda broker, zone, within: generator.choice(within)
    )
    corners = np.array([corner for path in zones for corner in box_of(path, dimensions)])
    corners = np.minimum(corners, np.nextafter(1.0, 0.0))
    for table in generator.sample(tables, 12):
        table = replace(table, bits=bits)
        points = np.concatenate([np.random.default_rng(1).random((200, dimensions)), corners])
        dead = frozenset(generator.sample(range(60), 20))
        visited = frozenset(generator.sample(range(60), 20))
        for came_back in (False, True):
            hops = ZoneHops(table, lambda ownership, dead=dead: ownership.owner not in dead)
            found = hops.of(points, visited, came_back=came_back).tolist()
            for point, number in zip(points.tolist(), found, strict=True):
                wanted = next_hop(
                    table,
                    tuple(point),
                    usable=lambda ownership, dead=dead: ownership.owner not in dead,
                    neighbors_only=came_back,
                    used=visited if came_back else frozenset(),
                )
                is_here = all(
                    low <= x < high for x, low, high in zip(point, *box_of(table.path, dimensions), strict=True)
                )
                assert (number == HERE) == is_here
                if not is_here:
                    assert (None if number == NOWHERE else hops.owners[number]) == (wanted and wanted.owner)


def test_parts_hold_every_event_once_and_follow_what_changes() -> None:
    network = SimulatedBrokers(configuration(), seed=3)
    for _ in range(7):
        network.join()
        network.run(20_000_000)
    broker = network.brokers[1]
    routes = ColumnRoutes(broker)
    points = np.random.default_rng(5).random((500, 2))

    def check() -> set[int]:
        parts = routes.divide(points, ())
        assert sorted(np.concatenate([rows for _, rows in parts]).tolist()) == list(range(500))
        for where, rows in parts:
            assert rows.tolist() == sorted(rows.tolist())
            for row in rows.tolist():
                point = tuple(points[row].tolist())
                _, hop = broker._next_hop(point, (), came_back=False)
                assert where == (broker.owned_at(point) or (hop and hop.owner))
        return {where for where, _ in parts if isinstance(where, int)}

    hops = check()
    for gone in hops:
        broker.routing_table.lose(gone)
        assert gone not in check()
    # Two zones at once: what lies in either is taken, the rest goes on from the nearer one.
    taken = next(iter(network.brokers[2].owned.values()))
    broker.membership.open(taken.ownership)
    assert len(broker.owned) == 2
    check()
