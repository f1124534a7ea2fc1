"""What a broker has of its peers, and what is left of the dead: replicas and orphans.

A broker has replicas of the batches of the one whose backup it is. When that one is gone, and after a restart for
everything the log still has, the batches are orphans: they are sent again to whoever owns their points now, under their
old numbers, until that one has accepted them; at one beat no more than links have room for. It does not matter who took
over which zone, nor whether two brokers send the same orphan: numbers say what is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from rookery.brokers.batches import (
    Accepted,
    BatchKey,
    Discard,
    EventBatch,
    Refused,
    ReplicasFetched,
    ReplicasHeld,
    Replicate,
    Replicated,
    RoutedBatch,
    emptied,
    is_readable,
    packed,
)
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.row_cuts import part_of
from rookery.machine.redelivery import Redelivery

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Replicas"]

#: Orphans on the way at one time.
MOST_ORPHANS = 256


class Replicas:
    """Batches of peers, and those that nobody owns."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.batches: dict[int, dict[int, EventBatch]] = {}
        #: By owner and number: the batch, and which of its numbers were accepted.
        self.orphans: dict[tuple[int, int], tuple[EventBatch, set[int]]] = {}
        self._by_key: dict[BatchKey, set[tuple[int, int]]] = {}
        self._sent: Redelivery[tuple[int, int]] = Redelivery(2 * broker.configuration.beat)
        #: Bytes of orphans sent since the last beat: links have not said yet what they hold of them.
        self._spent = 0
        self._unwritten: list[tuple[int, int, EventBatch]] = []
        self._done: list[tuple[int, int]] = []
        #: Replicas that their owner wants back, and that are being read.
        self._fetched: set[tuple[int, int]] = set()
        #: Replicas that the disk did not take when it was asked last.
        self._refused: list[tuple[int, int]] = []

    # ---- replicas ------------------------------------------------------------------------------------------------

    def store(self, message: Replicate, owner: int) -> None:
        """Store replicas; `Replicated` is said when they are on the disk, and again of those that are there already.

        A peer that is behind gets them again before it has answered: what it has not written yet is not written twice.
        """
        batches = self.batches.setdefault(owner, {})
        again = []
        for number, batch in message.batches:
            if number in batches:
                if self._broker.spilling.is_stored((owner, number)):
                    again.append(number)
                continue
            if (owner, number) in self.orphans:  # its owner lives after all, and needs it
                self._let_go((owner, number))
            batches[number] = batch
            self._broker.spilling.hold((owner, number), batch)
            if (owner, number) in self._done:  # discarded a moment ago: what is done with is written after what is kept
                self._done.remove((owner, number))
            self._unwritten.append((owner, number, batch))
        if again:
            self._broker.send(owner, Replicated(tuple(again)))

    def spill(self, key: tuple[int, int]) -> bool:
        """Let a batch go out of memory, which the log has; False where it is on its way."""
        owner, number = key
        if key in self.orphans:
            if key in self._sent:
                return False
            batch, accepted = self.orphans[key]
            self.orphans[key] = (emptied(batch), accepted)
            return True
        batches = self.batches.get(owner, {})
        if number in batches:
            batches[number] = emptied(batches[number])
        return number in batches

    def loaded(self, key: tuple[int, int], batch: EventBatch) -> None:
        """A batch is in memory again."""
        owner, number = key
        if key in self.orphans:
            self.orphans[key] = (batch, self.orphans[key][1])
            if self._can_send:
                self._send(key)
        elif number in self.batches.get(owner, ()):
            self.batches[owner][number] = batch
            if key in self._fetched:
                self.fetch((number,), owner)

    def unreadable(self, key: tuple[int, int]) -> None:
        """The disk has lost a batch: where it is its owner who asks for it, both have."""
        if key in self._fetched:
            self._fetched.discard(key)
            self._broker.counters["both copies unreadable"] += 1

    def fetch(self, numbers: Iterable[int], owner: int) -> None:
        """Send replicas to their owner, whose disk has lost its own, as soon as they are in memory."""
        for number in numbers:
            batch = self.batches.get(owner, {}).get(number)
            if batch is not None and self._broker.spilling.is_away((owner, number)):
                self._fetched.add((owner, number))
                self._broker.spilling.want((owner, number))
            elif batch is not None:
                self._fetched.discard((owner, number))
                self._broker.send(owner, ReplicasFetched(((number, batch),)))

    def written(self, entries: Collection[tuple[int, int]]) -> None:
        """Replicas are on the disk: tell their owners."""
        by_owner: dict[int, list[int]] = {}
        if self._broker.configuration.durability is not BrokerDurability.MEMORY:
            self._broker.spilling.stored(entries)
        for owner, number in entries:
            by_owner.setdefault(owner, []).append(number)
        for owner, numbers in by_owner.items():
            self._broker.send(owner, Replicated(tuple(numbers)))

    def not_written(self, entries: Iterable[tuple[int, int]]) -> None:
        """The disk did not take replicas: try again at a beat, for their owner waits."""
        self._refused += entries

    def discard(self, message: Discard, owner: int) -> None:
        """Their owner needs these replicas no more."""
        batches = self.batches.get(owner)
        if batches is None:
            return
        for number in message.numbers:
            self._fetched.discard((owner, number))
            if batches.pop(number, None) is not None:
                self._broker.spilling.release((owner, number))
                self._done.append((owner, number))
        if not batches:
            del self.batches[owner]

    def lost(self, owner: int) -> None:
        """A broker is gone: what was its own is an orphan now."""
        for number, batch in self.batches.pop(owner, {}).items():
            self._fetched.discard((owner, number))
            self.adopt(owner, number, batch)

    @property
    def has_records(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._unwritten or self._done)

    def records(self) -> tuple[list[tuple[int, int, EventBatch]], list[tuple[int, int]]]:
        """Return what is to be written: entries, and those that are done with."""
        unwritten, self._unwritten = self._unwritten, []
        done, self._done = self._done, []
        return unwritten, done

    # ---- orphans -------------------------------------------------------------------------------------------------

    def adopt(self, owner: int, number: int, batch: EventBatch) -> None:
        """Bring a batch to its present owners, however long that takes."""
        is_away = self._broker.spilling.is_away((owner, number))
        if (owner, number) in self.orphans or not (is_away or is_readable(batch)):
            return
        if owner != self._broker.id and not is_away:
            self._broker.spilling.hold((owner, number), batch)
            self._broker.spilling.stored(((owner, number),))
        self._broker.counters["orphans"] += 1
        self.orphans[owner, number] = (batch, set())
        self._by_key.setdefault(batch.key, set()).add((owner, number))
        if self._can_send:
            self._send((owner, number))

    @property
    def _can_send(self) -> bool:
        """Whether there is a way to the owners: not before one has had a zone."""
        return bool(self._broker.owned) or self._broker.membership.leaving

    def _send(self, orphan: tuple[int, int]) -> None:
        broker = self._broker
        most = MOST_ORPHANS if broker.spilling.has_room() else 1  # one after the other where memory is short
        if len(self._sent) >= most and orphan not in self._sent:
            return  # at a later beat
        if self._spent and self._spent >= broker.spilling.room:
            return
        if orphan[0] != broker.id and broker.spilling.is_away(orphan):
            broker.spilling.want(orphan)
            return
        self._sent.sent(orphan, broker.now)
        batch, accepted = self.orphans[orphan]
        self._spent += batch.size
        left = [row for row, number in enumerate(batch.numbers()) if number not in accepted]
        batch = part_of(batch, left)
        points, bad = broker.publishing.points_in(batch)
        if bad:  # from a log of another schema: nobody can ever read it
            self._settle(orphan)
        else:
            broker.publishing.route(RoutedBatch(batch, packed(points), broker.id))

    def accepted(self, message: Accepted) -> bool:
        """Events are safe with their owner; say whether they were orphans of ours."""
        waiting = self._by_key.get((message.publisher, message.first))
        if not waiting:
            return False
        for orphan in list(waiting):
            batch, accepted = self.orphans[orphan]
            accepted.update(message.offsets or batch.numbers())
            if accepted.issuperset(batch.numbers()):
                self._settle(orphan)
        return True

    def refused(self, message: Refused) -> bool:
        """An owner cannot take them now: they are sent again later."""
        return (message.publisher, message.first) in self._by_key

    def _let_go(self, orphan: tuple[int, int]) -> None:
        batch, _ = self.orphans.pop(orphan)
        if orphan[0] != self._broker.id:
            self._broker.spilling.release(orphan)
        self._sent.acknowledged(orphan)
        others = self._by_key[batch.key]
        others.discard(orphan)
        if not others:
            del self._by_key[batch.key]

    def _settle(self, orphan: tuple[int, int]) -> None:
        self._let_go(orphan)
        owner, number = orphan
        if owner == self._broker.id:
            self._broker.deliveries.moved_on(number)
        elif self._broker.configuration.durability is not BrokerDurability.MEMORY:
            self._done.append(orphan)

    # ---- the beat ------------------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Ask the owners of replicas whether they are there; send orphans again."""
        broker = self._broker
        for owner in list(self.batches):
            broker.send(owner, ReplicasHeld(tuple(self.batches[owner])))
        refused, self._refused = self._refused, []
        for owner, number in refused:
            if number in self.batches.get(owner, ()):
                self._unwritten.append((owner, number, self.batches[owner][number]))
        self._spent = 0
        if not self._can_send:
            return
        unsent = [orphan for orphan in self.orphans if orphan not in self._sent]
        for orphan in (*self._sent.due(broker.now), *unsent):
            if orphan in self.orphans:
                self._send(orphan)
