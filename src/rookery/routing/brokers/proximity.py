"""MGNP: of all residents of a zone choose one that is close on the network (seed 003, section 3, Algorithms 2 and 3).

Theory. Coordinates on the network (`coordinates.py`) have as many dimensions as the event space, so `scale` maps them
into any zone: brokers that are close on the network are mapped close to each other. A broker publishes its coordinates
in every zone that it resides in, at the point where its own coordinates fall. Whoever looks for a resident asks at the
point where its *own* coordinates fall, and finds there those that are close to itself.

Repairs: the index keeps many entries per zone where the printed one overwrites; entries are leased; the closest of what
was found is chosen in both branches. The neighbors of the point inside the zone, four at most, are asked in any case,
not only where the first index is empty: the closest broker is often noted just across a border, and look-ups are rare.
Where nothing is found the resident known before stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.routing.brokers.claims import Claim
from rookery.routing.brokers.messages import Find, Found, Put
from rookery.routing.brokers.seats import Seat
from rookery.routing.brokers.zones import Cell, Path, Point, cell_of, center_distance, inside

if TYPE_CHECKING:
    from rookery.routing.brokers.broker import Broker

__all__ = ["PROBES", "Proximity", "closest", "scale"]

#: Neighbors that are asked where the index is empty.
PROBES = 4


def scale(position: Point, cell: Cell, extent: tuple[Point, Point]) -> Point:
    """Map network coordinates into a zone; `extent` is the box of coordinates, what lies outside goes to its edge."""
    point = []
    for x, low, high, bottom, top in zip(position, *extent, cell.lower, cell.upper, strict=True):
        share = min(max((x - low) / (high - low), 0.0), 1.0 - 2.0**-30) if high > low else 0.0
        point.append(bottom + share * (top - bottom))
    return tuple(point)


def closest(position: Point, candidates: list[Claim]) -> Claim | None:
    """Return the candidate with the least distance by coordinates (the printed Shortest_distance)."""

    def distance(claim: Claim) -> tuple[float, int]:
        return sum((a - b) ** 2 for a, b in zip(position, claim.position, strict=True)), claim.owner

    usable = [claim for claim in candidates if len(claim.position) == len(position)]
    return min(usable, key=distance, default=None)


class Proximity:
    """The index of coordinates at one broker, and its own look-ups."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: Look-ups on the way: neighbors still to ask (None before the first answer), and the closest found so far.
        self._asked: dict[Path, tuple[list[Claim] | None, Claim | None]] = {}

    @property
    def _extent(self) -> tuple[Point, Point] | None:
        return self._broker.configuration.extent if self._broker.position else None

    def publish(self, *, newcomer: bool = False) -> None:
        """Algorithm 2: note the own coordinates in the zones of all levels, an old broker only in its last."""
        broker, extent = self._broker, self._extent
        if extent is None:
            return
        lease = 3 * broker.configuration.ancestors
        for seat in list(broker.seats.values()):
            last = len(seat.levels) - 1
            for level in range(1 if newcomer else max(1, last), last + 1):
                zone = seat.path[: level * seat.bits]
                point = scale(broker.position, cell_of(zone, seat.dimensions), extent)
                broker.dispatch_body(point, Put(zone, seat.claim, lease))

    def refresh(self) -> None:
        """Renew what is leased, and look for closer residents of every zone in the ancestor queue (Algorithm 3)."""
        broker, extent = self._broker, self._extent
        if extent is None:
            return
        self.publish(newcomer=True)
        for seat in list(broker.seats.values()):
            for entries in seat.levels[1:]:
                for zone in list(entries):
                    self._asked[zone] = (None, None)
                    point = scale(broker.position, cell_of(zone, seat.dimensions), extent)
                    broker.dispatch_body(point, Find(zone, broker.id))

    def put(self, seat: Seat, message: Put) -> None:
        """Note a resident, or strike it off."""
        entries = seat.index.setdefault(message.zone, {})
        if message.lease:
            entries[message.claim.owner] = (message.claim, self._broker.now + message.lease)
        else:
            entries.pop(message.claim.owner, None)

    def find(self, seat: Seat, point: Point, message: Find) -> None:
        """Answer a look-up."""
        entries = seat.index.get(message.zone, {})
        fresh = tuple(claim for claim, expires in entries.values() if expires > self._broker.now)
        beside = [claim for claim in seat.neighbors if inside(claim.path, message.zone)]
        beside.sort(key=lambda claim: (center_distance(cell_of(claim.path, seat.dimensions), point), claim.owner))
        self._broker.send(message.asker, Found(message.zone, fresh, tuple(beside[:PROBES])))

    def found(self, message: Found) -> None:
        """Choose the closest of what was found, or ask on."""
        broker = self._broker
        if message.zone not in self._asked:
            return
        waiting, best = self._asked.pop(message.zone)
        usable = [claim for claim in message.entries if broker.around.alive(claim.owner)]
        best = closest(broker.position, usable if best is None else [*usable, best])
        left = list(message.neighbors) if waiting is None else waiting
        if left:
            self._asked[message.zone] = (left[1:], best)
            point = cell_of(left[0].path, broker.configuration.space.dimensions).lower
            broker.dispatch_body(point, Find(message.zone, broker.id))
        elif best is not None:
            for seat in broker.seats.values():
                seat.queue.prefer(best)
