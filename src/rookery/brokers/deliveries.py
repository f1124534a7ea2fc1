"""Deliveries of an owner: which events are in flight, who still has to get them, and when they are accepted.

Rule 1: an event is accepted when it lies on two disks, the owner's and its backup's. `stored` says the first, the
backup's `Replicated` the second. Weaker promises have names (`BrokerDurability`) and must be asked for.
Rule 2: an event is in flight until every client that wants it has acknowledged it, or has unsubscribed, or has let its
lease end, or has fallen behind by more than `backlog` events.
Rule 3: nothing is delivered twice. An event has its publisher's number for good; what arrives again within the dedup
window is accepted again, and whatever a crash makes ambiguous is redelivered and dropped by the subscriber.
Rule 4: nothing is accepted, wanted or not, unless its zone's lease is held (`leases.py`): until then it is held.
Rule 5: who takes over a zone may not know all of its subscriptions before their brokers have sent them again. Until
then the zone has a grace period: its events are matched as they come and once more when that ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rookery.brokers.batch_matches import BatchMatches
from rookery.brokers.batches import (
    Accepted,
    EventBatch,
    Refused,
    Replicated,
)
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.copies import Copies
from rookery.brokers.in_flight import InFlightBatch
from rookery.brokers.late_matching import late_matches
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.row_cuts import RowCuts, part_of
from rookery.brokers.store import ZoneStore
from rookery.machine.redelivery import Redelivery

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Deliveries"]

#: Deliveries sent again at one beat.
MOST_REDELIVERED = 64
#: Events matched once more at one beat, at the end of grace periods: some tens of milliseconds.
MOST_MATCHED_LATE = 16_384
#: Why a broker on its own refuses.
ALONE = "no second broker to keep a copy: start one with --join, or ask for --durability one-disk"


class Deliveries:
    """The batches that one broker owns."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.in_flight: dict[int, InFlightBatch] = {}
        self.copies = Copies(broker, self.in_flight)
        self._numbers = 0
        #: By number of a delivery that is not acknowledged.
        self._unacknowledged: dict[int, InFlightBatch] = {}
        self._redelivery: Redelivery[int] = Redelivery(4 * broker.configuration.beat)
        #: By number of a batch that is being read again: the deliveries that wait for it.
        self._waiting: dict[int, set[int]] = {}
        self._unwritten: list[InFlightBatch] = []
        self._done: list[tuple[int, int]] = []
        #: Batches that were matched while the lease of their zone was not held.
        self._held: dict[int, InFlightBatch] = {}
        #: Subscriptions that may be attached elsewhere now, and those that are gone.
        self._moved: set[str] = set()
        self._gone: set[str] = set()
        #: Whether grace periods may have ended while the conditions were lent.
        self.is_grace_due = False

    def next_number(self) -> int:
        """Return a number that no batch and no delivery of this broker has."""
        self._numbers += 1
        return self._numbers

    # ---- once per buffer of messages------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether there is anything to send or write."""
        return bool(self._moved or self._gone or self.copies.has_work or self._unwritten or self._done)

    def records(self) -> tuple[list[tuple[int, int, EventBatch]], list[InFlightBatch], list[tuple[int, int]]]:
        """Return what is to be written: entries, the batches that wait for it, and what is done with."""
        unwritten, self._unwritten = self._unwritten, []
        done, self._done = self._done, []
        unwritten = [entry for entry in unwritten if entry.number in self.in_flight]
        return [(self._broker.id, entry.number, entry.batch) for entry in unwritten], unwritten, done

    def begin(self, owned: OwnedZone, entry: InFlightBatch, by_broker: dict[int, BatchMatches]) -> None:
        """Deliver a batch that has been matched."""
        broker = self._broker
        broker.counters["matched"] += entry.batch.count
        entry.assured = broker.leases.is_held(owned)
        if not entry.assured and not entry.grace_until:
            entry.grace_until = max(1, broker.now)  # whoever has the zone meanwhile may know of more subscriptions
        if entry.grace_until:
            entry.delivered.update(match for matches in by_broker.values() for match in matches.each(entry.batch.count))
        if not by_broker and not entry.grace_until and entry.assured:
            self._accept(entry)  # nobody wants it: there is nothing to lose
            broker.spilling.release((broker.id, entry.number))
            entry.empty()
            return
        self.in_flight[entry.number] = entry
        if not entry.assured:
            broker.counters["held"] += entry.batch.count
            self._held[entry.number] = entry
        self._redelivery.sent(entry.number, broker.now)
        self._deliver(entry, by_broker)
        if broker.configuration.durability is BrokerDurability.MEMORY:
            entry.stored = entry.replicated = True
            self._check(entry)
            return
        self._unwritten.append(entry)
        if broker.configuration.durability is BrokerDurability.TWO_DISKS:
            self.copies.add(entry)
        else:
            entry.replicated = True

    def _deliver(self, entry: InFlightBatch, by_broker: dict[int, BatchMatches]) -> None:
        """Deliver matches to the brokers of their clients, those of each under a number of its own."""
        cuts = RowCuts(entry.batch)
        for access_broker, matches in by_broker.items():
            number = self.next_number()
            entry.deliveries[number] = (access_broker, matches)
            self._unacknowledged[number] = entry
            self._send(entry, number, cuts)

    def _send(self, entry: InFlightBatch, number: int, cuts: RowCuts | None = None) -> None:
        """Send a delivery, or as soon as its events are in memory again; `cuts` are those of its batch."""
        if self._is_here(entry):
            access_broker, matches = entry.deliveries[number]
            self._broker.send(access_broker, matches.delivery(number, entry.batch, cuts or RowCuts(entry.batch)))
        else:
            self._waiting.setdefault(entry.number, set()).add(number)

    def _is_here(self, entry: InFlightBatch) -> bool:
        """Tell whether the events of a batch are in memory; where not, they are sent for."""
        key = (self._broker.id, entry.number)
        if not self._broker.spilling.is_away(key):
            return True
        self._broker.spilling.want(key)
        return False

    def spill(self, number: int) -> bool:
        """Let the events of a batch go out of memory, which the log has; False where they are needed."""
        entry = self.in_flight.get(number)
        if entry is None or entry.grace_until or entry.moving or not entry.accepted:
            return False
        entry.empty()
        return True

    def loaded(self, number: int, batch: EventBatch) -> None:
        """The events of a batch are in memory again: send what waited for them."""
        entry = self.in_flight.get(number)
        if entry is None:
            return
        entry.batch = batch
        self.copies.loaded(entry)
        for delivery in self._waiting.pop(number, ()):
            if delivery in entry.deliveries:
                self._send(entry, delivery)

    def unreadable(self, number: int) -> None:
        """The own disk has lost a batch: the backup has another copy, and sends it. Asked again with a redelivery."""
        if number in self.in_flight:
            self.copies.fetch(number)

    def fetched(self, batches: Iterable[tuple[int, EventBatch]]) -> None:
        """Take back what the own disk had lost, and write it once more."""
        broker = self._broker
        for number, batch in batches:
            entry = self.in_flight.get(number)
            if entry is None or not broker.spilling.is_away((broker.id, number)):
                continue
            if (batch.key, batch.numbers()) == (entry.batch.key, entry.batch.numbers()):
                broker.counters["fetched"] += 1
                broker.spilling.hold((broker.id, number), batch)
                self.loaded(number, batch)
                self._unwritten.append(entry)

    def _end_delivery(self, entry: InFlightBatch, number: int) -> None:
        del entry.deliveries[number]
        del self._unacknowledged[number]

    # ---- when events are accepted --------------------------------------------------------------------------------

    def stored(self, written: Iterable[InFlightBatch]) -> None:
        """Batches are on the own disk."""
        for entry in written:
            entry.stored = True
            self._broker.spilling.stored(((self._broker.id, entry.number),))
            self._check(entry)

    def not_stored(self, written: Iterable[InFlightBatch], reason: str, *, final: bool = True) -> None:
        """The disk did not take them: neither do we. What is accepted stays in memory, and was on the disk before."""
        for entry in written:
            if entry.accepted:
                continue
            self._broker.counters["refused"] += 1
            for origin in entry.origins:
                self._broker.send(origin, Refused(entry.batch.publisher, entry.batch.first, reason, final))
            self._broker.intake.forget(entry)
            self._finish(entry)

    def replicated(self, message: Replicated, sender: int) -> None:
        """Batches are on the backup's disk."""
        for number in message.numbers:
            entry = self.in_flight.get(number)
            if entry is not None and sender == self.copies.backup:
                entry.replicated = True
                self.copies.confirmed(number)
                self._check(entry)

    def _check(self, entry: InFlightBatch) -> None:
        if entry.stored and entry.replicated and entry.assured and not entry.accepted:
            self._accept(entry)
            self._check_finished(entry)

    @property
    def can_assure(self) -> bool:
        """Whether something was held that is so no more."""
        if not self._held:
            return False
        return any(not entry.moving for entry in self._held.values()) and self._broker.leases.are_held()

    def assure(self) -> None:
        """The leases are held again: what was matched meanwhile is safe, but for what lies elsewhere by now.

        Of a batch that is on its way in part, more may have gone since, and goes when that part has arrived.
        """
        held, self._held = self._held, {}
        for entry in held.values():
            if entry.moving:
                self._held[entry.number] = entry
                continue
            entry.assured = True
            self._send_on(entry)
            self._check(entry)

    def beaten(self) -> None:
        """A zone was somebody else's: whatever is not finished of its events is matched again there."""
        for entry in list(self.in_flight.values()):
            self._send_on(entry)

    def _accept(self, entry: InFlightBatch) -> None:
        entry.accepted = True
        for origin in entry.origins:
            self.send_accepted(entry, origin)
        entry.origins.clear()

    def send_accepted(self, entry: InFlightBatch, origin: int) -> None:
        """Say that a batch is safe."""
        offsets = entry.batch.offsets
        if entry.gone:
            offsets = tuple(entry.numbers())
            if not offsets:
                return
        self._broker.send(origin, Accepted(entry.batch.publisher, entry.batch.first, offsets))

    # ---- when they have been acknowledged ------------------------------------------------------------------------

    def acknowledge(self, numbers: Iterable[int], access_broker: int) -> None:
        """The clients of a broker have these deliveries."""
        for number in numbers:
            entry = self._unacknowledged.get(number)
            if entry is not None and entry.deliveries[number][0] == access_broker:
                self._end_delivery(entry, number)
                self._check_finished(entry)

    def _check_finished(self, entry: InFlightBatch) -> None:
        if not entry.deliveries and not entry.grace_until and not entry.moving and entry.accepted:
            self._finish(entry)

    def _finish(self, entry: InFlightBatch) -> None:
        if self.in_flight.pop(entry.number, None) is None:
            return
        self._redelivery.acknowledged(entry.number)
        self.copies.finish(entry)
        self._held.pop(entry.number, None)
        if self._broker.configuration.durability is not BrokerDurability.MEMORY:
            self._done.append((self._broker.id, entry.number))
        for number in list(entry.deliveries):
            self._end_delivery(entry, number)
        self._broker.spilling.release((self._broker.id, entry.number))
        self._waiting.pop(entry.number, None)
        entry.delivered.clear()
        entry.empty()  # it is remembered by its numbers

    def redeliver(self, numbers: Iterable[int], access_broker: int) -> None:
        """Clients of a broker can take these deliveries now."""
        for number in numbers:
            entry = self._unacknowledged.get(number)
            if entry is not None and entry.deliveries[number][0] == access_broker:
                self._send(entry, number)

    def move(self, name: str) -> None:
        """A subscription has come in a later version: its client may have attached to another broker."""
        self._moved.add(name)

    def follow(self, store: ZoneStore) -> None:
        """A zone has come with its subscriptions: some of the clients waited for may have moved before it did."""
        for entry in self.in_flight.values():
            for _, matches in entry.deliveries.values():
                self._moved.update(name for name in matches.all_names() if name in store)

    def _present(self, names: Iterable[str]) -> dict[int, set[str]]:
        """Return where the clients of subscriptions are attached: by broker. Of what own zones have the latest counts.

        What has come with one zone may be older than what is known in another one.
        """
        stores = [owned.store for owned in self._broker.owned.values()]
        found: dict[int, set[str]] = {}
        for name in names:
            known = [one for store in stores if (one := store.get(name)) is not None]
            if known:
                found.setdefault(max(known, key=lambda one: one.rank).access_broker, set()).add(name)
        return found

    def drop(self, name: str) -> None:
        """A subscription is gone: nobody waits for its events."""
        self._gone.add(name)

    def follow_moved(self) -> None:
        """Follow the clients that have moved, forget those that are gone: one pass for all of them."""
        if not self._moved and not self._gone:
            return
        by_access_broker, gone = self._present(self._moved), self._gone
        self._moved, self._gone = set(), set()
        for entry in list(self.in_flight.values()):
            fresh: dict[int, BatchMatches] = {}
            for number, (access_broker, matches) in list(entry.deliveries.items()):
                left = matches.without(gone)
                for target, names in by_access_broker.items():
                    if target != access_broker and left.concerns(names):
                        going = left.only(names)
                        fresh[target] = fresh[target].joined(going) if target in fresh else going
                        left = left.without(names)
                if left is not matches:
                    self._shrink(entry, number, left)
            if gone and entry.grace_until:
                # Who is forgotten here may come again before the grace period ends, and has not got it.
                entry.delivered = {match for match in entry.delivered if match[1] not in gone}
            self._deliver(entry, fresh)
            self._check_finished(entry)

    def _shrink(self, entry: InFlightBatch, number: int, left: BatchMatches) -> None:
        """Fewer wait for a delivery now: tell their broker, which need not wait for the others."""
        access_broker = entry.deliveries[number][0]
        if left:
            entry.deliveries[number] = (access_broker, left)
            self._send(entry, number)
        else:
            self._end_delivery(entry, number)

    def unneeded_replicas(self, numbers: Iterable[int], holder: int) -> tuple[int, ...]:
        """Say which replicas that a peer has are not needed: done with, or at the present backup as well."""
        unneeded = []
        for number in numbers:
            entry = self.in_flight.get(number)
            if entry is None or (holder != self.copies.backup and entry.replicated):
                unneeded.append(number)
        return tuple(unneeded)

    # ---- the beat ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Match again after a grace period, replicate to a new backup, redeliver, let go of what nobody takes."""
        broker = self._broker
        self.copies.choose()
        self.copies.beat()
        if broker.configuration.durability is BrokerDurability.TWO_DISKS and self.copies.is_alone():
            self.not_stored([entry for entry in self.in_flight.values() if not entry.accepted], ALONE, final=False)
        if broker.intake.is_matching:
            self.is_grace_due = True
        else:
            self.end_grace_periods()
        self._trim_backlog()
        sent, room = 0, broker.spilling.room
        for due in self._redelivery.due(broker.now):
            entry = self.in_flight.get(due)
            if entry is None or entry.moving:
                continue
            if broker.owned.get(entry.zone.path) is not entry.zone:
                self._send_on(entry)  # if the zone went elsewhere, so does news of its clients
            size = broker.spilling.size_of((broker.id, due))
            if not entry.moving and sent < MOST_REDELIVERED and room > 0:
                room -= size
                self._redelivery.sent(due, broker.now)
                for number, (access_broker, _) in entry.deliveries.items():
                    if broker.routing_table.alive(access_broker):
                        sent += 1
                        self._send(entry, number)

    def moved_on(self, number: int) -> None:
        """The present owners have accepted what was sent on to them."""
        entry = self.in_flight.get(number)
        if entry is None:
            return
        entry.moving = False
        for delivery, (_, matches) in list(entry.deliveries.items()):
            left = matches.without_rows(entry.gone, entry.batch.count)
            if left is not matches:
                self._shrink(entry, delivery, left)
        self._send_on(entry)  # what has gone elsewhere meanwhile
        self._check_finished(entry)

    def stalled(self, slept: int) -> None:
        """Having slept: what came meanwhile has not been heard yet, so grace periods last that much longer."""
        for owned in self._broker.owned.values():
            owned.grace_until += slept if owned.grace_until else 0
        for entry in self.in_flight.values():
            entry.grace_until += slept if entry.grace_until else 0

    def begin_grace_period(self, owned: OwnedZone) -> None:
        """A zone may lack subscriptions: until all have been sent again its events are not finished with."""
        owned.grace_until = max(owned.grace_until, self._broker.now + self._broker.configuration.grace_period)
        for entry in self._held.values():
            if entry.zone is owned:
                entry.grace_until = owned.grace_until

    def end_grace_periods(self) -> None:
        """Match once more what came in a grace period that is over; while conditions are lent, when they are back.

        Without a lease it is not known to be over: who has taken over meanwhile may know of more subscriptions.
        """
        broker, self.is_grace_due = self._broker, False
        if not broker.leases.are_held():
            return
        due: list[InFlightBatch] = []
        count = 0
        for entry in list(self.in_flight.values()):
            if not entry.grace_until or entry.grace_until > broker.now or entry.moving:
                continue
            if count >= MOST_MATCHED_LATE:
                break  # at the next beat
            entry.grace_until = 0
            self._send_on(entry)
            count += entry.batch.count
            due.append(entry)
        for entry, by_broker in late_matches(broker, due) if due else ():
            broker.counters["matched late"] += sum(one.size(entry.batch.count) for one in by_broker.values())
            self._deliver(entry, by_broker)
            entry.delivered.clear()
            self._check_finished(entry)

    def _send_on(self, entry: InFlightBatch) -> None:
        """Bring what does not lie in own zones any more to the present owners, who finish with it."""
        if self._broker.owned.get(entry.zone.path) is entry.zone:
            return  # all of it lies there, as when it came
        if entry.moving or not self._is_here(entry):
            return  # at a later beat
        points, _ = self._broker.publishing.points_in(entry.batch)
        away = [
            row
            for row, point in enumerate(points.tolist())
            if row not in entry.gone and self._broker.owned_at(tuple(point)) is None
        ]
        if away:
            entry.moving = True
            entry.gone |= frozenset(away)
            self._broker.replicas.adopt(self._broker.id, entry.number, part_of(entry.batch, away))

    def _trim_backlog(self) -> None:
        """Let the oldest events go of subscriptions that have more than `backlog` waiting."""
        most = self._broker.configuration.backlog
        if sum(entry.batch.count for entry in self.in_flight.values()) <= most:
            return
        each: Counter[str] = Counter()
        for entry in self.in_flight.values():
            for _, matches in entry.deliveries.values():
                each.update(matches.names)
                for name in matches.every:
                    each[name] += entry.batch.count
        if not each or max(each.values()) <= most:
            return
        waiting: dict[str, int] = {}
        for entry in reversed(self.in_flight.values()):
            over = set()
            for _, matches in entry.deliveries.values():
                for name, more in matches.counts(entry.batch.count).items():
                    count = waiting[name] = waiting.get(name, 0) + more
                    if count > most:
                        over.add(name)
            if over:
                self._broker.counters["given up"] += len(over)
                for number, (_, matches) in list(entry.deliveries.items()):
                    if matches.concerns(over):
                        self._shrink(entry, number, matches.without(over))
        for entry in list(self.in_flight.values()):
            self._check_finished(entry)
