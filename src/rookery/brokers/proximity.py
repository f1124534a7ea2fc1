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

What coordinates predict is then measured: of those that seem closest some are asked for an answer, and the least round
trip is preferred. Where coordinates predict badly, or there are none, all residents that are known are measured, at
each refresh those that were found since beside the closest of before: chance and memory find close ones too, but later.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from rookery.brokers.configuration import BrokerProximity
from rookery.brokers.messages import FindResidents, PutResident, ResidentChanged, ResidentsFound
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.space.zones import Path, Point, ZoneBox, box_of, center_distance, inside

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["PROBES", "Proximity", "closest", "scale"]

#: Neighbors that are asked where the index is empty.
PROBES = 4
#: Residents of a zone that are measured: where coordinates say which are close, and where they do not.
LIKELY, ANY = 3, 8
#: Beats after a refresh until residents that it has found are measured, and after that until one is chosen.
FOUND_BY, MEASURED_BY = 2, 2


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
        #: Look-ups on the way: neighbors still to ask (None before the first answer), and who was found so far.
        self._asked: dict[Path, tuple[list[ZoneOwnership] | None, list[ZoneOwnership]]] = {}
        #: The own zones and coordinates when last looked at; the zones of every level where these are noted, and where.
        self._settled: tuple[tuple[Path, ...], Point] = ((), ())
        self._noted: dict[Path, tuple[ZoneOwnership, Point]] = {}
        #: Zones of the ancestor queues whose residents were located.
        self._located: set[Path] = set()
        #: By zone: the residents that are being measured, and the beats that they have for it.
        self._measured: dict[Path, tuple[list[ZoneOwnership], int]] = {}
        #: Beats until the residents that are known are measured; None where that is not due.
        self._due: int | None = None

    @property
    def _extent(self) -> tuple[Point, Point] | None:
        return self._broker.landmarks.extent

    @property
    def _measures(self) -> bool:
        return self._broker.configuration.proximity is not BrokerProximity.NONE

    @property
    def _lease(self) -> int:
        return 3 * self._broker.configuration.ancestors

    # ---- the own coordinates -------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Algorithm 2, when zones came or went: note the coordinates where one resides now, strike them off elsewhere.

        A newcomer resides in a zone of every level (lines 2 to 8). A split adds one when it completes a level, that
        is when L mod log2 m = 0 (lines 9 to 14), and a merge or a hand-over takes some away. Other coordinates have
        other places in all of them.
        """
        broker = self._broker
        settled = tuple(broker.owned), broker.position
        if self._extent is None or settled == self._settled:
            return
        has_moved = settled[1] != self._settled[1]
        self._settled = settled
        self._located = set()  # another zone has another queue, which knows nobody that was located for the old one
        resides = self._resides()
        for zone, (ownership, point) in list(self._noted.items()):
            if zone not in resides or has_moved:
                del self._noted[zone]
                broker.dispatch_body(point, PutResident(zone, ownership, 0))
        for zone, ownership in resides.items():
            if zone not in self._noted:
                self._note(zone, ownership)

    def _resides(self) -> dict[Path, ZoneOwnership]:
        """Return the zones of all levels that one resides in."""
        return {
            owned.path[: level * owned.bits]: owned.ownership
            for owned in self._broker.owned.values()
            for level in range(1, len(owned.levels))
        }

    def _note(self, zone: Path, ownership: ZoneOwnership) -> None:
        point = self._own_point(zone)
        self._noted[zone] = ownership, point
        self._broker.dispatch_body(point, PutResident(zone, ownership, self._lease))

    def _own_point(self, zone: Path) -> Point:
        """Return where the own coordinates fall in a zone."""
        broker, extent = self._broker, self._extent
        assert extent is not None
        return scale(broker.position, box_of(zone, broker.configuration.space.dimensions), extent)

    # ---- look-ups ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Locate residents of the zones that came into an ancestor queue (Algorithm 3), each once."""
        if self._extent is None and not self._measures:
            return
        for zone, (residents, left) in list(self._measured.items()):
            is_known = all(self._broker.round_trips.of(one.owner) is not None for one in residents)
            if is_known or not left:
                del self._measured[zone]
                self._prefer_closest(residents)
            else:
                self._measured[zone] = residents, left - 1
        known = {zone for owned in self._broker.owned.values() for entries in owned.levels[1:] for zone in entries}
        for zone in sorted(known - self._located):
            if self._extent is not None:
                self._locate(zone)
            else:
                self._measure(zone, [])
        self._located = known
        if self._due == 0 and not self._broker.landmarks.is_trusted:
            for zone in sorted(known):
                self._measure(zone, [])
        self._due = self._due - 1 if self._due else None

    def refresh(self) -> None:
        """Renew what is leased, the own notes and the right to be told; whoever died without a word is found so."""
        self._prune()
        if self._measures:
            self._due = FOUND_BY
        if self._extent is None:
            return
        resides = self._resides()
        for zone in self._noted.keys() - resides.keys():
            del self._noted[zone]
        for zone, ownership in resides.items():
            self._note(zone, ownership)
        self._located = set()
        self.beat()

    def _locate(self, zone: Path) -> None:
        self._asked[zone] = (None, [])
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
        waiting, known = self._asked.pop(message.zone)
        known += [ownership for ownership in message.entries if broker.routing_table.alive(ownership.owner)]
        left = list(message.neighbors) if waiting is None else waiting
        if left:
            self._asked[message.zone] = (left[1:], known)
            point = box_of(left[0].path, broker.configuration.space.dimensions).lower
            self._ask(message.zone, point)
        elif self._measures:
            self._measure(message.zone, known)
        else:
            self._prefer(closest(broker.position, known))

    def changed(self, message: ResidentChanged) -> None:
        """A located zone has a new resident, who may be closer; or has lost one, and if it was the chosen, look again.

        The seed: tell whoever subscribed, so that it changes what it has stored or locates again (section 3.2).
        """
        broker, zone, ownership = self._broker, message.zone, message.ownership
        if self._extent is None or ownership.owner == broker.id:
            return
        for owned in list(broker.owned.values()):
            chosen = owned.queue.preferred(zone)
            if message.gone:
                owned.queue.dismiss(zone, ownership.owner)
                if chosen is not None and chosen.owner == ownership.owner:
                    self._locate(zone)
            elif not broker.routing_table.alive(ownership.owner):
                continue
            elif self._measures:
                self._measure(zone, [ownership])
            elif closest(broker.position, [ownership, chosen or ownership]) is ownership:
                owned.queue.prefer(ownership)

    # ---- measured ------------------------------------------------------------------------------------------------

    def _measure(self, zone: Path, found: list[ZoneOwnership]) -> None:
        """Measure the residents of a zone that seem closest, of those found and those known before; choose later."""
        broker = self._broker
        known = {one.owner: one for one in found}
        for owned in broker.owned.values():
            for level in owned.levels:
                known |= {one.owner: one for one in level.get(zone, ())}
        residents = [one for one in known.values() if one.owner != broker.id and broker.routing_table.alive(one.owner)]
        trusted = broker.landmarks.is_trusted

        def seems(one: ZoneOwnership) -> tuple[float, int]:
            """How far a resident is, as measured, else as coordinates say; those of whom nobody knows come last."""
            measured = broker.round_trips.of(one.owner)
            predicted = broker.landmarks.predicted(one.position) if trusted and measured is None else None
            return next((time for time in (measured, predicted) if time is not None), inf), one.owner

        if trusted:
            residents.sort(key=seems)
        residents = residents[: LIKELY if trusted else ANY]
        if residents:
            self._measured[zone] = residents, MEASURED_BY
            broker.round_trips.ping([one.owner for one in residents])

    def _prefer_closest(self, residents: list[ZoneOwnership]) -> None:
        times = {one.owner: self._broker.round_trips.of(one.owner) for one in residents}
        measured = [(time, one) for one in residents if (time := times[one.owner]) is not None]
        alive = [(time, one) for time, one in measured if self._broker.routing_table.alive(one.owner)]
        if alive:
            self._prefer(min(alive, key=lambda pair: (pair[0], pair[1].owner))[1])

    def _prefer(self, chosen: ZoneOwnership | None) -> None:
        if chosen is not None:
            for owned in self._broker.owned.values():
                owned.queue.prefer(chosen)

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
        """Forget what was not renewed, and whose round trips do not matter any more."""
        broker, now = self._broker, self._broker.now
        if broker.round_trips.is_on:
            kept = {one.owner for owned in broker.owned.values() for one in (*owned.neighbors, *owned.queue)}
            kept |= {one.owner for residents, _ in self._measured.values() for one in residents}
            known = broker.landmarks.map
            broker.round_trips.prune(kept | broker.landmarks.choice.candidates | set(known.owners if known else ()))
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
