"""Who owns which zone: transfers, leaves and merges; how a newcomer gets one is in `joining.py`.

Theory. Among the living a zone changes hands in one way only: its owner transfers it, whole or the upper half of it,
and keeps its state until the new owner says that it has it. If the new owner dies first the zone is taken back. What
happens after a death, and when two brokers own one zone, is in `takeover.py`.

A broker that owns more than one zone passes the rest on. Siblings merge; a zone whose sibling is one zone goes to that
zone's owner, who merges; any other goes deeper into the sibling's subtree, strictly deeper each time, until it meets a
broker whose own zone can be given away so (the seed's leave, specification 3.3: Z absorbs Y's zone and Y takes X's).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.events import BrokerJoined, BrokerLeft
from rookery.brokers.joining import Joining
from rookery.brokers.messages import JoinRequest, Transfer, TransferConfirmed, ZoneState
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.routing_table import MOST_KNOWN_PEERS
from rookery.brokers.takeover import Takeover, carve
from rookery.space.zones import (
    AxisCut,
    Path,
    inside,
    overlap,
    sibling,
)

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Membership"]


class Membership:
    """The zones of one broker and how they come and go."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.left = False
        self.leaving = False
        #: Since when a broker that leaves has no zone any more.
        self._bare_since: int | None = None
        #: Transfers not yet confirmed: the ownership of the receiver, the zone as it was, since when.
        self._transfers: dict[Path, tuple[ZoneOwnership, OwnedZone, int]] = {}
        self._greet: set[int] = set()
        self.joining = Joining(broker, self)
        self.takeover = Takeover(broker, self)

    # ---- zones that change hands ---------------------------------------------------------------------------------

    def transfer(
        self, owned: OwnedZone, receiver: int, position: tuple[float, ...] = (), *, back: AxisCut | None = None
    ) -> None:
        """Give a whole zone away."""
        broker = self._broker
        ownership = ZoneOwnership(owned.path, owned.ownership.epoch + 1, receiver, 0, position)
        self.doubt(owned)
        state = owned.state(ownership, broker.routing_table.ages(owned), broker.now)
        self.close(owned)
        self.await_confirmation(ownership, owned)
        for other in broker.owned.values():
            if other.learn(ownership):
                broker.routing_table.heard[receiver] = broker.now
        broker.counters["transferred"] += 1
        if self.leaving:
            self.joining.bootstrap = receiver  # the way for what is left to be sent on
        broker.send(receiver, Transfer(state, back, tuple(broker.routing_table.known_peers)))

    def accept(self, transfer: Transfer, sender: int) -> None:
        """Take a zone that was transferred; give a part of it and its sibling back, if that is wanted."""
        broker = self._broker
        state, back = transfer.state, transfer.back
        ownership = state.ownership
        if ownership.owner != broker.id:
            return
        broker.send(sender, TransferConfirmed(ownership.path, ownership.epoch))
        self.joining.waits = 0
        first = not broker.owned
        mine = ZoneOwnership(ownership.path, ownership.epoch, broker.id, 0, broker.position)
        for peer in (*transfer.known_peers[:MOST_KNOWN_PEERS], sender):
            broker.routing_table.remember(peer)
        for known in (*state.ancestors, *(other for other, _ in state.neighbors)):
            broker.routing_table.remember(known.owner)
        self.take(mine, state)
        if first and broker.owned:
            broker.emit(BrokerJoined(ownership.path))
            broker.placement.resubscribe()
            broker.refresh_ancestors()
        self.announce({sender})
        if back is not None and not broker.leases.is_drowsy:
            self._merge_siblings()
            whole = broker.owned.get(ownership.path[:-1])
            if whole is not None and len(broker.owned) == 1 and not self.leaving:
                self.joining.give(whole, JoinRequest(sender, (), cut=back))

    def take(self, ownership: ZoneOwnership, state: ZoneState) -> None:
        """Open a zone, but for parts that are one's own already: those only gain what came with it."""
        broker = self._broker
        rivals = [owned for owned in broker.owned.values() if overlap(owned.path, ownership.path)]
        for rival in [one for one in rivals if not inside(one.path, ownership.path)]:
            if not inside(ownership.path, rival.path) and ownership.prevails(rival.ownership):
                self.close(rival)  # of a tree that was cut differently before
                rivals.remove(rival)
        for rival in rivals:
            if inside(ownership.path, rival.path):
                rival.fill(state, broker.now)
                rival.store.keep(rival.box)
                broker.deliveries.follow(rival.store)
                return
        pieces = [ownership.path]
        for rival in rivals:
            pieces = [part for piece in pieces for part in carve(piece, rival.path)]
        for piece in pieces:
            self.open(ZoneOwnership(piece, ownership.epoch, broker.id, 0, broker.position), state)

    def doubt(self, owned: OwnedZone) -> None:
        """A greater epoch is made of that of a zone: where its lease is not held it may be beaten already.

        Then the greater epoch prevails over whoever has beaten it, and who does not know the subscriptions that were
        placed there: what comes of such a zone has a grace period, as after a takeover.
        """
        if not self._broker.leases.is_held(owned):
            self._broker.deliveries.begin_grace_period(owned)

    def confirmed(self, path: Path, epoch: int) -> None:
        """The new owner has its zone."""
        pending = self._transfers.get(path)
        if pending is not None and pending[0].epoch == epoch:
            del self._transfers[path]
            self._depart()

    def take_back(self, ownership: ZoneOwnership) -> None:
        """The new owner never got its zone: own it again."""
        broker = self._broker
        pending = self._transfers.get(ownership.path)
        if pending is None or pending[0].epoch != ownership.epoch:
            return
        _, owned, _ = self._transfers.pop(ownership.path)
        broker.counters["taken back"] += 1
        mine = ZoneOwnership(ownership.path, ownership.epoch + 1, broker.id, 0, broker.position)
        # It may have got it after all, and subscriptions with it: what comes is matched again when they are back.
        broker.deliveries.begin_grace_period(owned)
        self.take(mine, owned.state(mine, [(other, 0) for other in owned.neighbors], broker.now))
        self.announce()

    def transfer_all(self, patience: int, back: AxisCut | None = None) -> None:
        """Give the zones to the owners of their siblings and wait for a place; look for one after a time.

        With `back` a zone is to be joined with its sibling, cut there, and the upper part given back.
        """
        broker = self._broker
        self.joining.waits = broker.now + patience
        self._merge_siblings()
        for owned in list(broker.owned.values()):
            target = self._partner(owned)
            if target is not None:
                self.joining.bootstrap = target
                self.transfer(owned, target, back=back)

    # ---- leaving -------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Hand over every zone."""
        self.leaving = True
        self._hand_all_over()

    def _hand_all_over(self) -> None:
        # Merged first: one of two siblings, given away alone, would come back from its new owner to the other.
        self._merge_siblings()
        for owned in list(self._broker.owned.values()):
            self._hand_over(owned)
        self._depart()

    def _hand_over(self, owned: OwnedZone) -> None:
        target = self._partner(owned)
        if target is None:
            target = next(iter(owned.backups(self._broker.routing_table.alive)), None)
        if target is not None:
            self.transfer(owned, target)
        elif not len(owned.neighbors):
            self.close(owned)  # nobody else is there

    def _depart(self) -> None:
        """Leave when all zones are given away, and every event that is kept here is safe with somebody who stays.

        For a time: where nobody stays who could keep them, as beside a last broker, they stay on the disk.
        """
        broker = self._broker
        if not self.leaving or self.left or self._transfers or broker.owned:
            self._bare_since = None
            return
        if self._bare_since is None:
            self._bare_since = broker.now
        broker.deliveries.beaten()
        keeps = broker.deliveries.in_flight or broker.replicas.orphans or broker.replicas.batches
        if not keeps or broker.now - self._bare_since >= broker.configuration.grace_period:
            self.left = True
            broker.emit(BrokerLeft())

    # ---- passing zones on ----------------------------------------------------------------------------------------

    def _partner(self, owned: OwnedZone) -> int | None:
        """Return who should get a zone: its sibling's owner, or the deepest neighbor inside the sibling's zone."""
        broker = self._broker
        if not owned.path:
            return None
        beside = sibling(owned.path)
        candidates = [
            ownership
            for ownership in owned.neighbors
            if inside(ownership.path, beside)
            and ownership.owner != broker.id
            and broker.routing_table.alive(ownership.owner)
        ]
        return (
            max(candidates, key=lambda ownership: (len(ownership.path), ownership.owner)).owner if candidates else None
        )

    def _pass_on(self) -> None:
        """Do one step toward a single zone."""
        broker = self._broker
        if broker.leases.is_drowsy:
            return
        self._merge_siblings()
        if len(broker.owned) < 2 or self._transfers:
            return
        for owned in broker.owned.values():
            ownership = owned.neighbors.get(sibling(owned.path)) if owned.path else None
            if ownership is not None and ownership.owner != broker.id and broker.routing_table.alive(ownership.owner):
                # Its owner may have two as well, and pass on that half at the same beat: one of both holds back, or
                # they would exchange the halves for good.
                if broker.id < ownership.owner or broker.random.random() < 0.5:
                    self.transfer(owned, ownership.owner)
                return
        home = broker.home()
        assert home is not None
        for owned in broker.owned.values():
            if owned is home:
                continue
            deeper = self._partner(home) if inside(home.path, sibling(owned.path)) else self._partner(owned)
            if deeper is not None:
                self.transfer(owned, deeper)
                return

    def _merge_siblings(self) -> None:
        owned = self._broker.owned
        for path in list(owned):
            if path and path in owned and sibling(path) in owned:
                self._merge(owned[path], owned[sibling(path)])

    def _merge(self, one: OwnedZone, other: OwnedZone) -> None:
        """Make one zone of two siblings: what a split did is undone."""
        broker = self._broker
        before = self.owners(one) | self.owners(other)
        ownership = ZoneOwnership(
            one.path[:-1], max(one.ownership.epoch, other.ownership.epoch) + 1, broker.id, 0, broker.position
        )
        self.doubt(one)
        self.doubt(other)
        states = [owned.state(owned.ownership, broker.routing_table.ages(owned), broker.now) for owned in (one, other)]
        self.close(one)
        self.close(other)
        merged = self.open(ownership, states[0])
        for known, age in states[1].neighbors:
            merged.learn(known)
            broker.routing_table.inherit(known.owner, age)
        merged.inherit(one)
        merged.inherit(other)
        merged.fill(states[1], broker.now)
        broker.deliveries.follow(merged.store)
        broker.counters["merged"] += 1
        self.announce(before)

    # ---- zones and what is told of them --------------------------------------------------------------------------

    def open(self, ownership: ZoneOwnership, state: ZoneState | None = None) -> OwnedZone:
        """Own a zone from now on; take in what came with it and what one knows already."""
        broker = self._broker
        owned = OwnedZone(ownership, broker.configuration)
        owned.since = broker.leases.now
        known = [other for one in broker.owned.values() for other in (one.ownership, *one.neighbors)]
        ancestors = [resident for one in broker.owned.values() for resident in one.queue]
        broker.owned[owned.path] = owned
        if state is not None:
            for other, age in state.neighbors:
                if other.owner != broker.id or other.path in broker.owned:
                    owned.learn(other)
                    if other.owner != broker.id:
                        broker.routing_table.inherit(other.owner, age)
            owned.fill(state, broker.now)
            owned.store.keep(owned.box)
            owned.reservoir = owned.reservoir.part(owned.box)
            broker.deliveries.follow(owned.store)
        for other in known:
            owned.learn(other)
        for resident in ancestors:
            owned.queue.learn(resident, first=False)
        for one in broker.owned.values():
            if one is not owned:
                one.learn(ownership)
                owned.inherit(one)
        return owned

    def close(self, owned: OwnedZone) -> None:
        """Own a zone no more."""
        self._broker.placement.withdraw_replica(owned)
        del self._broker.owned[owned.path]
        for other in self._broker.owned.values():
            neighbor = other.neighbors.get(owned.path)
            if neighbor is not None and neighbor.owner == self._broker.id:
                other.drop(owned.path)

    def owners(self, owned: OwnedZone) -> set[int]:
        """Return the other brokers beside a zone."""
        return {ownership.owner for ownership in owned.neighbors if ownership.owner != self._broker.id}

    def await_confirmation(self, ownership: ZoneOwnership, whole: OwnedZone) -> None:
        """A zone, or a half of it, was given away: keep all of it until its new owner has confirmed it."""
        self._transfers[ownership.path] = (ownership, whole, self._broker.now)

    def unconfirmed(self) -> list[ZoneOwnership]:
        """Return the ownerships of peers who have not confirmed them yet."""
        return [ownership for ownership, _, _ in self._transfers.values()]

    def greet(self, owner: int) -> None:
        """Tell a broker soon that one is there."""
        self._greet.add(owner)

    def announce(self, peers: set[int] | None = None) -> None:
        """Tell all neighbors, and some peers, what one owns; bring the replicas to the backups."""
        broker = self._broker
        if peers is None:
            peers = set()
        for owned in broker.owned.values():
            peers |= self.owners(owned)
            broker.placement.replicate(owned)
        self._greet |= peers

    def flush(self) -> None:
        """Send the heartbeats that are due: one per receiver, whatever happened."""
        if not self._greet:
            return
        broker = self._broker
        greeted, self._greet = self._greet, set()
        greeted.discard(broker.id)
        if broker.owned and greeted:
            reachable = [owner for owner in sorted(greeted) if owner not in broker.routing_table.unreachable]
            broker.leases.heartbeats(reachable)

    def stalled(self) -> None:
        """Having slept: whoever was to answer in time has not been heard yet."""
        now = self._broker.now
        self._transfers = {path: (made, owned, now) for path, (made, owned, _) in self._transfers.items()}
        self.joining.waits = now if self.joining.waits else 0
        self.takeover.stalled()

    def beat(self) -> None:
        """Do what is periodic: ask again, take back, take over, pass on."""
        broker = self._broker
        beat = broker.configuration.beat
        for ownership, _, since in list(self._transfers.values()):
            if broker.now - since > (broker.configuration.silence + 1) * beat:
                self.take_back(ownership)
        if not broker.owned and not self.leaving and not self._transfers and self.joining.bootstrap is not None:
            self.joining.beat()
            self.takeover.take_everything(self.joining.waits)
            return
        for owned in broker.owned.values():  # one resides in one's own zones only
            owned.queue.forget(broker.id)
            for other in broker.owned.values():
                owned.queue.learn(other.ownership, first=False)
        self.takeover.take_over_dead()
        self.takeover.take_ownerless()
        if self.leaving:
            self._hand_all_over()
        else:
            self._pass_on()
