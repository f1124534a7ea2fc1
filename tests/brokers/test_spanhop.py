"""Spanhop and greedy routing over exact tables: progress at every hop, and ways round failures."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from rookery.brokers.spanhop import greedy_hop, next_hop
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.tables import exact_tables
from rookery.space.zones import (
    box_of,
    contains,
    depth_of,
    gap,
)


@pytest.mark.parametrize(("dimensions", "bits"), [(2, 2), (2, 3), (3, 3)])
def test_every_hop_makes_progress(dimensions: int, bits: int) -> None:
    """K5: the level never falls, and within a level the distance of the level's zone strictly falls."""
    zones = StaticBrokers.grown(80, dimensions=dimensions, generator=np.random.default_rng(6), choices=1).paths()
    generator = random.Random(2)
    tables = exact_tables(
        zones, dimensions=dimensions, bits=bits, resident=lambda broker, zone, within: generator.choice(within)
    )
    deepest = max(map(len, zones))
    for _ in range(300):
        point = tuple(generator.random() for _ in range(dimensions))
        table, before, hops = generator.choice(tables), None, 0
        while (hop := next_hop(table, point)) is not None:
            level = depth_of(table.path, point, dimensions) // bits
            measure = (-level, gap(box_of(table.path[: (level + 1) * bits], dimensions), point))
            assert before is None or measure < before
            before, table, hops = measure, tables[hop.owner], hops + 1
        assert contains(box_of(table.path, dimensions), point)
        assert hops <= (2**bits - 1) * math.ceil(deepest / bits)


def test_failures_are_routed_round() -> None:
    """Cases 1 to 3: any single broker other than the ends may be dead."""
    zones = StaticBrokers.balanced(2, 6).paths()
    tables = exact_tables(zones, dimensions=2, bits=2, resident=lambda broker, zone, within: within[0])
    point = box_of(zones[-1], 2).lower
    for dead in range(1, len(zones) - 1):
        broker, visited = 0, []
        while not contains(box_of(zones[broker], 2), point):
            visited.append(broker)
            came_back = broker in visited[:-1]
            hop = next_hop(
                tables[broker],
                point,
                usable=lambda ownership, dead=dead: ownership.owner != dead,
                neighbors_only=came_back,
                used=frozenset(visited) if came_back else frozenset(),
            )
            assert hop is not None
            broker = hop.owner
    assert greedy_hop(tables[0], point) is not None
    assert greedy_hop(tables[-1], point) is None
