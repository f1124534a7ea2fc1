"""Joining: how a broker without a zone finds one, and how an owner gives a newcomer a part of its own.

A newcomer asks a broker that it knows, looks at the owners of some points, drawn from the events, and joins the most
loaded of them, which cuts its zone (specification 3.2). While it has none, what its clients want is sent on by whoever
it has met; whom it asked may stand still or have nothing either, so it asks another in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rookery.brokers.events import BrokerJoined, JoinFailed
from rookery.brokers.messages import JoinRequest, Routed, Transfer
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.sampling import FEWEST_SAMPLES, choose_cut
from rookery.space.zones import ROOT, AxisCut, Path, Point, box_of, contains, split, turn, volume

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker
    from rookery.brokers.membership import Membership

__all__ = ["Joining"]

#: A zone that so many cuts have made is not cut again: its sides are near the end of a double's digits.
DEEPEST = 40


class Joining:
    """How one broker gets its zone, and gives newcomers theirs."""

    def __init__(self, broker: Broker, membership: Membership) -> None:
        self._broker = broker
        self._membership = membership
        #: Whom to ask; None before anybody was named.
        self.bootstrap: int | None = None
        self._asked = 0
        #: Until when a broker without a zone waits to be given one, by a plan, before it looks for one.
        self.waits = 0
        #: Counts what was asked of, and sent on through, brokers met before.
        self._turn = 0

    def found(self) -> None:
        """Own everything."""
        broker = self._broker
        owned = self._membership.open(ZoneOwnership(ROOT, 1, broker.id, 0, broker.position))
        if broker.replicas.orphans:  # the whole network was down: who wants what its logs hold has still to say so
            broker.deliveries.begin_grace_period(owned)
        broker.emit(BrokerJoined(ROOT))

    def join(self, bootstrap: int) -> None:
        """Ask a broker for a zone, now; and it or others at every second beat until there is one."""
        broker = self._broker
        self.bootstrap = bootstrap
        self._asked = broker.now
        broker.send(bootstrap, Routed((), JoinRequest(broker.id, broker.position), broker.id))

    def _ask_again(self) -> None:
        """Ask for a zone once more; in turn another one, for who was asked may stand still, or have none either."""
        assert self.bootstrap is not None
        first, table = self.bootstrap, self._broker.routing_table
        others = [peer for peer in table.known_peers if peer != first and table.alive(peer)]
        self._turn += 1
        self.join(others[self._turn // 3 % len(others)] if others and self._turn % 3 == 2 else first)
        self.bootstrap = first
        if self._turn % 3 == 0:
            self._broker.emit(JoinFailed(first))

    def seek(self, bootstrap: int) -> None:
        """Having lost the last zone, look for one: at once, or when what was transferred to peers is confirmed."""
        if self._membership.unconfirmed():
            self.bootstrap, self._asked = bootstrap, self._broker.now
        else:
            self.join(bootstrap)

    def request_zone(self, path: Path, cut: AxisCut | None) -> None:
        """Ask for the upper half of a certain zone, cut here, or at its owner's median; while one has none."""
        broker = self._broker
        if broker.owned or self._membership.unconfirmed() or self.bootstrap is None:
            return
        point = box_of(path, broker.configuration.space.dimensions).lower
        wanted = JoinRequest(broker.id, broker.position, at=path, cut=cut)
        broker.send(self.bootstrap, Routed(point, wanted, broker.id))

    def admit(self, owned: OwnedZone, join: JoinRequest) -> None:
        """A newcomer has come to this zone: send it on to look at more, or give it a zone."""
        broker = self._broker
        if join.newcomer == broker.id or broker.leases.is_drowsy:
            return  # who is not answered asks again
        if join.at is not None:
            if join.at == owned.path and len(broker.owned) == 1 and not self._membership.leaving:
                self.give(owned, join)
            return
        if self._membership.leaving:
            self._membership.transfer(owned, join.newcomer, join.position)
            return
        best = join.best
        mine = owned.current_ownership()
        if best is None or _weight(mine, owned.dimensions) >= _weight(best, owned.dimensions):
            best = mine
        if join.more:
            onward = JoinRequest(join.newcomer, join.position, join.more[1:], best)
            broker.dispatch_body(join.more[0], onward)
        elif best.owner != broker.id:
            broker.dispatch_body(box_of(best.path, owned.dimensions).lower, JoinRequest(join.newcomer, join.position))
        else:
            self.give(owned, join)

    def invite(self, join: JoinRequest) -> None:
        """A newcomer has come to this broker: draw the points that it will look at, from the events if there are any.

        Points of events that pass here are a sample of all events, those of the own zone would not be.
        """
        broker = self._broker
        dimensions = broker.configuration.space.dimensions
        known = broker.passing.points
        points: list[Point] = []
        for _ in range(max(1, broker.configuration.choices)):
            if len(known) >= FEWEST_SAMPLES:
                points.append(known[int(broker.random.random() * len(known))])
            else:
                points.append(tuple(broker.random.random() for _ in range(dimensions)))
        broker.dispatch_body(points[0], JoinRequest(join.newcomer, join.position, tuple(points[1:])))

    def give(self, owned: OwnedZone, join: JoinRequest) -> None:
        """Give a newcomer a whole zone if there is one to spare, else the upper half of this one."""
        broker = self._broker
        if len(broker.owned) > 1:
            spare = min(broker.owned.values(), key=lambda one: (len(one.path), one.path))
            self._membership.transfer(spare, join.newcomer, join.position)
            return
        if len(owned.path) >= DEEPEST:
            return
        self._membership.doubt(owned)
        low, high = split(owned.path, *self._cut(owned, join.cut))
        epoch = owned.ownership.epoch + 1
        theirs = ZoneOwnership(high, epoch, join.newcomer, 0, join.position)
        whole = owned.state(
            ZoneOwnership(low, epoch, broker.id, 0, broker.position), broker.routing_table.ages(owned), broker.now
        )
        before = self._membership.owners(owned)
        state = owned.state(theirs, (*broker.routing_table.ages(owned), (whole.ownership, 0)), broker.now)
        self._membership.close(owned)
        mine = self._membership.open(whole.ownership, whole)
        broker.routing_table.heard[join.newcomer] = broker.now
        mine.learn(theirs)
        mine.inherit(owned)
        self._membership.await_confirmation(theirs, owned)
        broker.send(join.newcomer, Transfer(state, known_peers=tuple(broker.routing_table.known_peers)))
        self._membership.announce(before | {join.newcomer})

    def _cut(self, owned: OwnedZone, wanted: AxisCut | None) -> AxisCut:
        """Return where a zone is cut: where it is wanted, if that is inside, else by its sample."""
        if wanted is not None:
            axis, place = wanted[0] % owned.dimensions, wanted[1]
            if owned.box.lower[axis] < place < owned.box.upper[axis]:
                return axis, place
        return choose_cut(owned.box, turn(owned.path, owned.dimensions), owned.reservoir.points)

    def forwarding(self, point: Point, visited: Sequence[int] = ()) -> int | None:
        """Return who brings a message on, while one is between zones: who has got the zone, else one met before.

        Without a zone one hears no heartbeats, so whoever died is not missed: those met before take turns, and what
        one of them could not bring on is sent again through another.
        """
        dimensions = self._broker.configuration.space.dimensions
        given = self._membership.unconfirmed()
        owners = [ownership.owner for ownership in given if contains(box_of(ownership.path, dimensions), point)]
        owners += [ownership.owner for ownership in given]
        if not owners and self.bootstrap is not None:
            routing_table = self._broker.routing_table
            known_peers = dict.fromkeys((self.bootstrap, *routing_table.known_peers))
            owners = [peer for peer in known_peers if routing_table.alive(peer) and peer not in visited]
            self._turn += 1
            return owners[self._turn % len(owners)] if owners else None
        return owners[0] if owners else None

    def beat(self) -> None:
        """Without a zone: ask again, and send the clients' subscriptions again."""
        broker = self._broker
        if broker.now - self._asked >= 2 * broker.configuration.beat and broker.now >= self.waits:
            self._ask_again()
            broker.placement.resubscribe()  # what was sent on for the clients may have met who is gone as well


def _weight(ownership: ZoneOwnership, dimensions: int) -> tuple[int, float]:
    return ownership.load, volume(box_of(ownership.path, dimensions))
