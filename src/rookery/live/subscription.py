"""A subscription at its client: events wait here for the program, and the caller has said what happens when many do.

    async with client.subscribe("quotes", "price < 10", overflow="wait") as events:    # in force when entered
        async for event in events:
            ...

Rule 1: `wait` drops nothing here: who sends waits when too many events do. The transport is told what the program has
taken, when it asks for the next or leaves the `with` without an error, and acknowledges by that. One that cannot make
its senders wait refuses it.
Rule 2: `drop-oldest` never makes anybody wait: at most `queue` events are kept, the oldest go first, `dropped` counts
them, and the first one is said in the log.
Rule 3: in plain code the same object is an ordinary iterator and an ordinary context manager.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from rookery.errors import ClientError
from rookery.live.loop_thread import LoopThread

__all__ = ["Event", "Overflow", "Subscription"]

_LOG = logging.getLogger("rookery.live")

#: What becomes of events that come faster than the program takes them.
Overflow: TypeAlias = Literal["wait", "drop-oldest"]
Event: TypeAlias = dict[str, Any]
Item = TypeVar("Item")
#: Events that come one by one and wait are one batch, up to so many.
_BATCH = 512


class Subscription(Generic[Item]):
    """The events of a subscription as they come, or (name, event) pairs where there are many conditions."""

    def __init__(
        self,
        topic: str,
        *,
        named: bool,
        overflow: Overflow,
        queue: int,
        on_taken: Callable[[Any], None],
        on_close: Callable[[Subscription[Any]], None],
        thread: LoopThread | None = None,
    ) -> None:
        self.topic = topic
        self.overflow: Overflow = overflow
        self.queue = queue
        #: Events that were lost because the program did not keep up.
        self.dropped = 0
        self._named = named
        self._on_taken = on_taken
        self._on_close = on_close
        self._thread = thread
        #: What the program has begun with, and the token by which that is acknowledged; then what waits.
        self._items: deque[Item] = deque()
        self._token: Any = None
        self._batches: deque[tuple[list[Item], Any]] = deque()
        self._waiting = 0
        self._news = asyncio.Event()
        self._in_force = asyncio.Event()
        self._error: Exception | None = None
        self._is_closed = False
        self._plain_items: deque[Item] = deque()
        self._plain_turn = threading.Lock()

    # ---- for the program, in a loop --------------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        self._check_mode(plain=False)
        while not self._items:
            batch = await self._next_batch()
            if batch is None:
                raise StopAsyncIteration
            self._items.extend(batch)
        return self._items.popleft()

    async def batches(self) -> AsyncIterator[list[Item]]:
        """Iterate over lists of events, as they came: faster where there are many."""
        self._check_mode(plain=False)
        if self._items:  # of a batch that was begun one by one
            begun = list(self._items)
            self._items.clear()
            yield begun
        while (batch := await self._next_batch()) is not None:
            yield batch

    async def __aenter__(self) -> Subscription[Item]:
        self._check_mode(plain=False)
        return await self._when_in_force()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._done()
        self.close()

    @property
    def waiting(self) -> int:
        """How many events wait here for the program."""
        return self._waiting + len(self._items) + len(self._plain_items)

    @property
    def is_closed(self) -> bool:
        """Whether it is over; what waits can still be read."""
        return self._is_closed

    def close(self) -> None:
        """End the subscription; the iterator ends after what waits here. To leave its `with` does the same."""
        if self._is_closed:
            return
        if self._thread is None:
            self._on_close(self)
        else:
            self._thread.run(self._close())

    # ---- for the program, in plain code ----------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        item = self._plain_next(None)
        if item is None:
            raise StopIteration
        return item[0]

    def next(self, *, seconds: float) -> Item:
        """Return the next event in plain code; raise `TimeoutError` if none comes for so long."""
        item = self._plain_next(seconds)
        if item is None:
            raise ClientError(f"the subscription to {self.topic!r} is over")
        return item[0]

    def __enter__(self) -> Subscription[Item]:
        return self._check_mode(plain=True).run(self._when_in_force())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self._is_closed:
            self._check_mode(plain=True).run(self._done_soon())
        self.close()

    # ---- for the transport -----------------------------------------------------------------------------------------

    def deliver(self, names: Sequence[str], events: Sequence[Any], token: Any = None) -> None:
        """Queue events that belong together; `on_taken(token)` is called when they are done with, if there is one."""
        batch: list[Any] = list(zip(names, events, strict=True)) if self._named else list(events)
        if self._is_closed or self.overflow == "drop-oldest":
            if token is not None:
                self._on_taken(token)
            token = None
        if self._is_closed:
            return
        last = self._batches[-1] if self._batches and token is None else None
        if last is not None and last[1] is None and len(last[0]) < _BATCH:
            last[0].extend(batch)
        else:
            self._batches.append((batch, token))
        self._waiting += len(batch)
        if self.overflow == "drop-oldest" and self._waiting > self.queue:
            self._drop()
        self._news.set()

    def come_into_force(self) -> None:
        """Let those go on who have waited for that: every event that is published from now on comes here."""
        self._in_force.set()

    def reject(self, error: Exception) -> None:
        """Say that the subscription cannot be, to whoever enters or reads it."""
        self._error = error
        self._in_force.set()
        self._news.set()

    def end(self) -> None:
        """Take in no more; the iterator ends after what waits here."""
        self._is_closed = True
        self._in_force.set()
        self._news.set()

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _check_mode(self, *, plain: bool) -> LoopThread:
        if plain == (self._thread is None):
            raise ClientError(
                "this client was opened with `async with`: iterate with `async for`"
                if plain
                else "this client was opened with `with`: iterate with `for`"
            )
        return self._thread  # type: ignore[return-value]  # None only where the caller has asked for a loop

    def _plain_next(self, seconds: float | None) -> tuple[Item] | None:
        thread = self._check_mode(plain=True)

        async def within() -> list[Item] | None:
            async with asyncio.timeout(seconds):
                return await self._next_batch()

        with self._plain_turn:
            while not self._plain_items:
                try:
                    batch = thread.run(within())
                except ClientError:
                    if not self._is_closed:
                        raise
                    # The client is closed and its thread has ended: what came before can still be read.
                    batch = self._batches.popleft()[0] if self._batches else None
                if batch is None:
                    return None
                self._plain_items.extend(batch)
            return (self._plain_items.popleft(),)

    async def _when_in_force(self) -> Subscription[Item]:
        await self._in_force.wait()
        if self._error is not None:
            raise self._error
        return self

    async def _close(self) -> None:
        if not self._is_closed:
            self._on_close(self)

    async def _done_soon(self) -> None:
        self._done()

    def _done(self) -> None:
        """Say that the program is done with the batch that it has begun, if it has had all of it."""
        if self._token is not None and not self._items and not self._plain_items:
            token, self._token = self._token, None
            self._on_taken(token)

    async def _next_batch(self) -> list[Item] | None:
        """Say that the batch before is done with, and wait for another one; None at the end."""
        if self._token is not None:
            token, self._token = self._token, None
            self._on_taken(token)
        while not self._batches:
            if self._error is not None:
                raise self._error
            if self._is_closed:
                return None
            self._news.clear()
            await self._news.wait()
        batch, self._token = self._batches.popleft()
        self._waiting -= len(batch)
        return batch

    def _drop(self) -> None:
        if not self.dropped:
            _LOG.warning("a subscription to %s drops its oldest events: more than %d wait", self.topic, self.queue)
        excess = self._waiting - self.queue
        self.dropped += excess
        self._waiting -= excess
        while excess:
            batch, _ = self._batches[0]
            if len(batch) <= excess:
                self._batches.popleft()
                excess -= len(batch)
            else:
                del batch[:excess]
                excess = 0
