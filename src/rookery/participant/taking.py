"""What the subscriptions of one reader have not taken yet, and so what of its samples may be acknowledged.

A sample is done with when every subscription that it was delivered to has taken it. A writer is acknowledged without
holes: through the last sample before the oldest one that somebody has still to take.
"""

from __future__ import annotations

from collections.abc import Iterable

from rookery.rtps.identity import Guid

__all__ = ["Taking"]


class Taking:
    """The account of one reader; subscriptions are known by their ids."""

    def __init__(self) -> None:
        #: By writer and number, in order: who has not taken a sample.
        self._left: dict[Guid, dict[int, set[int]]] = {}
        self._done: dict[Guid, int] = {}

    def deliver(self, writer: Guid, sequence: int, subscriptions: Iterable[int]) -> None:
        """Note a sample and who was given it: perhaps nobody, then it waits for those before it alone."""
        self._left.setdefault(writer, {})[sequence] = set(subscriptions)
        self._settle(writer)

    def take(self, subscription: int, writer: Guid, sequence: int) -> None:
        """Note that a subscription has taken a sample."""
        left = self._left.get(writer, {}).get(sequence)
        if left is not None:
            left.discard(subscription)
            self._settle(writer)

    def forget(self, subscription: int) -> None:
        """Wait for a subscription no more."""
        for writer in list(self._left):
            for left in self._left[writer].values():
                left.discard(subscription)
            self._settle(writer)

    @property
    def is_news(self) -> bool:
        """Whether `done` has something to return."""
        return bool(self._done)

    def done(self) -> dict[Guid, int]:
        """Return, once, through which number each writer can be acknowledged now."""
        done, self._done = self._done, {}
        return done

    def _settle(self, writer: Guid) -> None:
        samples = self._left[writer]
        while samples:
            sequence, left = next(iter(samples.items()))
            if left:
                return
            del samples[sequence]
            self._done[writer] = sequence
        del self._left[writer]
