"""Broker processes at sites that are far apart: each is a fork of this process in a namespace of its own.

A fork has what its parent has imported and compiled, so a fleet of dozens starts in seconds. Every second each broker
writes down what it is asked for: its status, and where it would send events next.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from tests.live.distant_sites import DistantSites, enter_namespace

from rookery import Schema
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.spanhop import next_hop
from rookery.live.brokers.server import LiveBroker, warm
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.tcp_peers import node_address
from rookery.space.axes import Axis, EventSpace

__all__ = ["FarFleet"]

PORT = 7400
#: Points of events whose ways are looked at.
POINTS = 200


class FarFleet:
    """A broker at every site, joined one after the other; leave the `with` to end them."""

    def __init__(self, sites: DistantSites, folder: Path, **settings: Any) -> None:
        self.sites = sites
        self._folder = folder
        self._settings = settings
        self._processes: list[int] = []
        chance = random.Random(1)
        self._points = [(chance.random(), chance.random()) for _ in range(POINTS)]

    def __enter__(self) -> FarFleet:
        warm()
        try:
            for site in range(len(self.sites.times)):
                process = os.fork()
                if not process:
                    try:
                        asyncio.run(self._serve(site))
                    finally:
                        os._exit(1)
                self._processes.append(process)
                while not self.told(site).get("zones"):
                    assert not os.waitpid(process, os.WNOHANG)[0], f"broker {site} has ended"
                    time.sleep(0.05)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    async def _serve(self, site: int) -> None:
        enter_namespace(self.sites.namespace(site))
        space = EventSpace(Schema(x=float, y=float), [Axis("x"), Axis("y")])
        broker = LiveBroker(
            BrokerSettings(
                topic="far",
                space=space,
                listen=(self.sites.address(site), PORT),
                join=((self.sites.address(0), PORT),) if site else (),
                durability=BrokerDurability.MEMORY,
                insecure=True,
                patience=600.0,
                **self._settings,
            )
        )
        await broker.start()
        path = self._folder / f"{site}.json"
        while True:
            document = broker.status()
            document["next"] = [self._next(broker, point) for point in self._points]
            path.with_suffix(".new").write_text(json.dumps(document))
            path.with_suffix(".new").replace(path)
            await asyncio.sleep(1.0 if document["zones"] else 0.05)

    @staticmethod
    def _next(broker: LiveBroker, point: tuple[float, float]) -> int | None:
        """Return the site that an event is sent to next; the own one, where it is matched here."""
        machine = broker.machine
        owner: int | None = machine.id
        if machine.owned_at(point) is None:
            hop = (
                next_hop(next(iter(machine.owned.values())), point, usable=machine.is_usable) if machine.owned else None
            )
            owner = None if hop is None else hop.owner
        return None if owner is None else int(node_address(owner)[0].rpartition(".")[2]) - 1

    def told(self, site: int) -> dict[str, Any]:
        """Return what a broker wrote down last."""
        try:
            return dict(json.loads((self._folder / f"{site}.json").read_text()))
        except FileNotFoundError:
            return {}

    def stretch(self, times: Any) -> float:
        """Return how long the ways of events are from every broker to its points, over the direct ones."""
        hops = [self.told(site)["next"] for site in range(len(times))]
        routed = direct = 0.0
        for number in range(POINTS):
            for source in range(number % 4, len(times), 4):
                at, way = source, 0.0
                for _ in range(len(times)):
                    onward = hops[at][number]
                    if onward is None or onward == at:
                        break
                    way += float(times[at][onward])
                    at = onward
                else:
                    continue  # tables of different moments
                routed, direct = routed + way, direct + float(times[source][at])
        return routed / direct
