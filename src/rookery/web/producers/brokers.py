"""A simulated broker network with its books kept: zones, events, paths, and a ledger against an oracle.

What is delivered is what the brokers deliver. What should be is asked of one matcher that holds all subscriptions and
knows nothing of zones. An event is settled when it is accepted and all of its deliveries are in; what is missing so
long after it was accepted that every repetition would have come was missed. A path is what the tables of the brokers
give at the moment of publishing: hop by hop with Spanhop, and once more with greedy routing over face neighbors.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rookery.brokers.client_events import BatchAccepted, ClientEvent, Delivered
from rookery.brokers.messages import EventId
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.spanhop import greedy_hop, next_hop
from rookery.matching import matcher
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.zones import AxisCut, Path, Point, bits_of
from rookery.web import records
from rookery.web.recorder import Recorder

__all__ = ["RecordedBrokers", "path_of", "zone_name"]

#: A path that is longer goes round; the tables were being mended.
LONGEST_PATH = 500
#: Microseconds after which what was accepted and not delivered was missed: two beats of the brokers.
PATIENCE = 10_000_000
#: How many events may be unsettled at once; beyond that the oldest is no longer followed.
UNSETTLED = 100_000

Hop = Callable[[OwnedZone, Point], ZoneOwnership | None]


def zone_name(path: Path) -> str:
    """Return a name of a zone: its cuts, 0 for the lower half and 1 for the upper."""
    return bits_of(path) or "all"


def path_of(network: SimulatedBrokers, start: int, point: Point, hop: Hop) -> list[str]:
    """Follow a point over the brokers' own tables to its owner; return the zones, none where it does not arrive."""
    broker = network.brokers.get(start)
    owned = None if broker is None else broker.owned_at(point) or broker.home()
    zones: list[str] = []
    while owned is not None and len(zones) < LONGEST_PATH:
        zones.append(zone_name(owned.path))
        ownership = hop(owned, point)
        if ownership is None:
            owner = network.brokers.get(owned.ownership.owner)
            return zones if owner is not None and owner.owned_at(point) is owned else []
        owner = network.brokers.get(ownership.owner)
        owned = None if owner is None else owner.owned_at(point) or owner.owned.get(ownership.path) or owner.home()
    return []


class RecordedBrokers:
    """Does what the network does, and records it; every `routed`-th event with its paths."""

    def __init__(
        self,
        network: SimulatedBrokers,
        recorder: Recorder,
        *,
        topic: str = "",
        routed: int = 50,
        source: str = "brokers",
    ) -> None:
        self.network = network
        self.recorder = recorder
        self.topic = topic
        self._routed = routed
        self._source = source
        self._oracle: Any = matcher(network.configuration.space.schema)
        self._zones: dict[str, records.ZoneRecord] = {}
        #: Where each inner node of the tree of zones is cut, by the bits of its path.
        self._cuts: dict[str, AxisCut] = {}
        #: Events that are not settled: who should get them, and who has not yet.
        self._unsettled: dict[EventId, tuple[frozenset[str], set[str]]] = {}
        #: When the events were accepted that are not settled, in that order.
        self._accepted: dict[EventId, int] = {}
        self._happened: deque[tuple[int, int, ClientEvent]] = deque()
        self._counts = Counter[str]()
        network.on_client_event = lambda client, event: self._happened.append((network.calendar.now, client, event))
        space = network.configuration.space
        axes = tuple(records.AxisRecord(axis.attribute, axis.low, axis.high) for axis in space.axes)
        recorder.write(records.SpaceRecord(at=recorder.clock(), axes=axes))
        recorder.write(records.SchemaRecord(at=recorder.clock(), attributes=space.schema.to_dict(), topic=topic))

    def subscribe(self, broker: int, subscription_id: str, where: str) -> None:
        """Subscribe a client of a broker."""
        self._oracle.add(subscription_id, where)
        self.network.subscribe(broker, subscription_id, where)
        self.recorder.write(
            records.SubscriptionRecord(at=self.recorder.clock(), id=subscription_id, where=where, topic=self.topic)
        )

    def publish(self, broker: int, event: Mapping[str, Any]) -> EventId:
        """Publish an event at a broker."""
        wanted = frozenset(self._oracle.match(event))
        point = self.network.configuration.space.point(event)
        at = self.recorder.clock()
        paths = {}
        if self._counts["published"] % self._routed == 0:
            paths["spanhop"] = path_of(self.network, broker, point, next_hop)
            paths["greedy"] = path_of(self.network, broker, point, greedy_hop)
        event_id = self.network.publish(broker, event)
        self._unsettled[event_id] = (wanted, set(wanted))
        self._counts["published"] += 1
        self._counts["expected"] += len(wanted)
        if len(self._unsettled) > UNSETTLED:
            del self._unsettled[next(iter(self._unsettled))]
        name = f"{event_id[0]}/{event_id[1]}"
        self.recorder.write(
            records.EventRecord(
                at=at,
                id=name,
                topic=self.topic,
                point=point,
                zone=self.owner_of(point),
                matched=len(wanted),
                values=dict(event),
            )
        )
        for scheme, zones in paths.items():
            if zones:
                self.recorder.write(records.RouteRecord(at=at, event=name, scheme=scheme, zones=tuple(zones)))
        return event_id

    def run(self, microseconds: int) -> None:
        """Let time pass on the network, and settle what happened."""
        self.network.run(microseconds)
        while self._happened:
            when, client, event = self._happened.popleft()
            if isinstance(event, Delivered):
                for name, sequence in zip(event.names, event.sequences, strict=True):
                    self._deliver(name, (event.publisher, sequence))
            elif isinstance(event, BatchAccepted):
                for place in range(event.count):
                    self._accepted[client, event.first + place] = when
        self._settle()
        # The network keeps these for tests that end; a page may stay open for days.
        self.network.delivered.clear()
        self.network.accepted.clear()

    def _settle(self) -> None:
        over = self.network.calendar.now - PATIENCE
        for event_id, since in list(self._accepted.items()):
            _, left = self._unsettled.get(event_id, (frozenset(), set()))
            if not left or since <= over:
                del self._accepted[event_id]
                self._unsettled.pop(event_id, None)
                self._counts["missed"] += len(left)

    def report(self) -> None:
        """Record the zones that changed, and the ledger."""
        at = self.recorder.clock()
        seen: dict[str, records.ZoneRecord] = {}
        self._cuts = {}
        for number, broker in self.network.brokers.items():
            for path, owned in broker.owned.items():
                zone = records.ZoneRecord(
                    at=at,
                    id=zone_name(path),
                    lower=owned.box.lower,
                    upper=owned.box.upper,
                    owner=str(number),
                    load=owned.load,
                    subscriptions=len(owned.store),
                )
                seen[zone.id] = zone
                for depth, (axis, _, place) in enumerate(path):
                    self._cuts[bits_of(path[:depth])] = axis, place
        for name in self._zones.keys() - seen.keys():
            self.recorder.write(records.ZoneRecord(at=at, id=name, lower=(), upper=(), gone=True))
        for name, zone in seen.items():
            before = self._zones.get(name)
            if before is None or msgspec.structs.replace(before, at=at) != zone:
                self.recorder.write(zone)
        self._zones = seen
        self.recorder.write(records.LedgerRecord(at=at, source=self._source, **self._counts))

    def owner_of(self, point: Point) -> str:
        """Return the zone that a point lies in, as last reported; empty where that is not known."""
        bits = ""
        while (bits or "all") not in self._zones:
            cut = self._cuts.get(bits)
            if cut is None:
                return ""
            axis, place = cut
            bits += "1" if point[axis] >= place else "0"
        return bits or "all"

    def _deliver(self, name: str, event_id: EventId) -> None:
        known = self._unsettled.get(event_id)
        if known is None or (name in known[0] and name not in known[1]):
            self._counts["duplicated"] += 1
        elif name in known[1]:
            known[1].discard(name)
            self._counts["delivered"] += 1
        else:
            self._counts["extra"] += 1
