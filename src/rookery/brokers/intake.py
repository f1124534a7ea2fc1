"""Intake of an owner: batches from their arrival until it is known who wants them.

Rule 1: a batch is taken once. What is published again within the dedup window is accepted again, as soon as it is.
Rule 2: what arrived is matched in the order in which it came, one matching at a time. A long one is a `Compute`, and
whatever comes meanwhile waits for the next: heartbeats wait for none.
Rule 3: a batch that is being matched has been promised to nobody. If the broker dies its publisher sends it again; if
its zone changes hands meanwhile, it goes to whoever owns its events now, and what was found is forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rookery.brokers.batch_matching import BatchMatching, Incoming
from rookery.brokers.batches import BatchKey, Refused, RoutedBatch
from rookery.brokers.conditions import Pairs
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.deliveries import ALONE
from rookery.brokers.in_flight import InFlightBatch
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.row_cuts import part_of
from rookery.machine import Compute, ComputeFailed
from rookery.machine.dedup import DedupWindow

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Intake"]

#: Batches remembered so that none is taken twice: the dedup window.
DEDUP_WINDOW = 1 << 14


class Intake:
    """The batches that have come to one broker and are not delivered."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: Batches that were taken, in flight or done with: what is published again is found here.
        self._taken: DedupWindow[BatchKey, list[InFlightBatch]] = DedupWindow(DEDUP_WINDOW)
        self._incoming: list[Incoming] = []
        self._matching: BatchMatching | None = None
        self._effect: Compute | None = None

    @property
    def is_matching(self) -> bool:
        """Whether a matching is under way: the conditions of zones are lent."""
        return self._matching is not None

    @property
    def has_work(self) -> bool:
        """Whether a matching can begin."""
        return bool(self._incoming) and self._matching is None

    # ---- batches come in -----------------------------------------------------------------------------------------

    def take(self, owned: OwnedZone, routed: RoutedBatch) -> None:
        """Take a batch whose events all lie in an own zone."""
        broker, batch = self._broker, routed.batch
        known = self._taken.get(batch.key)
        if known is None:
            known = []
            self._taken.add(batch.key, known)
        elif known:
            fresh = self._fresh(routed, known)
            if not fresh:
                return
            if len(fresh) < batch.count:
                batch = part_of(batch, fresh)
        refusal = self._refusal()
        if refusal is not None:
            broker.counters["refused"] += 1
            broker.send(routed.origin, Refused(batch.publisher, batch.first, refusal, final=False))
            return
        number = broker.deliveries.next_number()
        entry = InFlightBatch(number, batch, {routed.origin}, {}, owned, owned.grace_until)
        known.append(entry)
        broker.spilling.hold((broker.id, number), batch)
        self._incoming.append((owned, entry))

    def _fresh(self, routed: RoutedBatch, known: list[InFlightBatch]) -> list[int]:
        """Return the rows that were never taken; say again that the others are safe, as soon as they are."""
        seen: set[int] = set()
        for entry in known:
            seen.update(entry.numbers() if entry.gone else entry.batch.numbers())
            if entry.accepted:
                self._broker.deliveries.send_accepted(entry, routed.origin)
            else:
                entry.origins.add(routed.origin)
        self._broker.counters["repeated"] += 1
        return [row for row, number in enumerate(routed.batch.numbers()) if number not in seen]

    def _refusal(self) -> str | None:
        broker = self._broker
        waiting = len(broker.deliveries.in_flight) + len(self._incoming)
        if self._matching is not None:
            waiting += len(self._matching.entries)
        if waiting >= broker.configuration.most_in_flight:
            return f"{waiting} batches are in flight, not acknowledged by their subscribers"
        if not broker.spilling.has_room():
            broker.counters["over budget"] += 1
            held, most = broker.spilling.held, broker.configuration.memory
            return f"{held} bytes of events wait in memory for the disk or for subscribers: the budget is {most}"
        if broker.configuration.durability is BrokerDurability.TWO_DISKS and broker.deliveries.copies.is_alone():
            return ALONE
        return None

    def forget(self, entry: InFlightBatch) -> None:
        """A batch was refused after all, or sent on: if it is published again it is taken again."""
        self._broker.spilling.release((self._broker.id, entry.number))
        known = self._taken.get(entry.batch.key)
        if known is not None and entry in known:
            known.remove(entry)

    # ---- and are matched -----------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Match all that has come, at once or, where that takes long, by a `Compute`."""
        broker = self._broker
        while self.has_work:
            incoming, self._incoming = self._incoming, []
            matching = BatchMatching(incoming)
            if matching.size >= broker.configuration.compute_from:
                self._matching = matching
                self._effect = Compute(matching.run)
                broker.effect(self._effect)
            else:
                self._matched(matching, matching.run())

    def completed(self, effect: Compute, found: Sequence[Pairs | None] | ComputeFailed) -> bool:
        """The matching that was under way is done, or has failed; say whether it was one."""
        if effect is not self._effect:
            return False
        matching, self._matching, self._effect = self._matching, None, None
        assert matching is not None
        if isinstance(found, ComputeFailed):
            matching.abandon()
            self._broker.deliveries.not_stored(matching.entries, f"matching failed: {found.reason}", final=False)
        else:
            self._matched(matching, found)
        if self._broker.deliveries.is_grace_due:
            self._broker.deliveries.end_grace_periods()
        return True

    def _matched(self, matching: BatchMatching, found: Sequence[Pairs | None]) -> None:
        broker = self._broker
        for owned, entry, by_broker in matching.matches(found):
            if broker.owned.get(owned.path) is owned:
                broker.deliveries.begin(owned, entry, by_broker)
            else:
                self.forget(entry)
                broker.counters["matched in vain"] += entry.batch.count
                for origin in entry.origins:
                    broker.publishing.route_by_events(entry.batch, origin)
