"""MGNP: of all residents of a zone choose one that is close on the network (seed 003, section 3, Algorithms 2 and 3).

Theory. Coordinates on the network (`coordinates.py`) have as many dimensions as the event space, so `scale` maps them
into any zone: brokers that are close on the network are mapped close to each other. A broker publishes its coordinates
in every zone that it resides in, at the point where its own coordinates fall. Whoever looks for a resident asks at the
point where its *own* coordinates fall, and finds there those that are close to itself.

Repairs: the index keeps many entries per zone where the printed one overwrites; entries are leased; the closest of what
was found is chosen in both branches. The neighbors of the point inside the zone, four at most, are asked in any case,
not only where the first index is empty: the closest broker is often noted just across a border, and look-ups are rare.
Where nothing is found the resident known before stays.

A look-up is a subscription (section 3.2): whoever asked is told when a resident of the zone is noted or struck off
there, prefers one that is closer, and looks again when the one it chose is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.claims import Claim
from rookery.brokers.messages import Changed, Find, Found, Put
from rookery.brokers.seats import Seat
from rookery.brokers.zones import Cell, Path, Point, cell_of, center_distance, inside

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

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
        #: The own zones when last looked at, and those of every level in which the own coordinates are noted.
        self._zones: tuple[Path, ...] = ()
        self._noted: dict[Path, Claim] = {}
        #: Zones of the ancestor queues whose residents were located.
        self._located: set[Path] = set()

    @property
    def _extent(self) -> tuple[Point, Point] | None:
        return self._broker.configuration.extent if self._broker.position else None

    @property
    def _lease(self) -> int:
        return 3 * self._broker.configuration.ancestors

    # ---- the own coordinates -------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Algorithm 2, when zones came or went: note the coordinates where one resides now, strike them off elsewhere.

        A newcomer resides in a zone of every level (lines 2 to 8). A split adds one whenever it completes a level, that
        is when L mod log2 m = 0 (lines 9 to 14), and a merge or a hand-over takes some away.
        """
        broker = self._broker
        zones = tuple(broker.seats)
        if self._extent is None or zones == self._zones:
            return
        self._zones = zones
        self._located = set()  # another zone has another queue, which knows nobody that was located for the old one
        resides = self._resides()
        for zone, claim in [(zone, claim) for zone, claim in self._noted.items() if zone not in resides]:
            del self._noted[zone]
            self._put(zone, claim, 0)
        for zone, claim in resides.items():
            if zone not in self._noted:
                self._noted[zone] = claim
                self._put(zone, claim, self._lease)

    def _resides(self) -> dict[Path, Claim]:
        """Return the zones of all levels that one resides in."""
        return {
            seat.path[: level * seat.bits]: seat.claim
            for seat in self._broker.seats.values()
            for level in range(1, len(seat.levels))
        }

    def _put(self, zone: Path, claim: Claim, lease: int) -> None:
        self._broker.dispatch_body(self._own_point(zone), Put(zone, claim, lease))

    def _own_point(self, zone: Path) -> Point:
        """Return where the own coordinates fall in a zone."""
        broker, extent = self._broker, self._extent
        assert extent is not None
        return scale(broker.position, cell_of(zone, broker.configuration.space.dimensions), extent)

    # ---- look-ups ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Locate residents of the zones that came into an ancestor queue (Algorithm 3), each once."""
        if self._extent is None:
            return
        known = {zone for seat in self._broker.seats.values() for entries in seat.levels[1:] for zone in entries}
        for zone in sorted(known - self._located):
            self._locate(zone)
        self._located = known

    def refresh(self) -> None:
        """Renew what is leased, the own notes and the right to be told; whoever died without a word is found so."""
        self._prune()
        if self._extent is None:
            return
        self._noted = self._resides()
        for zone, claim in self._noted.items():
            self._put(zone, claim, self._lease)
        self._located = set()
        self.beat()

    def _locate(self, zone: Path) -> None:
        self._asked[zone] = (None, None)
        self._broker.counters["located"] += 1
        self._ask(zone, self._own_point(zone))

    def _ask(self, zone: Path, point: Point) -> None:
        self._broker.counters["questions"] += 1
        self._broker.dispatch_body(point, Find(zone, self._broker.id))

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
            self._ask(message.zone, point)
        elif best is not None:
            for seat in broker.seats.values():
                seat.queue.prefer(best)

    def changed(self, message: Changed) -> None:
        """A located zone has a new resident, who may be closer; or has lost one, and if it was the chosen, look again.

        The seed: tell whoever subscribed, so that it changes what it has stored or locates again (section 3.2).
        """
        broker, zone, claim = self._broker, message.zone, message.claim
        if self._extent is None or claim.owner == broker.id:
            return
        for seat in broker.seats.values():
            chosen = seat.queue.preferred(zone)
            if message.gone:
                seat.queue.dismiss(zone, claim.owner)
                if chosen is not None and chosen.owner == claim.owner:
                    self._locate(zone)
            elif broker.around.alive(claim.owner) and closest(broker.position, [claim, chosen or claim]) is claim:
                seat.queue.prefer(claim)

    # ---- the index of others -------------------------------------------------------------------------------------

    def put(self, seat: Seat, point: Point, message: Put) -> None:
        """Note a resident, or strike it off, and tell whoever located residents of the zone here if that is news."""
        now, zone, claim = self._broker.now, message.zone, message.claim
        entries = seat.index.setdefault(zone, {})
        known = entries.pop(claim.owner, None)
        if message.lease:
            entries[claim.owner] = (point, claim, now + message.lease)
            news = known is None or known[1].position != claim.position
        else:
            news = known is not None
        if not entries:
            del seat.index[zone]
        if news:
            for asker, expires in seat.watchers.get(zone, {}).items():
                if expires > now and asker != claim.owner:
                    self._broker.send(asker, Changed(zone, claim, not message.lease))

    def find(self, seat: Seat, point: Point, message: Find) -> None:
        """Answer a look-up, and remember who asked."""
        now = self._broker.now
        entries = seat.index.get(message.zone, {})
        fresh = tuple(claim for _, claim, expires in entries.values() if expires > now)
        beside = [claim for claim in seat.neighbors if inside(claim.path, message.zone)]
        beside.sort(key=lambda claim: (center_distance(cell_of(claim.path, seat.dimensions), point), claim.owner))
        seat.watchers.setdefault(message.zone, {})[message.asker] = now + self._lease
        self._broker.send(message.asker, Found(message.zone, fresh, tuple(beside[:PROBES])))

    def _prune(self) -> None:
        """Forget what was not renewed."""
        now = self._broker.now
        for seat in self._broker.seats.values():
            for zone, entries in list(seat.index.items()):
                for who in [who for who, (_, _, expires) in entries.items() if expires <= now]:
                    del entries[who]
                if not entries:
                    del seat.index[zone]
            for zone, askers in list(seat.watchers.items()):
                for who in [who for who, expires in askers.items() if expires <= now]:
                    del askers[who]
                if not askers:
                    del seat.watchers[zone]
