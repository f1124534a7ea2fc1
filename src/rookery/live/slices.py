"""Long work in short turns, so that an event loop stays answerable.

One buffer of a socket may hold thousands of messages. Who handles them in one go says nothing meanwhile, and the others
take it for dead. Here they wait in order, some are handled in each turn of the loop, and between turns timers run and
other sockets are read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sized
from typing import Generic, TypeVar

__all__ = ["Slices"]

Item = TypeVar("Item")


#: Bytes of a turn: some thousands of events.
MOST_BYTES = 256 << 10


class Slices(Generic[Item]):
    """A queue of items that `handle` gets in lists of at most `size`, one list a turn of the loop."""

    def __init__(
        self, handle: Callable[[list[Item]], None], *, payload: Callable[[Item], Sized], size: int = 128
    ) -> None:
        """`payload` gives that part of an item whose length counts."""
        self._handle = handle
        self._payload = payload
        self._size = size
        self._waiting: deque[Item] = deque()
        #: Bytes that wait.
        self.size_bytes = 0
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, items: list[Item]) -> None:
        """Handle items, at once if nothing waits and they are few and small, else in turns."""
        self._waiting.extend(items)
        self.size_bytes += sum(len(self._payload(item)) for item in items)
        if not self._scheduled:
            self._turn()

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()
        self.size_bytes = 0

    def _turn(self) -> None:
        self._scheduled = False
        waiting, payload = self._waiting, self._payload
        items: list[Item] = []
        taken = 0
        while waiting and len(items) < self._size and taken < MOST_BYTES:
            taken += len(payload(waiting[0]))
            items.append(waiting.popleft())
        self.size_bytes -= taken
        if waiting:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)
        if items:
            self._handle(items)
