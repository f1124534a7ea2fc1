"""The events of a subscription at its client, in the order in which they come, acknowledged when taken.

That each comes once is the machine's affair (`brokers.client`); here they wait for the program.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any

from rookery.brokers.client_events import Delivered, DeliveryKey

__all__ = ["Feed"]


class Feed:
    """An asynchronous iterator over events, or over (name, event) pairs for a feed of many subscriptions."""

    def __init__(
        self, *, named: bool, acknowledge: Callable[[Feed, DeliveryKey], None], over: Callable[[Feed], None]
    ) -> None:
        #: Of the subscription, as the machine has it.
        self.number = 0
        self._named = named
        self._acknowledge = acknowledge
        self._over = over
        self._batches: deque[tuple[list[Any], DeliveryKey]] = deque()
        self._current: deque[Any] = deque()
        self._current_key: DeliveryKey | None = None
        self._news = asyncio.Event()
        self._in_force = asyncio.Event()
        self._error: Exception | None = None
        self._ended = False

    # ---- for the program -----------------------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._current:
            batch = await self._next_batch()
            if batch is None:
                raise StopAsyncIteration
            self._current.extend(batch)
        return self._current.popleft()

    async def batches(self) -> AsyncIterator[list[Any]]:
        """Iterate over lists of events, as they came: faster where there are many."""
        while (batch := await self._next_batch()) is not None:
            yield batch

    async def __aenter__(self) -> Feed:
        await self._in_force.wait()
        if self._error is not None:
            raise self._error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over(self)

    async def _next_batch(self) -> list[Any] | None:
        """Say that the batch before is done with, and wait for another one."""
        if self._current_key is not None:
            self._acknowledge(self, self._current_key)
            self._current_key = None
        while not self._batches:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        batch, self._current_key = self._batches.popleft()
        return batch

    # ---- for the client ------------------------------------------------------------------------------------------

    def take(self, delivered: Delivered) -> None:
        """Queue what is new; it is acknowledged when the program has had it, at once if the feed is over."""
        if self._ended:
            self._acknowledge(self, delivered.key)
            return
        events = delivered.events
        batch = list(zip(delivered.names, events, strict=True)) if self._named else list(events)
        self._batches.append((batch, delivered.key))
        self._news.set()

    def in_force(self) -> None:
        """Every zone has the subscription."""
        self._in_force.set()

    def reject(self, error: Exception) -> None:
        """The subscription cannot be."""
        self._error = error
        self._in_force.set()
        self._news.set()

    def end(self) -> None:
        """Let the iterator end after what is queued."""
        self._ended = True
        self._in_force.set()
        self._news.set()
