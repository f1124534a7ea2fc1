"""What was mended of ownership, taken out again one by one: the histories must find each of these.

A mutant changes the classes that run, by a `MonkeyPatch`; it says nothing of what fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

import pytest

from rookery.brokers import leases, membership, owned_zone, ownership, placement, takeover
from rookery.brokers.batches import Placed
from rookery.brokers.broker import Broker
from rookery.brokers.leases import Leases
from rookery.brokers.messages import PlacedSubscription
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.placement import Placement
from rookery.brokers.routing_table import RoutingTable
from rookery.brokers.versions import Versions
from rookery.machine import ClientId, log
from rookery.machine.disk import File
from rookery.simulated.brokers import SimulatedClient
from rookery.simulated.world import Process
from rookery.space.zones import Path

Mutant: TypeAlias = Callable[[pytest.MonkeyPatch], None]
#: Wall clocks stood at about this when the defect was found.
TODAY = 1_700_000_000_000_000


class _VersionsByTheClock(Versions):
    """The version of a subscription is the wall clock of its client, as it was."""

    __slots__ = ("_clock",)

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__()
        self._clock = clock

    def learn(self, version: int) -> None:
        """Ask nobody but the clock."""

    def next(self, name: str) -> int | None:
        self._current[name] = TODAY + self._clock()
        return self._current[name]


def versions_by_the_clock(patch: pytest.MonkeyPatch) -> None:
    """Versions are wall clocks, and a zone says *placed* whatever it has stored."""

    def answer(self: Placement, owned: OwnedZone, subscriptions: Iterable[PlacedSubscription]) -> None:
        for one in subscriptions:
            self._broker.send(one.access_broker, Placed(owned.path, ((one.subscription_id, one.version),)))

    patch.setattr(Placement, "_answer", answer)

    start = SimulatedClient._start

    def starting(client: SimulatedClient) -> Process:
        process, world = start(client), client._network.world
        client.machine.versions = _VersionsByTheClock(lambda: world.wall_time(ClientId(client.number)))
        return process

    patch.setattr(SimulatedClient, "_start", starting)


def no_leases(patch: pytest.MonkeyPatch) -> None:
    """An owner accepts and places for as long as it has heard of nobody else."""
    patch.setattr(Leases, "is_held", lambda self, owned: True)


def no_waking_up(patch: pytest.MonkeyPatch) -> None:
    """A broker that slept takes over, lets leases end and matches for the last time as if it had listened."""
    patch.setattr(Broker, "_advance", lambda self, now: setattr(self, "now", max(now, self.now)))
    patch.setattr(RoutingTable, "held_up", lambda self, late: None)


def zones_overlap_by_their_paths(patch: pytest.MonkeyPatch) -> None:
    """Zones of two trees that were cut differently pass for apart: whoever has one hears of no winner."""

    def overlap(one: Path, other: Path) -> bool:
        shorter = min(len(one), len(other))
        return one[:shorter] == other[:shorter]

    for module in (leases, membership, owned_zone, ownership, placement, takeover):
        patch.setattr(module, "overlap", overlap)


def moves_ignore_what_the_disk_takes(patch: pytest.MonkeyPatch) -> None:
    """A log that moves takes it for written whatever the disk has taken of it, as when all of it was one write."""

    def write(file: File, data: bytes, offset: int) -> None:
        with suppress(OSError):
            file.write(data, offset)

    patch.setattr(log, "write_all", write)
