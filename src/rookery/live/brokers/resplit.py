"""Share the zones of a live network anew, by statistics of its events: one broker moves at a time.

The brokers do not know the plan. Whoever has the statistics asks all brokers for their zones, takes the next step of
`brokers/plans.py`, tells one broker to give its zone away or to take another one, and waits until it has. So
nothing is lost if whoever does this is: the network is whole after every step, a broker that waits in vain looks for a
zone by itself, and the same call goes on where it stopped. A zone changes hands as it always does, with its
subscriptions and while events flow.

There is no moment at which one broker has the whole space, unless it was alone to begin with: everything that is
acknowledged meanwhile is on two disks as always.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

from rookery.brokers import plans
from rookery.brokers.client_messages import RequestZone, TransferZone
from rookery.errors import BrokerError, JoinError, SpaceError
from rookery.live.brokers.client import BrokerOptions, BrokerTransport
from rookery.live.credentials import Credentials
from rookery.live.opening import open as open_client
from rookery.space.axes import Axis, EventSpace
from rookery.space.tree import KdTree
from rookery.space.zones import Cut, Path, Point, bits_of, sibling

__all__ = ["Resplit", "Samples", "ask_all", "network_tree", "path_of", "read_statistics", "resplit", "samples_of"]

#: Places of events in a zone, and the load that its events make.
Samples: TypeAlias = list[tuple[list[Point], float]]

_NO_CREDENTIALS = Credentials()
#: Seconds between two looks at the brokers.
PAUSE = 0.1
#: Seconds after which an order that had no effect is given again.
AGAIN = 3.0


@dataclass(frozen=True, slots=True)
class Resplit:
    """What was done: moves, and the zones (path of bits) by broker."""

    moves: int
    zones: dict[str, str]


def read_statistics(text: str) -> tuple[KdTree, list[float] | None]:
    """Read a tree (`KdTree.to_json`), or the rows of `zone_stats` as lines of JSON, which have loads too.

    The load of a broker is what it stores and forwards, subscriptions and events (`space/tree.py`); the column `load`
    of `zone_stats` is that of a Spark task.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        rows = [json.loads(line) for line in lines]
    except ValueError:
        return KdTree.from_json(text), None  # over several lines
    if len(rows) == 1 and "nodes" in rows[0]:
        return KdTree.from_json(text), None
    try:
        tree = KdTree.from_json(rows[0]["tree"])
        loads = {int(row["zone"]): float(row["events"]) + float(row["subscriptions"]) for row in rows}
    except (LookupError, TypeError, ValueError) as error:
        raise SpaceError(
            f"neither a tree nor rows of zone_stats with zone, events, subscriptions and tree: {error}"
        ) from error
    missing = sorted(set(range(tree.zone_count)).difference(loads))
    if missing:
        raise SpaceError(f"the statistics have no row for zone {missing[0]} of {tree.zone_count}")
    return tree, [loads[zone] for zone in range(tree.zone_count)]


async def ask_all(
    at: str, credentials: Credentials = _NO_CREDENTIALS, *, role: str = "client", sample: bool = False
) -> list[dict[str, Any]]:
    """Return the status of a broker, and of every broker that it or another one knows as a neighbor."""
    found: dict[str, dict[str, Any] | None] = {}
    waiting = [at]
    while waiting:
        address = waiting.pop()
        if address in found:
            continue
        try:
            options = BrokerOptions(credentials, role=role, attempts=0.0)
            async with open_client(f"brokers://{address}", options) as client:
                document = await client.brokers.status(sample=sample)
        except JoinError:
            if not found:
                raise
            found[address] = None
            continue
        found[address] = found[document["broker"]] = document
        for zone in document["zones"]:
            waiting += zone["neighbors"].values()
    documents = {id(one): one for one in found.values() if one is not None}
    return sorted(documents.values(), key=lambda one: str(one["broker"]))


def network_tree(documents: list[dict[str, Any]]) -> tuple[KdTree, list[str]]:
    """Return the tree of a network's zones from what `ask_all` gave, and the owner of each zone by its number.

    Spark's `partition`, `zone_stats` and zoned plan take it: an event's zone is then its owner's.
    """
    owned = sorted((path_of(zone), str(one["broker"])) for one in documents for zone in one["zones"])
    tree = KdTree.of_paths([path for path, _ in owned], [Axis.read(axis) for axis in documents[0]["axes"]])
    return tree, [owner for _, owner in owned]


def samples_of(documents: list[dict[str, Any]], events: Mapping[str, float] | None = None) -> Samples:
    """Return the samples of all zones, each with its load: by zone (path of bits), else all events that it has seen."""
    return [
        ([tuple(point) for point in zone["sample"]], float(zone["events"] if events is None else events[zone["path"]]))
        for one in documents
        for zone in one["zones"]
    ]


async def resplit(
    at: str,
    tree: KdTree | None = None,
    loads: list[float] | None = None,
    *,
    samples: Samples | None = None,
    credentials: Credentials = _NO_CREDENTIALS,
    seconds: float = 60.0,
    told: Callable[[str], None] = lambda text: None,
) -> Resplit:
    """Move the brokers of a network, named by any of them, so that they share the load that a tree describes.

    Without a tree it is the load of samples, and without those what the brokers have seen themselves.
    The orders are an operator's: the credentials must be one's. `told` hears of each move. `BrokerError` if one of them
    is not done within so many seconds, or a broker is lost.
    """
    documents = await ask_all(at, credentials, role="operator", sample=tree is None and samples is None)
    addresses = [one["broker"] for one in documents]
    options = BrokerOptions(credentials, role="operator")
    async with AsyncExitStack() as stack:
        clients = {
            address: (await stack.enter_async_context(open_client(f"brokers://{address}", options))).brokers
            for address in addresses
        }
        first = next(iter(clients.values()))
        assert first.schema is not None
        space = EventSpace(first.schema, [Axis.read(axis) for axis in (await first.status())["axes"]])
        if tree is not None:
            plan = plans.SplitPlan.of_tree(tree, space, loads=loads)
        else:
            plan = plans.SplitPlan.of_samples(samples or samples_of(documents), space.dimensions)
        moves = 0
        while True:
            zones = await _settled(clients, seconds)
            step = plans.next_step(plan, list(zones), len(clients) - len(zones))
            if step is None:
                return Resplit(moves, {address: _bits(path) for path, address in zones.items()})
            moves += 1
            for address in clients.keys() - zones.values():
                clients[address].order(TransferZone(seconds))  # it goes on waiting
            await _carry_out(step, zones, clients, seconds, told)


async def _carry_out(
    step: plans.Step,
    zones: dict[Path, str],
    clients: dict[str, BrokerTransport],
    seconds: float,
    told: Callable[[str], None],
) -> None:
    """Give an order, again from time to time, until the zones show that it was carried out."""
    if isinstance(step, plans.TransferStep):
        address = zones[step.path]
        part = "" if step.back is None else ", for another part of both"
        told(f"{address} gives {_bits(step.path)} to {zones[sibling(step.path)]}{part}")
        order: TransferZone | RequestZone = TransferZone(seconds, step.back)
    else:
        address = next(address for address in clients if address not in zones.values())
        told(f"{address} takes the upper half of {_bits(step.path)} of {zones[step.path]}")
        order = RequestZone(step.path, step.cut)
    waits = isinstance(step, plans.TransferStep) and step.back is None
    end, given = time.monotonic() + seconds, -AGAIN
    while time.monotonic() < end:
        if time.monotonic() - given >= AGAIN:
            given = time.monotonic()
            clients[address].order(order)
        await asyncio.sleep(PAUSE)
        owned = (await _zones(clients))[address]
        if not owned if waits else owned and owned != [step.path]:
            return
    raise BrokerError(f"{address} has not carried out its move within {seconds:g} s; call again to go on")


async def _settled(clients: dict[str, BrokerTransport], seconds: float) -> dict[Path, str]:
    """Return the zones and their owners, once no broker has two and they tile the space."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = await _zones(clients)
        zones = {path: address for address, paths in found.items() for path in paths}
        single = all(len(paths) <= 1 for paths in found.values())
        if single and plans.is_tiling(zones):
            return zones
        await asyncio.sleep(PAUSE)
    raise BrokerError(f"the zones of the brokers named at the start do not come to rest within {seconds:g} s")


async def _zones(clients: dict[str, BrokerTransport]) -> dict[str, list[Path]]:
    """Return the zones of each broker."""
    found: dict[str, list[Path]] = {}
    for address, client in clients.items():
        async with asyncio.timeout(30):
            document = await client.status()
        if document["broker"] != address:
            raise BrokerError(f"{address} is gone: call again when another broker has its zone")
        found[address] = [path_of(zone) for zone in document["zones"]]
    return found


def path_of(zone: dict[str, Any]) -> Path:
    """Return the path of a zone as a broker's status says it."""
    return tuple(
        Cut(int(axis), int(bit), float(place)) for bit, (axis, place) in zip(zone["path"], zone["cuts"], strict=True)
    )


def _bits(path: Path) -> str:
    return bits_of(path) or "all"
