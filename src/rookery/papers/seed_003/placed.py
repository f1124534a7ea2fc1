"""A simulated network of brokers with coordinates, for the claims about who is found near whom.

Coordinates are drawn from a square, so that they are exact: what the claims judge is the search, not the measurement
(`seed-003/gnp-accuracy`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from rookery import Schema
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.ownership import ZoneOwnership
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.axes import Axis, EventSpace
from rookery.space.zones import Path

__all__ = ["SECOND", "PlacedBrokers"]

SECOND = 1_000_000
SIDE = 100.0


class PlacedBrokers:
    """The network; `period` is how often brokers look again for residents, in seconds."""

    def __init__(self, *, seed: int, period: int) -> None:
        space = EventSpace(Schema(x=float, y=float), [Axis("x", 0, 1), Axis("y", 0, 1)])
        self.network = SimulatedBrokers(
            BrokerConfiguration(space=space, extent=((0.0, 0.0), (SIDE, SIDE)), ancestors=period * SECOND), seed=seed
        )
        self._dice = random.Random(f"coordinates {seed}")

    def join(self, count: int) -> None:
        """Let brokers join, a second between two of them, and let them settle."""
        for _ in range(count):
            self.network.join(position=(self._dice.uniform(0, SIDE), self._dice.uniform(0, SIDE)))
            self.network.run(SECOND)
        self.network.run(120 * SECOND)

    def look_again(self) -> None:
        """Let all look for residents once more."""
        for broker in self.network.brokers.values():
            broker.refresh_ancestors()
            self.network.perform(broker.id)
        self.network.run(10 * SECOND)

    def counted(self, name: str) -> int:
        """Return the sum of a counter."""
        return sum(broker.counters[name] for broker in self.network.brokers.values())

    def entries(self) -> Iterator[tuple[int, Path, ZoneOwnership]]:
        """Return each broker with each zone of its queues, and the resident that it has first there."""
        for number, broker in self.network.brokers.items():
            for owned in broker.owned.values():
                for level in owned.levels[1:]:
                    for zone, residents in level.items():
                        yield number, zone, residents[0]

    def apart(self, one: int, other: int) -> float:
        """Return how far two brokers are from each other."""
        return math.dist(self.network.brokers[one].position, self.network.brokers[other].position)

    def homes(self) -> dict[Path, int]:
        """Return who owns which zone."""
        return {path: number for number, broker in self.network.brokers.items() for path in broker.owned}
