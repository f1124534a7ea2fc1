"""A site and its gateway, recorded: its participants and pairs, the sites it is joined to, the bytes between them.

The gateway is an observer of its own domain and is told everything there, so a site needs no second one. Each gateway
records its own site into its own file, and `rookery serve --follow` shows them together.
"""

from __future__ import annotations

import asyncio

from rookery.live.island import IslandTransport
from rookery.web import records
from rookery.web.producers.domain import RecordedDomain
from rookery.web.recorder import Recorder
from rookery.web.records import name

__all__ = ["RecordedIsland", "watch_island"]

#: Seconds between two looks.
PERIOD = 0.5


class RecordedIsland:
    """One site as its gateway sees it."""

    def __init__(self, recorder: Recorder, island: IslandTransport) -> None:
        self._recorder = recorder
        self._island = island
        self._domain = RecordedDomain(recorder, island=name(island.site))
        self._before: records.IslandRecord | None = None

    def report(self) -> None:
        """Record what changed at this site, and what it has sent to others."""
        self._domain.report(self._island.dds.udp.participant)
        status = self._island.status()
        counters = status["counters"]
        joined = sorted(name(site) for site, way in status["sites"].items() if way["reached by"] == site)
        at = self._recorder.clock()
        now = records.IslandRecord(
            at=0, id=name(self._island.site), joined=tuple(joined), octets=counters.get("bytes out", 0)
        )
        if now != self._before:
            self._before = now
            self._recorder.write(records.IslandRecord(at=at, id=now.id, joined=now.joined, octets=now.octets))
            self._recorder.write(
                records.TrafficRecord(
                    at=at,
                    protocol=name(f"from {self._island.site} to other sites"),
                    octets=counters.get("bytes out", 0),
                    contacts=counters.get("offers", 0),
                    false_contacts=counters.get("false contacts", 0),
                )
            )


async def watch_island(recorder: Recorder, island: IslandTransport) -> None:
    """Record a site until cancelled."""
    recorded = RecordedIsland(recorder, island)
    while True:
        recorded.report()
        await asyncio.sleep(PERIOD)
