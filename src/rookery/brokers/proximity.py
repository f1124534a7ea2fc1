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

from rookery.brokers.messages import FindResidents, PutResident, ResidentChanged, ResidentsFound
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.space.zones import Path, Point, ZoneBox, box_of, center_distance, inside

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["PROBES", "Proximity", "closest", "scale"]

#: Neighbors that are asked where the index is empty.
PROBES = 4


def scale(position: Point, box: ZoneBox, extent: tuple[Point, Point]) -> Point:
    """Map network coordinates into a zone; `extent` is the box of coordinates, what lies outside goes to its edge."""
    point = []
    for x, low, high, bottom, top in zip(position, *extent, box.lower, box.upper, strict=True):
        share = min(max((x - low) / (high - low), 0.0), 1.0 - 2.0**-30) if high > low else 0.0
        point.append(bottom + share * (top - bottom))
    return tuple(point)


def closest(position: Point, candidates: list[ZoneOwnership]) -> ZoneOwnership | None:
    """Return the candidate with the least distance by coordinates (the printed Shortest_distance)."""

    def distance(ownership: ZoneOwnership) -> tuple[float, int]:
        return sum((a - b) ** 2 for a, b in zip(position, ownership.position, strict=True)), ownership.owner

    usable = [ownership for ownership in candidates if len(ownership.position) == len(position)]
    return min(usable, key=distance, default=None)


class Proximity:
    """The index of coordinates at one broker, and its own look-ups."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: Look-ups on the way: neighbors still to ask (None before the first answer), and the closest found so far.
        self._asked: dict[Path, tuple[list[ZoneOwnership] | None, ZoneOwnership | None]] = {}
        #: The own zones when last looked at, and those of every level in which the own coordinates are noted.
        self._zones: tuple[Path, ...] = ()
        self._noted: dict[Path, ZoneOwnership] = {}
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
        zones = tuple(broker.owned)
        if self._extent is None or zones == self._zones:
            return
        self._zones = zones
        self._located = set()  # another zone has another queue, which knows nobody that was located for the old one
        resides = self._resides()
        for zone, ownership in [(zone, ownership) for zone, ownership in self._noted.items() if zone not in resides]:
            del self._noted[zone]
            self._put(zone, ownership, 0)
        for zone, ownership in resides.items():
            if zone not in self._noted:
                self._noted[zone] = ownership
                self._put(zone, ownership, self._lease)

    def _resides(self) -> dict[Path, ZoneOwnership]:
        """Return the zones of all levels that one resides in."""
        return {
            owned.path[: level * owned.bits]: owned.ownership
            for owned in self._broker.owned.values()
            for level in range(1, len(owned.levels))
        }

    def _put(self, zone: Path, ownership: ZoneOwnership, lease: int) -> None:
        self._broker.dispatch_body(self._own_point(zone), PutResident(zone, ownership, lease))

    def _own_point(self, zone: Path) -> Point:
        """Return where the own coordinates fall in a zone."""
        broker, extent = self._broker, self._extent
        assert extent is not None
        return scale(broker.position, box_of(zone, broker.configuration.space.dimensions), extent)

    # ---- look-ups ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Locate residents of the zones that came into an ancestor queue (Algorithm 3), each once."""
        if self._extent is None:
            return
        known = {zone for owned in self._broker.owned.values() for entries in owned.levels[1:] for zone in entries}
        for zone in sorted(known - self._located):
            self._locate(zone)
        self._located = known

    def refresh(self) -> None:
        """Renew what is leased, the own notes and the right to be told; whoever died without a word is found so."""
        self._prune()
        if self._extent is None:
            return
        self._noted = self._resides()
        for zone, ownership in self._noted.items():
            self._put(zone, ownership, self._lease)
        self._located = set()
        self.beat()

    def _locate(self, zone: Path) -> None:
        self._asked[zone] = (None, None)
        self._broker.counters["located"] += 1
        self._ask(zone, self._own_point(zone))

    def _ask(self, zone: Path, point: Point) -> None:
        self._broker.counters["questions"] += 1
        self._broker.dispatch_body(point, FindResidents(zone, self._broker.id))

    def found(self, message: ResidentsFound) -> None:
        """Choose the closest of what was found, or ask on."""
        broker = self._broker
        if message.zone not in self._asked:
            return
        waiting, best = self._asked.pop(message.zone)
        usable = [ownership for ownership in message.entries if broker.routing_table.alive(ownership.owner)]
        best = closest(broker.position, usable if best is None else [*usable, best])
        left = list(message.neighbors) if waiting is None else waiting
        if left:
            self._asked[message.zone] = (left[1:], best)
            point = box_of(left[0].path, broker.configuration.space.dimensions).lower
            self._ask(message.zone, point)
        elif best is not None:
            for owned in broker.owned.values():
                owned.queue.prefer(best)

    def changed(self, message: ResidentChanged) -> None:
        """A located zone has a new resident, who may be closer; or has lost one, and if it was the chosen, look again.

        The seed: tell whoever subscribed, so that it changes what it has stored or locates again (section 3.2).
        """
        broker, zone, ownership = self._broker, message.zone, message.ownership
        if self._extent is None or ownership.owner == broker.id:
            return
        for owned in broker.owned.values():
            chosen = owned.queue.preferred(zone)
            if message.gone:
                owned.queue.dismiss(zone, ownership.owner)
                if chosen is not None and chosen.owner == ownership.owner:
                    self._locate(zone)
            elif (
                broker.routing_table.alive(ownership.owner)
                and closest(broker.position, [ownership, chosen or ownership]) is ownership
            ):
                owned.queue.prefer(ownership)

    # ---- the index of peers -------------------------------------------------------------------------------------

    def put(self, owned: OwnedZone, point: Point, message: PutResident) -> None:
        """Note a resident, or strike it off, and tell whoever located residents of the zone here if that is news."""
        now, zone, ownership = self._broker.now, message.zone, message.ownership
        entries = owned.index.setdefault(zone, {})
        known = entries.pop(ownership.owner, None)
        if message.lease:
            entries[ownership.owner] = (point, ownership, now + message.lease)
            news = known is None or known[1].position != ownership.position
        else:
            news = known is not None
        if not entries:
            del owned.index[zone]
        if news:
            for asker, expires in owned.watchers.get(zone, {}).items():
                if expires > now and asker != ownership.owner:
                    self._broker.send(asker, ResidentChanged(zone, ownership, not message.lease))

    def find(self, owned: OwnedZone, point: Point, message: FindResidents) -> None:
        """Answer a look-up, and remember who asked."""
        now = self._broker.now
        entries = owned.index.get(message.zone, {})
        fresh = tuple(ownership for _, ownership, expires in entries.values() if expires > now)
        beside = [ownership for ownership in owned.neighbors if inside(ownership.path, message.zone)]
        beside.sort(
            key=lambda ownership: (center_distance(box_of(ownership.path, owned.dimensions), point), ownership.owner)
        )
        owned.watchers.setdefault(message.zone, {})[message.asker] = now + self._lease
        self._broker.send(message.asker, ResidentsFound(message.zone, fresh, tuple(beside[:PROBES])))

    def _prune(self) -> None:
        """Forget what was not renewed."""
        now = self._broker.now
        for owned in self._broker.owned.values():
            for zone, entries in list(owned.index.items()):
                for who in [who for who, (_, _, expires) in entries.items() if expires <= now]:
                    del entries[who]
                if not entries:
                    del owned.index[zone]
            for zone, askers in list(owned.watchers.items()):
                for who in [who for who, expires in askers.items() if expires <= now]:
                    del askers[who]
                if not askers:
                    del owned.watchers[zone]
