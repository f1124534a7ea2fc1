"""The events of a subscription at its client: each once, in the order in which they come, confirmed when taken.

An event is known by its publisher and number. What a crash made the brokers send twice is dropped here; the numbers of
the last million events are remembered for that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any

from rookery.routing.brokers.parcels import Notice, events_of

__all__ = ["Feed"]

#: Pairs remembered so that none is given twice.
REMEMBERED = 1 << 20


class Feed:
    """An asynchronous iterator over events, or over (name, event) pairs for a feed of many subscriptions."""

    def __init__(
        self,
        number: int,
        wires: Mapping[str, tuple[str, str, tuple[object, ...]]],
        *,
        named: bool,
        over: Callable[[Feed], None],
    ) -> None:
        self.number = number
        #: Names on the wire: the program's name, condition, parameters.
        self.wires = wires
        #: Names that some zone does not have yet.
        self.waiting: set[str] = set()
        #: How often a pair came again.
        self.repeated = 0
        self._named = named
        self._over = over
        self._seen: dict[tuple[str, int, int], None] = {}
        self._batches: deque[tuple[list[Any], Callable[[], None]]] = deque()
        self._current: deque[Any] = deque()
        self._current_taken: Callable[[], None] | None = None
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
        if self._current_taken is not None:
            self._current_taken()
            self._current_taken = None
        while not self._batches:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        batch, self._current_taken = self._batches.popleft()
        return batch

    # ---- for the client ------------------------------------------------------------------------------------------

    def take(self, notice: Notice, taken: Callable[[], None]) -> None:
        """Queue what is new; `taken` is called when the program has had it, at once if nothing is."""
        parcel = notice.parcel
        publisher, sequences, seen, wires = parcel.publisher, parcel.sequences(), self._seen, self.wires
        pairs = [(row, name) for name in notice.every if name in wires for row in range(parcel.count)]
        pairs += [(row, name) for row, name in zip(notice.rows, notice.names, strict=True) if name in wires]
        batch: list[Any] = []
        events = events_of(parcel)
        for row, name in pairs:
            key = (name, publisher, sequences[row])
            if key in seen:
                self.repeated += 1
                continue
            seen[key] = None
            batch.append((wires[name][0], events[row]) if self._named else events[row])
        if len(seen) > REMEMBERED:
            for key in list(seen)[: REMEMBERED // 2]:
                del seen[key]
        if batch and not self._ended:
            self._batches.append((batch, taken))
            self._news.set()
        else:
            taken()

    def placed(self, name: str) -> None:
        """Every zone has one of the subscriptions."""
        self.waiting.discard(name)
        if not self.waiting:
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
