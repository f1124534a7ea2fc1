"""What a broker says of itself: zones, loads, hops, what is in flight, whose replicas it has; plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rookery.live.tcp_peers import node_address
from rookery.space.zones import bits_of

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker
    from rookery.brokers.owned_zone import OwnedZone
    from rookery.live.brokers.log import BrokerLog
    from rookery.live.brokers.settings import BrokerSettings
    from rookery.live.tcp import Address
    from rookery.live.tcp_peers import Peers

__all__ = ["SAMPLE", "add_samples", "describe"]

#: Places of events told of a zone: sixteen zones have a thousand.
SAMPLE = 64


def describe(
    machine: Broker, settings: BrokerSettings, address: Address, peers: Peers, log: BrokerLog | None, clients: int
) -> dict[str, Any]:
    """Return the state of a broker."""
    arrived = machine.counters["arrived"]
    backup = machine.deliveries.copies.backup
    return {
        "broker": _text(address),
        "id": machine.id,
        "topic": settings.topic,
        "axes": [axis.plain() for axis in settings.space.axes],
        "durability": settings.durability.value,
        "zones": [_zone(machine, owned) for owned in machine.owned.values()],
        "hops": machine.counters["hops"] / arrived if arrived else None,
        "network": _network(machine),
        "clients": clients,
        "subscriptions_of_clients": len(machine.placement.clients),
        "backup": None if backup is None else _text(node_address(backup)),
        "in_flight": {
            "batches": len(machine.deliveries.in_flight),
            "events": sum(entry.batch.count for entry in machine.deliveries.in_flight.values()),
        },
        "memory": {
            "budget": machine.configuration.memory,
            "held": machine.spilling.held,
            "to_clients": machine.sessions.bytes_in_flight,
            "to_brokers": peers.unsent,
            "spilled_batches": machine.spilling.spilled,
        },
        "replicas": {
            _text(node_address(owner)): len(batches) for owner, batches in machine.replicas.batches.items() if batches
        },
        "orphans": len(machine.replicas.orphans),
        "log": None if log is None else _log(log),
        "links": len(peers.links),
        "faults": dict(peers.settings.faults),
        "counters": dict(machine.counters),
    }


def add_samples(document: dict[str, Any], machine: Broker) -> None:
    """Add to each zone of a status some places of its events, as they are in its sample: no order is among them."""
    for zone, owned in zip(document["zones"], machine.owned.values(), strict=True):
        zone["sample"] = [list(point) for point in owned.reservoir.points[:SAMPLE]]


def _zone(machine: Broker, owned: OwnedZone) -> dict[str, Any]:
    axes = machine.configuration.space.axes
    return {
        "path": bits_of(owned.path),
        "cuts": [[cut.axis, cut.place] for cut in owned.path],
        "box": {
            axis.attribute: [low, high] for axis, low, high in zip(axes, owned.box.lower, owned.box.upper, strict=True)
        },
        "events": owned.reservoir.seen,
        "subscriptions": len(owned.store),
        "in_grace_period": owned.grace_until > machine.now,
        "neighbors": {bits_of(ownership.path): _text(node_address(ownership.owner)) for ownership in owned.neighbors},
    }


def _network(machine: Broker) -> dict[str, Any]:
    """Return where a broker is on the network: coordinates and round trips in milliseconds, error and stretch."""
    known = machine.landmarks.map
    neighbors = {ownership.owner for owned in machine.owned.values() for ownership in owned.neighbors}
    times = {owner: machine.round_trips.of(owner) for owner in sorted(neighbors - {machine.id})}
    return {
        "proximity": machine.configuration.proximity.value,
        "coordinates": list(machine.position),
        "error": machine.landmarks.error,
        "stretch": machine.round_trips.stretch,
        "landmarks": [] if known is None else [_text(node_address(owner)) for owner in known.owners],
        "round_trips": {_text(node_address(owner)): time / 1_000 for owner, time in times.items() if time is not None},
    }


def _log(log: BrokerLog) -> dict[str, Any]:
    file = log.file
    counts = {"bytes": file.size, "syncs": file.syncs, "moves": file.moves, "moves_failed": file.moves_failed}
    counts |= {"damaged": file.damaged, "torn": file.torn}
    return {"folder": str(log.folder), **counts}


def _text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
