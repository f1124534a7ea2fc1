"""The copies of an owner's batches: which broker is the backup, what it has of them, what it still has to get.

Rule 1: the backup is the first of those beside the home zone that lives; another one has nothing, and gets all that is
in flight. What it has not confirmed goes to it again.
Rule 2: copies go out the oldest first and no more of them than links get rid of (`spilling.py`); what is new waits too,
so a backup that is behind holds up what is accepted and nothing else.
Rule 3: a batch that is away is read again first. Those that are here do not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rookery.brokers.batches import Discard, EventBatch, FetchReplicas, Replicate
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.in_flight import InFlightBatch
from rookery.machine.redelivery import Redelivery

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Copies"]

#: Replicas in one message, and bytes of them where there is more than one.
MOST_REPLICAS = 64
MOST_BYTES = 4 << 20


class Copies:
    """What the backup of one broker has, and what it does not have yet."""

    def __init__(self, broker: Broker, in_flight: dict[int, InFlightBatch]) -> None:
        self._broker = broker
        self._in_flight = in_flight
        self.backup: int | None = None
        #: When there was a backup last.
        self._with_backup = -(1 << 62)
        self._waiting: list[InFlightBatch] = []
        #: By number: those that have to be read again first.
        self._away: dict[int, InFlightBatch] = {}
        #: By number of a batch that the backup was sent and has not confirmed.
        self._sent: Redelivery[int] = Redelivery(4 * broker.configuration.beat)
        self._discarded: list[int] = []

    @property
    def has_work(self) -> bool:
        """Whether there is anything to send."""
        return bool(self._waiting or self._discarded)

    @property
    def can_send(self) -> bool:
        """Whether copies wait, and links have room for them."""
        return bool(self._waiting) and self._broker.spilling.room > 0

    def is_alone(self) -> bool:
        """Tell whether there has been nobody to take over for longer than a takeover lasts."""
        configuration, now = self._broker.configuration, self._broker.now
        return self.choose() is None and now - self._with_backup > (configuration.silence + 1) * configuration.beat

    def choose(self) -> int | None:
        """Return the backup of now; where it is another one it has no copies."""
        broker = self._broker
        home = broker.home()
        backups = home.backups(broker.routing_table.alive) if home is not None else ()
        if self.backup is not None and self.backup in backups:
            return self.backup
        backup = backups[0] if backups else None
        if backup is None and self.backup is not None:
            self._with_backup = broker.now
        if backup != self.backup:
            self.backup = backup
            self._sent = Redelivery(4 * broker.configuration.beat)
            for entry in self._in_flight.values():
                entry.replicated = False
            if broker.configuration.durability is BrokerDurability.TWO_DISKS:
                self._waiting = list(self._in_flight.values())
                self._away.clear()
        return backup

    # ---- one batch -----------------------------------------------------------------------------------------------

    def add(self, entry: InFlightBatch) -> None:
        """A batch wants a copy."""
        self._waiting.append(entry)

    def loaded(self, entry: InFlightBatch) -> None:
        """A batch is in memory again."""
        if self._away.pop(entry.number, None) is not None:
            self._waiting.append(entry)

    def confirmed(self, number: int) -> None:
        """The backup has a batch on its disk."""
        self._sent.acknowledged(number)

    def finish(self, entry: InFlightBatch) -> None:
        """A batch is done with."""
        self._sent.acknowledged(entry.number)
        self._away.pop(entry.number, None)
        if entry.replicated and self._broker.configuration.durability is not BrokerDurability.MEMORY:
            self._discarded.append(entry.number)

    def fetch(self, number: int) -> None:
        """Ask for a batch that the own disk has lost."""
        if self.backup is not None:
            self._broker.send(self.backup, FetchReplicas((number,)))

    # ---- all of them ---------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Send copies, and let go of those that nobody needs."""
        self._send()
        if self._discarded and self.backup is not None:
            self._broker.send(self.backup, Discard(tuple(self._discarded)))
        self._discarded.clear()

    def beat(self) -> None:
        """Send once more what is not confirmed: that, or its answer, was lost with a connection; read what is away."""
        broker = self._broker
        for number in self._sent.due(broker.now):
            self._sent.acknowledged(number)
            entry = self._in_flight.get(number)
            if entry is not None and not entry.replicated:
                self._waiting.append(entry)
        room = broker.spilling.room
        for number, entry in list(self._away.items()):
            key = (broker.id, number)
            if not broker.spilling.is_away(key):
                self.loaded(entry)
            elif room > 0:
                room -= broker.spilling.size_of(key)
                broker.spilling.want(key)
        self._send()

    def _send(self) -> None:
        if not self._waiting or self.choose() is None:
            return
        broker = self._broker
        assert self.backup is not None
        room = broker.spilling.room
        batches: list[tuple[int, EventBatch]] = []
        waiting, self._waiting = self._waiting, []
        for at, entry in enumerate(waiting):
            if room <= 0 and (batches or broker.unsent):
                self._waiting = waiting[at:]
                break
            if entry.number not in self._in_flight:
                continue
            if broker.spilling.is_away((broker.id, entry.number)):
                self._away[entry.number] = entry
            else:
                batches.append((entry.number, entry.batch))
                room -= entry.batch.size
        for group in _in_groups(batches):
            broker.send(self.backup, Replicate(group))
        for number, _ in batches:
            self._sent.sent(number, broker.now)


def _in_groups(batches: Sequence[tuple[int, EventBatch]]) -> Iterator[tuple[tuple[int, EventBatch], ...]]:
    """Divide batches into what fits into one message: so many, and of more than one so many bytes."""
    group: list[tuple[int, EventBatch]] = []
    size_bytes = 0
    for number, batch in batches:
        size = batch.size
        if group and (len(group) >= MOST_REPLICAS or size_bytes + size > MOST_BYTES):
            yield tuple(group)
            group, size_bytes = [], 0
        group.append((number, batch))
        size_bytes += size
    if group:
        yield tuple(group)
