"""What happens to the zones of the dead, and who yields when two claim one zone.

A dead broker's zone is taken over by its heirs, in the order that it named itself, each waiting two beats for the one
before; after them by any neighbor. A takeover makes a claim with a greater epoch (`claims.py`), so a mistake, such as
taking over from a broker that was only slow, ends by itself: the lesser claim yields, and its subscriptions go to the
winner. Nothing here needs agreement, only that news spreads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.claims import Claim
from rookery.brokers.messages import Replica, SeatState
from rookery.brokers.seats import HEIRS, Seat
from rookery.brokers.spanhop import depth_of
from rookery.brokers.zones import ROOT, Path, Point, cell_of, contains, overlap, sibling

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker
    from rookery.brokers.membership import Membership

__all__ = ["Succession", "carve"]

#: Beats after which a place from which nobody answers is taken for ownerless.
WASTE = 8


class Succession:
    """Disputes and deaths, as one broker sees them."""

    def __init__(self, broker: Broker, membership: Membership) -> None:
        self._broker = broker
        self._membership = membership
        #: Holes in the neighbor tables and since when nobody has answered from there.
        self._holes: dict[Point, int] = {}

    def contest(self, claim: Claim) -> bool:
        """Settle a claim of somebody else on a zone of one's own; say whether it lost."""
        broker = self._broker
        lost = False
        for seat in list(broker.seats.values()):
            if not overlap(seat.path, claim.path):
                continue
            if claim.prevails(seat.claim):
                self._give_way(seat, claim)
            else:
                lost = True
                self._membership.greet(claim.owner)
        pending = [made for made in self._membership.granted_claims() if overlap(made.path, claim.path)]
        return lost or any(made.prevails(claim) for made in pending)

    def _give_way(self, seat: Seat, winner: Claim) -> None:
        broker = self._broker
        broker.counters["yielded"] += 1
        before = self._membership.owners(seat)
        self._membership.close(seat)
        broker.send(winner.owner, Replica(winner.path, broker.placement.leased(seat), stored=True))
        if len(winner.path) > len(seat.path):
            state = seat.state(seat.claim, broker.around.ages(seat), broker.now)
            for piece in carve(seat.path, winner.path):
                self._membership.open(Claim(piece, seat.claim.epoch, broker.id, 0, broker.position), state)
        self._membership.announce(before)
        if not broker.seats and not self._membership.leaving:
            self._membership.seek(winner.owner)

    def inherit(self) -> None:
        """Take over the zones of dead neighbors whose turn has come to oneself."""
        broker = self._broker
        beat = broker.configuration.beat
        for seat in list(broker.seats.values()):
            if broker.seats.get(seat.path) is not seat:
                continue
            for claim in list(seat.neighbors):
                if broker.around.alive(claim.owner):
                    continue
                report = seat.details.get(claim.path)
                heirs = report.heirs if report is not None else ()
                rank = heirs.index(broker.id) if broker.id in heirs else HEIRS + 1 + broker.id % HEIRS
                if broker.around.silence(claim.owner) >= 2 * rank * beat:
                    self._succeed(claim, () if report is None else report.neighbors)

    def _succeed(self, dead: Claim, neighbors: tuple[tuple[Claim, int], ...]) -> None:
        broker = self._broker
        broker.counters["taken over"] += 1
        claim = Claim(dead.path, dead.epoch + 1, broker.id, 0, broker.position)
        subscriptions = broker.placement.inherited(dead.path)
        youth = broker.configuration.youth
        self._membership.take(claim, SeatState(claim, neighbors, (), subscriptions, (), 0, (), youth))
        self._membership.announce()

    def settle_all(self, since: int) -> None:
        """Having given one's zone away and found none since, for long: whoever had all zones is gone. Claim everything.

        With epoch 0, as waste land: if there is an owner of any part after all, it prevails.
        """
        broker = self._broker
        if not since or broker.now - since < WASTE * broker.configuration.beat:
            return
        broker.counters["settled"] += 1
        seat = self._membership.open(Claim(ROOT, 0, broker.id, 0, broker.position))
        seat.young = broker.now + broker.configuration.youth
        for other in broker.around.acquaintances:
            self._membership.greet(other)
        broker.placement.resubscribe()

    def settle_waste(self) -> None:
        """Claim what has had no owner for long: so many died together that nobody is left who knows their zones.

        The claim goes as far up as the last cut before the hole, with epoch 0: whoever owns a part of it prevails, and
        what is left after all of them have said so is the waste land.
        """
        broker = self._broker
        patience = WASTE * broker.configuration.beat
        holes = {point: seat for seat in broker.seats.values() for point in seat.holes()}
        self._holes = {point: self._holes.get(point, broker.now) for point in holes}
        for point, seat in holes.items():
            if broker.now - self._holes[point] < patience or broker.seat_at(point) is not None:
                continue
            depth = depth_of(seat.path, point, seat.dimensions)
            pieces = [sibling(seat.path[: depth + 1])]
            known = [claim for one in broker.seats.values() for claim in (one.claim, *one.neighbors)]
            for claim in known:
                pieces = [part for piece in pieces for part in carve(piece, claim.path)]
            for piece in pieces:
                if contains(cell_of(piece, seat.dimensions), point):
                    broker.counters["settled"] += 1
                    settled = self._membership.open(Claim(piece, 0, broker.id, 0, broker.position))
                    settled.young = broker.now + broker.configuration.youth


def carve(whole: Path, part: Path) -> list[Path]:
    """Return the zones that are left of one when a zone inside is taken out; all of it if they are apart."""
    if not overlap(whole, part):
        return [whole]
    return [sibling(part[: depth + 1]) for depth in range(len(whole), len(part))]
