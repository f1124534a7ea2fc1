"""Subscriptions come to the zones that they meet, and their replicas to the backups of those.

Placing (specification 3.6): a broker that places a subscription below `depth` looks at the cuts of its own path from
there on. Each time the box reaches across a cut, the other side becomes one message of its own, to a point in it, with
one more cut in its depth. No two messages ever handle the same zone, so a subscription comes to each zone exactly once
and nobody needs to know the tree. Where nobody owns the point at present, another zone of that side does it.

Many go together: what the clients ask in one buffer spreads as one bulk, each cut takes out of it what reaches across,
and each zone answers once for what it has stored of it. Any point of a side will do, for whoever is there first divides
the bulk further.

Subscriptions are soft state, sent again from time to time, and a replica of them lies at the first backup of each zone.
A durable one stays as long as a client that is away is kept, whether or not its broker sends it again. Who has many
sends some of them at each beat (`renewal.py`), each of them as often as all of few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from rookery.brokers.batches import Placed, Superseded
from rookery.brokers.bulks import bulks
from rookery.brokers.messages import PlacedSubscription, PlaceSubscriptions, ReplicateSubscriptions, Routed
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.renewal import Renewal
from rookery.space.zones import Path, box_of, contains, gap, meets, overlap, sibling

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Placement"]

#: Hops of the search for a zone beside one that nobody owns: there may be none, and it is searched for again later.
MOST_ASKED = 16
#: When nothing lapses.
NEVER = 1 << 62


class Placement:
    """The subscriptions of one broker's clients, and those of its zones."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: Subscriptions of the own clients, those first that were sent longest ago.
        self.clients: dict[str, PlacedSubscription] = {}
        #: Replicas of the subscriptions of peers' zones.
        self.replicas: dict[Path, dict[str, tuple[PlacedSubscription, int]]] = {}
        #: When the first of the replicas may lapse.
        self._next_lapse = 0
        self._renewal = Renewal(refresh=broker.configuration.refresh, beat=broker.configuration.beat)
        #: What the zones are to be told at the end of this turn, by whether it is taken back and whether they answer.
        self._outgoing: dict[tuple[bool, bool], list[PlacedSubscription]] = {}
        #: Subscriptions that a zone has stored while its lease was not held: by zone, with what was asked.
        self._unanswered: dict[Path, tuple[OwnedZone, dict[str, PlacedSubscription]]] = {}

    # ---- clients -------------------------------------------------------------------------------------------------

    def subscribe(
        self,
        subscription_id: str,
        where: str,
        parameters: tuple[object, ...],
        version: int,
        *,
        durable: bool = False,
    ) -> None:
        """Send a client's subscription to every zone that its box meets; they say that they have it.

        What it replaces is taken back behind it: zones that both meet keep the later one, the others have none.
        """
        broker = self._broker
        box = broker.configuration.space.box(where, parameters or None)
        lower, upper = box if box is not None else ((), ())
        subscription = PlacedSubscription(subscription_id, version, where, parameters, lower, upper, broker.id, durable)
        before = self.clients.pop(subscription_id, None)
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
        self._renewal.all_sent(self._broker.now)
        for subscription in self.clients.values():
            self.send(subscription)

    def _renew(self) -> None:
        """Send those again whose turn it is."""
        share = self._renewal.share(len(self.clients), self._broker.now)
        for name in list(islice(self.clients, share)):
            subscription = self.clients[name] = self.clients.pop(name)
            self.send(subscription)

    def send(self, subscription: PlacedSubscription, *, removed: bool = False, answer: bool = False) -> None:
        """Send a subscription of a client to its zones, with the others of this turn."""
        if subscription.lower:  # a condition that is never true has no box and goes nowhere
            self._outgoing.setdefault((removed, answer), []).append(subscription)

    def _send_outgoing(self) -> None:
        """Send what has gathered; what is taken back behind the rest, for it may have been placed in the same turn."""
        broker = self._broker
        outgoing, self._outgoing = self._outgoing, {}
        for removed, answer in sorted(outgoing):
            for bulk in bulks(outgoing[removed, answer], attrgetter("length")):
                home, placing = broker.home(), PlaceSubscriptions(bulk, 0, removed, answer)
                if home is not None:
                    self.spread(home, placing)
                else:  # between zones: whoever owns a corner of a box spreads it
                    broker.dispatch_body(bulk[0].lower, placing)

    # ---- subscriptions at zones ----------------------------------------------------------------------------------

    def spread(self, owned: OwnedZone, placing: PlaceSubscriptions) -> None:
        """Place subscriptions: pass on what lies across the cuts, keep what meets the own zone."""
        broker, subscriptions = self._broker, placing.subscriptions
        broker.counters["subscriptions spread"] += len(subscriptions)
        path = owned.path
        mine = [one for one in subscriptions if meets(owned.box, one.lower, one.upper)]
        if mine:
            self._keep(owned, mine, removed=placing.removed)
            if placing.answer:
                self._answer(owned, mine)
        for depth in range(placing.depth, len(path)):
            beside = box_of(sibling(path[: depth + 1]), owned.dimensions)
            across = tuple([one for one in subscriptions if meets(beside, one.lower, one.upper)])
            if across:
                corner = tuple(map(max, across[0].lower, beside.lower))
                broker.dispatch_body(corner, PlaceSubscriptions(across, depth + 1, placing.removed, placing.answer))

    def go_around(self, routed: Routed, placing: PlaceSubscriptions) -> None:
        """Bring subscriptions to any zone of the side that they are for, where nobody owns the point there.

        The rest of that side may be in a grace period, which ends when all subscriptions have had the time to come. Who
        has no such zone, and knows of none, asks his neighbors in turn, those near the corner first, and each of them
        does the same: a search in depth.
        """
        broker, point, depth = self._broker, routed.point, placing.depth
        dimensions = broker.configuration.space.dimensions

        def is_on_that_side(path: Path) -> bool:
            return len(path) >= depth and contains(box_of(path[:depth], dimensions), point)

        mine = next((owned for owned in broker.owned.values() if is_on_that_side(owned.path)), None)
        if mine is not None:
            self.spread(mine, PlaceSubscriptions(placing.subscriptions, depth, placing.removed, placing.answer))
            return
        visited = (*routed.visited, broker.id) if placing.around else (broker.id,)
        tried = {*visited}
        neighbors = [known for owned in broker.owned.values() for known in owned.neighbors]
        residents = [known for owned in broker.owned.values() for known in owned.queue]
        neighbors.sort(key=lambda known: gap(box_of(known.path, dimensions), point))
        hops = [known.owner for known in (*neighbors, *residents) if is_on_that_side(known.path)]
        hops += [known.owner for known in neighbors]
        onward = next((hop for hop in hops if hop not in tried and broker.routing_table.alive(hop)), None)
        if onward is None:  # back to who has asked
            first = visited.index(broker.id)
            onward = visited[first - 1] if first else None
        if onward is None or len(visited) > MOST_ASKED:
            broker.counters["dropped"] += 1
            return
        asked = PlaceSubscriptions(placing.subscriptions, depth, placing.removed, placing.answer, around=True)
        broker.send(onward, Routed(point, asked, routed.origin, visited, routed.source, routed.via))

    def _keep(self, owned: OwnedZone, subscriptions: Sequence[PlacedSubscription], *, removed: bool) -> None:
        """Store subscriptions in a zone, or take them back from it; tell its backup what has changed."""
        added: tuple[tuple[PlacedSubscription, int], ...] = ()
        gone: tuple[str, ...] = ()
        if removed:
            gone = tuple([one.subscription_id for one in subscriptions if self._take_back(owned, one)])
        else:
            leased = [(one, self._lease(one)) for one in subscriptions]
            added = tuple([entry for entry in leased if self._store(owned, *entry)])
        if (added or gone) and owned.replicated is not None:
            self._broker.send(owned.replicated, ReplicateSubscriptions(owned.path, added, gone))

    def _take_back(self, owned: OwnedZone, subscription: PlacedSubscription) -> bool:
        """Forget a subscription that its broker takes back; say whether it was here."""
        broker, name = self._broker, subscription.subscription_id
        stored = owned.store.get(name)
        if stored is not None and stored.rank > subscription.rank:
            return False  # taken back by a broker that its client has left: the later one stands
        changed = owned.store.take_back(name, subscription.rank, broker.now + broker.configuration.lease)
        broker.deliveries.drop(name)
        return changed

    def _lease(self, subscription: PlacedSubscription) -> int:
        """Return how long a zone keeps a subscription that is not sent again."""
        configuration = self._broker.configuration
        return max(configuration.lease, configuration.detached) if subscription.durable else configuration.lease

    def _store(self, owned: OwnedZone, subscription: PlacedSubscription, lease: int) -> bool:
        """Store a subscription unless a later one is there; what waits for its client goes where that is now."""
        broker, name = self._broker, subscription.subscription_id
        before = owned.store.get(name)
        if not owned.store.add(subscription, broker.now + lease):
            return False
        if before is not None and before.rank != subscription.rank:
            broker.deliveries.move(name)
        return True

    def _answer(self, owned: OwnedZone, subscriptions: Iterable[PlacedSubscription]) -> None:
        """Say which subscriptions are stored, or what is stored instead; as soon as the lease is held."""
        broker = self._broker
        if not broker.leases.is_held(owned):
            zone, _ = self._unanswered.setdefault(owned.path, (owned, {}))
            if zone is not owned:
                self._unanswered[owned.path] = (owned, {})
            self._unanswered[owned.path][1].update((one.subscription_id, one) for one in subscriptions)
            return
        placed: dict[int, list[tuple[str, int]]] = {}
        for one in subscriptions:
            name, version = one.subscription_id, one.version
            stored = owned.store.get(name)
            if stored is not None and stored.is_same(one):
                placed.setdefault(one.access_broker, []).append((name, version))
            elif (greatest := owned.store.version(name)) >= version:
                broker.send(one.access_broker, Superseded(name, version, greatest))
        for access_broker, entries in placed.items():
            broker.send(access_broker, Placed(owned.path, tuple(entries)))

    def settle(self) -> None:
        """Send what has gathered; answer for the zones whose leases are held again.

        What has gone elsewhere is asked for there.
        """
        if self._outgoing:
            self._send_outgoing()
        if not self._unanswered:  # nearly always, and this is done for every message
            return
        for path, (owned, waiting) in list(self._unanswered.items()):
            is_here = self._broker.owned.get(path) is owned
            if is_here and not self._broker.leases.is_held(owned):
                continue
            del self._unanswered[path]
            if is_here:
                self._answer(owned, waiting.values())

    # ---- replicas ------------------------------------------------------------------------------------------------

    def replicate(self, owned: OwnedZone) -> None:
        """Bring the subscriptions of a zone to its first backup, if that is a new one."""
        broker = self._broker
        backup = next(iter(owned.backups(broker.routing_table.alive)), None)
        if backup == owned.replicated:
            return
        self.withdraw_replica(owned)
        owned.replicated = backup
        if backup is not None and len(owned.store):
            for number, bulk in enumerate(self.leased_bulks(owned)):
                broker.send(backup, ReplicateSubscriptions(owned.path, bulk, whole=not number))

    def leased_bulks(self, owned: OwnedZone) -> Iterator[tuple[tuple[PlacedSubscription, int], ...]]:
        """Return the subscriptions of a zone in bulks, each with the time its lease has left."""
        now = self._broker.now
        return bulks(((one, expires - now) for one, expires in owned.store), lambda entry: entry[0].length)

    def withdraw_replica(self, owned: OwnedZone) -> None:
        """Tell the former backup that it is one no more."""
        if owned.replicated is not None and self._broker.routing_table.alive(owned.replicated) and len(owned.store):
            self._broker.send(owned.replicated, ReplicateSubscriptions(owned.path, (), whole=True))
        owned.replicated = None

    def store_replica(self, message: ReplicateSubscriptions) -> None:
        """Keep a replica, or store what was sent to the owner."""
        now = self._broker.now
        if message.stored:
            for owned in self._broker.owned.values():
                if overlap(owned.path, message.path):  # who has yielded may have placed others that are on their way
                    self._broker.deliveries.begin_grace_period(owned)
                for subscription, left in message.added:
                    if meets(owned.box, subscription.lower, subscription.upper):
                        self._store(owned, subscription, left)
            return
        if message.whole:
            self.replicas.pop(message.path, None)
        if message.added or message.path in self.replicas:
            replica = self.replicas.setdefault(message.path, {})
            for subscription, left in message.added:
                replica[subscription.subscription_id] = (subscription, now + left)
                self._next_lapse = min(self._next_lapse, now + left)
            for name in message.removed:
                replica.pop(name, None)

    def taken_over(self, path: Path) -> tuple[tuple[PlacedSubscription, int], ...]:
        """Return the replicas that belong to a zone, and let go of its own."""
        box = box_of(path, self._broker.configuration.space.dimensions)
        found: dict[str, tuple[PlacedSubscription, int]] = {}
        for replica_path, replica in self.replicas.items():
            for name, entry in replica.items() if overlap(replica_path, path) else ():
                later = name not in found or entry[0].rank > found[name][0].rank
                if later and meets(box, entry[0].lower, entry[0].upper):
                    found[name] = entry
        self.replicas.pop(path, None)
        return tuple((subscription, expires - self._broker.now) for subscription, expires in found.values())

    def stalled(self, slept: int) -> None:
        """Having slept: what was renewed meanwhile has not been heard yet."""
        for owned in self._broker.owned.values():
            owned.store.prolong(slept)
        for replica in self.replicas.values():
            replica.update({name: (one, expires + slept) for name, (one, expires) in replica.items()})

    # ---- the beat ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Renew what is leased, forget what has expired."""
        broker = self._broker
        self._renew()
        for owned in broker.owned.values():
            if not broker.leases.is_held(owned):  # what is renewed may not find its way here, and elsewhere it may end
                owned.store.prolong(broker.configuration.beat)
                continue
            gone = owned.store.expire(broker.now)
            for name in gone:
                broker.deliveries.drop(name)
            if gone and owned.replicated is not None:
                broker.send(owned.replicated, ReplicateSubscriptions(owned.path, (), tuple(gone)))
        if broker.now >= self._next_lapse:
            self._end_replicas()

    def _end_replicas(self) -> None:
        """Forget the replicas whose lease has ended, and note when the next one may: renewing only makes that later."""
        now = self._broker.now
        for replica in self.replicas.values():
            for name in [name for name, (_, expires) in replica.items() if expires <= now]:
                del replica[name]
        self.replicas = {path: replica for path, replica in self.replicas.items() if replica}
        until = [expires for replica in self.replicas.values() for _, expires in replica.values()]
        self._next_lapse = min(until, default=NEVER)
