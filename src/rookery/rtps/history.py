"""What a writer still has: its changes by sequence number, as many as its history policy keeps.

Keep-last holds the newest `depth` changes of each instance, acknowledged or not, and lets older ones go: a reader that
asks for one of those is answered with a GAP. Keep-all holds everything that somebody still needs, and a full history is
the caller's business: `HistoryFullError`. A volatile history forgets what every reliable reader has; a transient-local
one keeps it for readers to come, except instances that are gone for good.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from rookery.errors import HistoryFullError
from rookery.rtps.events import SampleKind
from rookery.rtps.identity import Guid

__all__ = ["EVERYBODY", "Change", "Choice", "History"]


class Choice(msgspec.Struct, frozen=True, gc=False):
    """Who is to have a change: of the readers that had a filter when it was written, those that want it; all others."""

    filtered: frozenset[Guid] = frozenset()
    wanted: frozenset[Guid] = frozenset()

    def includes(self, reader: Guid) -> bool:
        """Say whether a reader is to have it."""
        return reader not in self.filtered or reader in self.wanted


EVERYBODY = Choice()


class Change(msgspec.Struct, frozen=True, gc=False):
    """One thing written: a sample, or news about its instance."""

    sequence: int
    kind: SampleKind
    instance: bytes
    payload: bytes
    timestamp: int | None
    readers: Choice = EVERYBODY


class History:
    """The changes of one writer, oldest first."""

    def __init__(self, *, depth: int | None, keeps_for_late_readers: bool, at_most: int) -> None:
        self._depth = depth
        self._keeps = keeps_for_late_readers
        self._at_most = at_most
        self._changes: dict[int, Change] = {}
        self._instances: dict[bytes, deque[int]] = {}
        self._endings: dict[int, Change] = {}
        self.last = 0

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(tuple(self._changes.values()))

    def get(self, sequence: int) -> Change | None:
        """Return the change of that number, if it is still here."""
        return self._changes.get(sequence)

    def holds(self, instance: bytes) -> bool:
        """Say whether something of an instance is still here; only keep-last knows instances."""
        return instance in self._instances

    @property
    def has_room(self) -> bool:
        """Whether another change fits, of whatever instance."""
        return len(self._changes) < self._at_most

    @property
    def first(self) -> int:
        """The oldest number that is still here; one more than the last when nothing is."""
        return next(iter(self._changes), self.last + 1)

    def add(self, kind: SampleKind, instance: bytes, payload: bytes, timestamp: int | None) -> Change:
        """Append a change and let go of what the policy does not keep; raise when there is no room."""
        numbers = self._instances.get(instance)
        replaces = self._depth is not None and numbers is not None and len(numbers) >= self._depth
        if not self.has_room and not replaces:
            raise HistoryFullError(
                f"{len(self._changes)} samples are waiting for readers; wait until they are acknowledged, "
                "dispose of instances, or keep the last n instead of all"
            )
        self.last += 1
        change = Change(self.last, kind, instance, payload, timestamp)
        self._changes[self.last] = change
        if self._depth is not None:
            if self._keeps and kind & SampleKind.UNREGISTERED:
                self._endings[self.last] = change
            if numbers is None:
                numbers = self._instances[instance] = deque()
            numbers.append(self.last)
            while len(numbers) > self._depth:
                let_go = numbers.popleft()
                del self._changes[let_go]
                self._endings.pop(let_go, None)
        return change

    def choose(self, change: Change, readers: Choice) -> Change:
        """Note who is to have a change, and return it so."""
        chosen = replace(change, readers=readers)
        if change.sequence in self._changes:
            self._changes[change.sequence] = chosen
        return chosen

    def acknowledged_before(self, sequence: int) -> None:
        """Note that every reliable reader has everything below `sequence`."""
        if self._keeps:
            for change in [change for change in self._endings.values() if change.sequence < sequence]:
                del self._endings[change.sequence]
                if change.sequence in self._changes:
                    self._forget_instance(change)
            return
        while self._changes:
            oldest = next(iter(self._changes))
            if oldest >= sequence:
                return
            instance = self._changes.pop(oldest).instance
            if self._depth is not None:
                numbers = self._instances[instance]
                numbers.popleft()
                if not numbers:
                    del self._instances[instance]

    def expire(self, timestamp: int) -> int | None:
        """Forget what was written at that time or before; return when the oldest of the rest was written."""
        while self._changes:
            oldest = next(iter(self._changes.values()))
            if oldest.timestamp is None or oldest.timestamp > timestamp:
                return oldest.timestamp
            del self._changes[oldest.sequence]
            self._endings.pop(oldest.sequence, None)
            if self._depth is not None:
                numbers = self._instances[oldest.instance]
                numbers.popleft()
                if not numbers:
                    del self._instances[oldest.instance]
        return None

    def _forget_instance(self, ending: Change) -> None:
        """Forget an instance up to and including its end; a late reader need not know that it ever was."""
        numbers = self._instances[ending.instance]
        while numbers and numbers[0] <= ending.sequence:
            del self._changes[numbers.popleft()]
        if not numbers:
            del self._instances[ending.instance]
