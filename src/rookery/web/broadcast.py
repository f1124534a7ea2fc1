"""One state, many pages: every quarter of a second what changed is encoded once and queued for each page.

Rule: a page that does not keep up holds up nobody. Its queue is short; when it is full, what waits is thrown away and
the page gets a snapshot instead.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from rookery.web.recorder import wall_clock
from rookery.web.records import Record
from rookery.web.state import RunState

__all__ = ["MOST_PAGES", "PERIOD", "Broadcast"]

#: Seconds between two messages.
PERIOD = 0.25
#: Messages that wait for one page.
QUEUE = 8
#: Pages at once.
MOST_PAGES = 64
#: Messages without news that are not sent, so that an idle page is told the time once a second.
IDLE = 4

_ENCODER = msgspec.json.Encoder()


class Broadcast:
    """Holds the state, takes records from any thread, and tells the pages."""

    def __init__(self, *, clock: Callable[[], int] = wall_clock, status: Callable[[], dict[str, Any]] = dict) -> None:
        self.state = RunState()
        self.clock = clock
        #: What else the page is told: whether this is a replay, and where it stands.
        self.status = status
        self._lock = threading.Lock()
        self._queues: set[asyncio.Queue[bytes]] = set()
        self._behind: set[asyncio.Queue[bytes]] = set()
        self._everyone_behind = False
        self._silence = 0

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return len(self._queues)

    def feed(self, record: Record) -> None:
        """Take a record in; from any thread."""
        with self._lock:
            self.state.apply(record)

    def reject(self, reason: str) -> None:
        """Count a line that was no record."""
        with self._lock:
            self.state.rejected += 1

    def replace(self, state: RunState) -> None:
        """Go on from another state: every page gets a snapshot."""
        with self._lock:
            self.state = state
            self._everyone_behind = True

    def snapshot(self) -> bytes:
        """Return the state as a page wants it."""
        with self._lock:
            document = self.state.snapshot()
        return _ENCODER.encode({**document, "now": self.clock(), "status": self.status()})

    async def run(self) -> None:
        """Tell the pages what changed, until cancelled."""
        while True:
            self.tick()
            await asyncio.sleep(PERIOD)

    def tick(self) -> None:
        """Send what changed since the last time."""
        with self._lock:
            delta = self.state.drain()
            if self._everyone_behind:
                self._behind |= self._queues
                self._everyone_behind = False
        self._silence = 0 if len(delta) > 2 or self._behind else self._silence + 1
        if self._silence % IDLE:
            return
        message = _ENCODER.encode({**delta, "now": self.clock(), "status": self.status()})
        snapshot: bytes | None = None
        for queue in self._queues:
            if queue.full():
                self._behind.add(queue)
            if queue in self._behind:
                while not queue.empty():
                    queue.get_nowait()
                snapshot = snapshot or self.snapshot()
                queue.put_nowait(snapshot)
            else:
                queue.put_nowait(message)
        self._behind.clear()

    async def messages(self) -> AsyncIterator[bytes]:
        """Be a page: a snapshot, then what changes."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(QUEUE)
        queue.put_nowait(self.snapshot())
        # What changes before the next tick comes twice, which is harmless: a message says what is, not what moved.
        self._queues.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)
            self._behind.discard(queue)
