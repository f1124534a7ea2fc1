"""Subscriptions come to the zones that they meet, and their copies to the backups of those.

Region routing (specification 3.6): a broker that handles a region below `depth` looks at the cuts of its own path from
there on. Each time the box reaches across a cut, the other side becomes one message of its own, to a point in it, with
one more cut in its depth. No two messages ever handle the same zone, so a subscription comes to each zone exactly once
and nobody needs to know the tree.

Subscriptions are soft state, sent again from time to time, and a copy of them lies at the first heir of each zone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.brokers.messages import Region, Replica, Subscription
from rookery.brokers.parcels import Placed, Superseded
from rookery.brokers.seats import Seat
from rookery.brokers.zones import Path, cell_of, meets, overlap, sibling

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Placement"]


class Placement:
    """The subscriptions of one broker's clients, and those of its zones."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: Subscriptions of the own clients.
        self.clients: dict[str, Subscription] = {}
        #: Copies of the subscriptions of other brokers' zones.
        self.replicas: dict[Path, dict[str, tuple[Subscription, int]]] = {}
        self._next_refresh = 0

    # ---- clients -------------------------------------------------------------------------------------------------

    def subscribe(self, subscription_id: str, where: str, parameters: tuple[object, ...], version: int) -> None:
        """Send a client's subscription to every zone that its box meets; they say that they have it.

        What it replaces is taken back behind it: zones that both meet keep the later one, the others have none.
        """
        broker, before = self._broker, self.clients.get(subscription_id)
        box = broker.configuration.space.box(where, parameters or None)
        lower, upper = box if box is not None else ((), ())
        subscription = Subscription(subscription_id, version, where, parameters, lower, upper, broker.id)
        self.clients[subscription_id] = subscription
        self.send(subscription, answer=True)
        if before is not None and (before.lower, before.upper) != (lower, upper) and before.rank < subscription.rank:
            self.send(before, removed=True)

    def unsubscribe(self, subscription_id: str) -> None:
        """Take a client's subscription back from every zone."""
        subscription = self.clients.pop(subscription_id, None)
        if subscription is not None:
            self.send(subscription, removed=True)

    def resubscribe(self) -> None:
        """Send all subscriptions of the clients again."""
        self._next_refresh = self._broker.now + self._broker.configuration.refresh
        for subscription in self.clients.values():
            self.send(subscription)

    def send(self, subscription: Subscription, *, removed: bool = False, answer: bool = False) -> None:
        """Send a subscription of a client to its zones."""
        if not subscription.lower:  # a condition that is never true has no box and goes nowhere
            return
        home, region = self._broker.home(), Region(subscription, 0, removed, answer)
        if home is not None:
            self.spread(home, region)
        else:  # between seats: whoever owns a corner of the box spreads it
            self._broker.dispatch_body(subscription.lower, region)

    # ---- subscriptions at zones ----------------------------------------------------------------------------------

    def spread(self, seat: Seat, region: Region) -> None:
        """Handle a region: pass on what lies across the cuts, keep what meets the own zone."""
        broker, subscription = self._broker, region.subscription
        broker.counters["regions"] += 1
        path = seat.path
        if meets(seat.cell, subscription.lower, subscription.upper):
            self._keep(seat, subscription, region.removed)
            if region.answer:
                self._answer(seat, subscription)
        for depth in range(region.depth, len(path)):
            beside = cell_of(sibling(path[: depth + 1]), seat.dimensions)
            if meets(beside, subscription.lower, subscription.upper):
                corner = tuple(map(max, subscription.lower, beside.lower))
                broker.dispatch_body(corner, Region(subscription, depth + 1, region.removed, region.answer))

    def _keep(self, seat: Seat, subscription: Subscription, removed: bool) -> None:
        broker, name = self._broker, subscription.subscription_id
        if removed:
            stored = seat.store.get(name)
            if stored is not None and stored.rank > subscription.rank:
                return  # taken back by a broker that its client has left: the later one stands
            changed = seat.store.remove(name)
            broker.ledger.drop(name)
        else:
            changed = self._store(seat, subscription, broker.configuration.lease)
        if changed and seat.replicated is not None:
            change = ((), (name,)) if removed else (((subscription, broker.configuration.lease),), ())
            broker.send(seat.replicated, Replica(seat.path, *change))

    def _store(self, seat: Seat, subscription: Subscription, lease: int) -> bool:
        """Store a subscription unless a later one is there; what waits for its client goes where that is now."""
        broker, name = self._broker, subscription.subscription_id
        before = seat.store.get(name)
        if not seat.store.add(subscription, broker.now + lease):
            return False
        if before is not None and before.access != subscription.access:
            broker.ledger.move(name, subscription.access)
        return True

    def _answer(self, seat: Seat, subscription: Subscription) -> None:
        """Say that a subscription is stored, if it is, or what is stored instead."""
        name, version = subscription.subscription_id, subscription.version
        stored = seat.store.get(name)
        if stored is None:
            return
        if stored.is_same(subscription):
            self._broker.send(subscription.access, Placed(name, version, seat.path))
        else:
            self._broker.send(subscription.access, Superseded(name, version, stored.version))

    # ---- replicas ------------------------------------------------------------------------------------------------

    def replicate(self, seat: Seat) -> None:
        """Bring the subscriptions of a zone to its first heir, if that is a new one."""
        broker = self._broker
        heir = next(iter(seat.heirs(broker.around.alive)), None)
        if heir == seat.replicated:
            return
        self.withdraw_replica(seat)
        seat.replicated = heir
        if heir is not None and len(seat.store):
            broker.send(heir, Replica(seat.path, self.leased(seat), whole=True))

    def leased(self, seat: Seat) -> tuple[tuple[Subscription, int], ...]:
        """Return the subscriptions of a zone, each with the time its lease has left."""
        return tuple((subscription, expires - self._broker.now) for subscription, expires in seat.store)

    def withdraw_replica(self, seat: Seat) -> None:
        """Tell the heir of old that it is heir no more."""
        if seat.replicated is not None and self._broker.around.alive(seat.replicated) and len(seat.store):
            self._broker.send(seat.replicated, Replica(seat.path, (), whole=True))
        seat.replicated = None

    def replica(self, message: Replica) -> None:
        """Keep a copy, or store what was sent to the owner."""
        now = self._broker.now
        if message.stored:
            for seat in self._broker.seats.values():
                for subscription, left in message.added:
                    if meets(seat.cell, subscription.lower, subscription.upper):
                        self._store(seat, subscription, left)
            return
        if message.whole:
            self.replicas.pop(message.path, None)
        if message.added or message.path in self.replicas:
            held = self.replicas.setdefault(message.path, {})
            for subscription, left in message.added:
                held[subscription.subscription_id] = (subscription, now + left)
            for name in message.removed:
                held.pop(name, None)

    def inherited(self, path: Path) -> tuple[tuple[Subscription, int], ...]:
        """Return the copies that belong to a zone, and let go of its own."""
        cell = cell_of(path, self._broker.configuration.space.dimensions)
        found: dict[str, tuple[Subscription, int]] = {}
        for held_path, held in self.replicas.items():
            for name, entry in held.items() if overlap(held_path, path) else ():
                later = name not in found or entry[0].rank > found[name][0].rank
                if later and meets(cell, entry[0].lower, entry[0].upper):
                    found[name] = entry
        self.replicas.pop(path, None)
        return tuple((subscription, expires - self._broker.now) for subscription, expires in found.values())

    # ---- the beat ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Renew what is leased, forget what has expired."""
        broker = self._broker
        if broker.now >= self._next_refresh:
            self.resubscribe()
        for seat in broker.seats.values():
            gone = seat.store.expire(broker.now)
            for name in gone:
                broker.ledger.drop(name)
            if gone and seat.replicated is not None:
                broker.send(seat.replicated, Replica(seat.path, (), tuple(gone)))
        for held in self.replicas.values():
            for name in [name for name, (_, expires) in held.items() if expires <= broker.now]:
                del held[name]
        self.replicas = {path: held for path, held in self.replicas.items() if held}
