"""Takeover: what happens to the zones of the dead, and who yields when two own one zone.

A silent broker's zone is taken over by its backups, in the order that it named itself, each waiting two beats for the
one before; after them by any neighbor; by none before its own grant has run out (`leases.py`), also where the broker
cannot be reached. A takeover makes a greater epoch (`ownership.py`), so a mistake, such as taking over from a broker
that was only slow, ends by itself: the lesser epoch yields, its subscriptions go to the winner, and so do the events
that it has not finished with, to be matched again. Nothing here needs agreement, only that news spreads: who claims a
zone beside that of a neighbor that knows a prevailing owner is told of that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.messages import ReplicateSubscriptions, ZoneState
from rookery.brokers.owned_zone import MOST_BACKUPS, OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.space.zones import ROOT, Path, Point, box_of, contains, depth_of, inside, overlap, sibling

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker
    from rookery.brokers.membership import Membership

__all__ = ["Takeover", "carve"]

#: Beats after which a place from which nobody answers is taken for ownerless.
OWNERLESS_BEATS = 8


class Takeover:
    """Disputes and deaths, as one broker sees them."""

    def __init__(self, broker: Broker, membership: Membership) -> None:
        self._broker = broker
        self._membership = membership
        #: Holes in the neighbor tables and since when nobody has answered from there.
        self._holes: dict[Point, int] = {}

    def contest(self, ownership: ZoneOwnership) -> bool:
        """Settle who owns a zone of one's own that a peer says it owns; say whether the peer lost."""
        broker = self._broker
        lost = False
        for owned in list(broker.owned.values()):
            if not overlap(owned.path, ownership.path):
                continue
            if ownership.prevails(owned.ownership):
                self._give_way(owned, ownership)
            else:
                lost = True
                self._membership.greet(ownership.owner)
        pending = [made for made in self._membership.unconfirmed() if overlap(made.path, ownership.path)]
        return lost or any(made.prevails(ownership) for made in pending)

    def _give_way(self, owned: OwnedZone, winner: ZoneOwnership) -> None:
        broker = self._broker
        broker.counters["yielded"] += 1
        before = self._membership.owners(owned)
        self._membership.close(owned)
        broker.deliveries.beaten()
        for bulk in broker.placement.leased_bulks(owned):
            broker.send(winner.owner, ReplicateSubscriptions(winner.path, bulk, stored=True))
        if len(winner.path) > len(owned.path) and inside(winner.path, owned.path):
            state = owned.state(owned.ownership, broker.routing_table.ages(owned), broker.now)
            for piece in carve(owned.path, winner.path):
                left = ZoneOwnership(piece, owned.ownership.epoch, broker.id, 0, broker.position)
                self._membership.open(left, state).inherit(owned)
        self._membership.announce(before)
        if not broker.owned and not self._membership.leaving:
            self._membership.joining.seek(winner.owner)

    def stalled(self) -> None:
        """Having slept: whether a place is ownerless has to be asked anew."""
        self._holes.clear()

    def take_over_dead(self) -> None:
        """Take over the zones of dead neighbors whose turn has come to oneself."""
        broker = self._broker
        beat = broker.configuration.beat
        for owned in list(broker.owned.values()):
            if broker.owned.get(owned.path) is not owned:
                continue
            for ownership in list(owned.neighbors):
                if broker.routing_table.alive(ownership.owner):
                    continue
                report = owned.details.get(ownership.path)
                backups = report.backups if report is not None else ()
                rank = backups.index(broker.id) if broker.id in backups else MOST_BACKUPS + 1 + broker.id % MOST_BACKUPS
                if broker.routing_table.silence(ownership.owner) >= 2 * rank * beat:
                    self._take_over(ownership, () if report is None else report.neighbors)

    def _take_over(self, dead: ZoneOwnership, neighbors: tuple[tuple[ZoneOwnership, int], ...]) -> None:
        broker = self._broker
        broker.counters["taken over"] += 1
        ownership = ZoneOwnership(dead.path, dead.epoch + 1, broker.id, 0, broker.position)
        subscriptions = broker.placement.taken_over(dead.path)
        grace_period = broker.configuration.grace_period
        self._membership.take(ownership, ZoneState(ownership, neighbors, (), subscriptions, (), 0, (), grace_period))
        self._membership.announce()

    def take_everything(self, since: int) -> None:
        """Having given one's zone away and found none since, for long: whoever had all zones is gone. Own everything.

        With epoch 0, as ownerless: if there is an owner of any part after all, it prevails.
        """
        broker = self._broker
        if not since or broker.now - since < OWNERLESS_BEATS * broker.configuration.beat:
            return
        broker.counters["ownerless taken"] += 1
        owned = self._membership.open(ZoneOwnership(ROOT, 0, broker.id, 0, broker.position))
        broker.deliveries.begin_grace_period(owned)
        for peer in broker.routing_table.known_peers:
            self._membership.greet(peer)
        broker.placement.resubscribe()

    def take_ownerless(self) -> None:
        """Own what has had no owner for long: so many died together that nobody is left who knows their zones.

        It goes as far up as the last cut before the hole, with epoch 0: whoever owns a part of it prevails, and
        what is left after all of them have said so is ownerless.
        """
        broker = self._broker
        patience = OWNERLESS_BEATS * broker.configuration.beat
        holes = {point: owned for owned in broker.owned.values() for point in owned.holes()}
        self._holes = {point: self._holes.get(point, broker.now) for point in holes}
        for point, owned in holes.items():
            if broker.now - self._holes[point] < patience or broker.owned_at(point) is not None:
                continue
            whole = sibling(owned.path[: depth_of(owned.path, point, owned.dimensions) + 1])
            known = [ownership for one in broker.owned.values() for ownership in (one.ownership, *one.neighbors)]
            if not self._take_piece(whole, point, known, epoch=0) and broker.now - self._holes[point] >= 2 * patience:
                self._cut_anew(owned, whole, point, known)

    def _take_piece(self, whole: Path, point: Point, known: list[ZoneOwnership], *, epoch: int) -> OwnedZone | None:
        """Own what of a zone nobody is known to own around a point; None where nothing is left there."""
        broker = self._broker
        pieces = [whole]
        for ownership in known:
            pieces = [part for piece in pieces for part in carve(piece, ownership.path)]
        for piece in pieces:
            if contains(box_of(piece, broker.configuration.space.dimensions), point):
                broker.counters["ownerless taken"] += 1
                taken = self._membership.open(ZoneOwnership(piece, epoch, broker.id, 0, broker.position))
                broker.deliveries.begin_grace_period(taken)
                return taken
        return None

    def _cut_anew(self, owned: OwnedZone, whole: Path, point: Point, known: list[ZoneOwnership]) -> None:
        """Let the present cuts hold on the other side of a hole, where zones were cut differently and leave it open.

        No zone of either tree fits into such a hole: it remains until one side yields, which has the lesser epochs. The
        lease of what is taken begins when any that the other side holds has ended.
        """
        broker = self._broker
        rivals = [
            one
            for one in known
            if overlap(one.path, whole) and not inside(one.path, whole) and not inside(whole, one.path)
        ]
        if not rivals or any(one.owner == broker.id or one.prevails(owned.ownership) for one in rivals):
            return
        epoch = max(one.epoch for one in (owned.ownership, *rivals)) + 1
        taken = self._take_piece(whole, point, [one for one in known if one not in rivals], epoch=epoch)
        if taken is not None:
            broker.counters["cut anew"] += 1
            taken.since = max(taken.since, broker.now + broker.configuration.silence * broker.configuration.beat)
            self._membership.announce({rival.owner for rival in rivals})


def carve(whole: Path, part: Path) -> list[Path]:
    """Return the zones that are left of one when a zone inside is taken out; all of it if they are apart.

    Nothing is left where they were cut differently: the one that prevails has peers of its own beside it.
    """
    if not overlap(whole, part):
        return [whole]
    if not inside(part, whole):
        return []
    return [sibling(part[: depth + 1]) for depth in range(len(whole), len(part))]
