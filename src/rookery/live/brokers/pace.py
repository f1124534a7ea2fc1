"""How much a client may publish: so many batches and events a second, on the average of the last second.

Rule: what is above that is not refused. The client is not read from until its account is even again, and TCP holds it;
others are read from meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable

from rookery.brokers.client_messages import FromClient, PublishBatch

__all__ = ["Pace"]


class Pace:
    """The account of one client: a second's worth may be spent at once."""

    __slots__ = ("_batches", "_events", "_left", "_time")

    def __init__(self, *, batches: int, events: int) -> None:
        self._batches = batches
        self._events = events
        #: Seconds of each that are left to spend; below zero it waits.
        self._left = [1.0, 1.0]
        self._time = 0.0

    def spend(self, requests: Iterable[FromClient], now: float) -> float:
        """Take requests off the account; return for how many seconds to wait before any more is read."""
        earned = max(0.0, now - self._time)
        self._time = now
        batches = [request.batch.count for request in requests if isinstance(request, PublishBatch)]
        spent = (len(batches) / self._batches, sum(batches) / self._events)
        self._left = [min(1.0, left + earned) - cost for left, cost in zip(self._left, spent, strict=True)]
        return max(0.0, -min(self._left))
