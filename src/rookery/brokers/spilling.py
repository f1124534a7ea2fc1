"""What a broker holds of events, in bytes, and what of it has gone to the log: memory has a budget, the backlog a disk.

Rule 1: a batch that is held counts with its bytes: an own one from its arrival, a copy for a peer, an orphan. What is
being matched, is not on the disk or waits for a grace period stays in memory.
Rule 2: above half of the budget the oldest batches that are on the own disk go out of memory. They stay promised: the
log has them, checked when they are read again (`Read`), and who wants one waits for that.
Rule 3: what is being read and what links have not got rid of are no more than an eighth of the budget together, one
batch always: what comes from the disk leaves as it comes. It is read once for all who wait for it. What cannot be read
is counted, and the backup is asked for its copy, which is written again; where that cannot be read either, both say so,
and it is asked for again.
Rule 4: where nothing can go, because there is no disk or it is behind, batches that come are refused for now.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rookery.brokers.batches import EventBatch
from rookery.machine import Read

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Spilling"]

#: Owner and number.
Key = tuple[int, int]


class Spilling:
    """The batches of one broker that are in memory, and those that are on its disk alone."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._sizes: dict[Key, int] = {}
        #: Those that may go, the oldest first.
        self._safe: dict[Key, None] = {}
        #: Those that are away: how many bytes there will be.
        self._away: dict[Key, int] = {}
        self._wanted: dict[Key, None] = {}
        self._reading: dict[Key, int] = {}
        self._tokens = 0
        #: Bytes in memory.
        self.held = 0

    @property
    def spilled(self) -> int:
        """How many batches are on the disk alone."""
        return len(self._away)

    def hold(self, key: Key, batch: EventBatch) -> None:
        """A batch is in memory."""
        self.release(key)
        self._sizes[key] = size = batch.size
        self.held += size

    def stored(self, keys: Iterable[Key]) -> None:
        """Batches are on the own disk too."""
        self._safe.update((key, None) for key in keys if key in self._sizes)

    def release(self, key: Key) -> None:
        """A batch is done with."""
        self.held -= self._sizes.pop(key, 0)
        self._safe.pop(key, None)
        self._away.pop(key, None)

    def is_stored(self, key: Key) -> bool:
        """Tell whether a batch that is held is on the own disk."""
        return key in self._safe or key in self._away

    def is_away(self, key: Key) -> bool:
        """Tell whether a batch is on the disk alone."""
        return key in self._away

    def size_of(self, key: Key) -> int:
        """Return how many bytes a batch has, in memory or away."""
        return self._sizes.get(key, 0) or self._away.get(key, 0)

    def want(self, key: Key) -> None:
        """Ask for a batch that is away."""
        if key in self._away and key not in self._reading:
            self._wanted[key] = None

    def has_room(self) -> bool:
        """Tell whether another batch may be taken."""
        return self.held < self._broker.configuration.memory

    def settle(self) -> None:
        """Let go of what is too much, and read what is wanted."""
        most = self._broker.configuration.memory // 2
        if self.held > most:
            self._let_go(most)
        if self._wanted:
            self._read()

    def _let_go(self, most: int) -> None:
        broker = self._broker
        for key in list(self._safe):
            if self.held <= most:
                return
            owner, number = key
            own = owner == broker.id
            if broker.deliveries.spill(number) if own else broker.replicas.spill(key):
                broker.counters["spilled"] += 1
                size = self._sizes[key]
                self.release(key)
                self._away[key] = size

    @property
    def room(self) -> int:
        """How many bytes more may be read or sent again now."""
        return self._broker.configuration.memory // 8 - self._broker.unsent - sum(self._reading.values())

    @property
    def can_read(self) -> bool:
        """Whether something is wanted and there is room for it."""
        return bool(self._wanted) and self.room > 0

    def _read(self) -> None:
        room = self.room
        keys: list[Key] = []
        while self._wanted and (room > 0 or not (self._reading or keys or self._broker.unsent)):
            key = next(iter(self._wanted))
            del self._wanted[key]
            if key in self._away:
                room -= self._away[key]
                self._reading[key] = self._away[key]
                keys.append(key)
        if keys:
            self._tokens += 1
            self._broker.effect(Read(self._tokens, tuple(keys)))

    def completed(self, read: Read, found: dict[Key, EventBatch]) -> None:
        """Batches have been read again; those that are not there could not be."""
        broker = self._broker
        for key in read.keys:
            self._reading.pop(key, None)
            batch = found.get(key)
            if key not in self._away:
                continue  # done with meanwhile
            if batch is None:
                broker.counters["unreadable"] += 1
                if key[0] == broker.id:
                    broker.deliveries.unreadable(key[1])
                else:
                    broker.replicas.unreadable(key)
                continue
            self.hold(key, batch)
            self._safe[key] = None
            if key[0] == broker.id:
                broker.deliveries.loaded(key[1], batch)
            else:
                broker.replicas.loaded(key, batch)
