"""Long work in short turns, so that an event loop stays answerable.

One buffer of a socket may hold thousands of messages. Who handles them in one go says nothing meanwhile, and the others
take it for dead. Here they wait in order, some are handled in each turn of the loop, and between turns timers run and
other sockets are read.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Slices"]

Item = TypeVar("Item")


class Slices(Generic[Item]):
    """A queue of items that `handle` gets in lists of at most `size`, one list a turn of the loop."""

    def __init__(self, handle: Callable[[list[Item]], None], *, size: int = 128) -> None:
        self._handle = handle
        self._size = size
        self._waiting: deque[Item] = deque()
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, items: list[Item]) -> None:
        """Handle items, at once if nothing waits and they are few, else in turns."""
        if not self._waiting and len(items) <= self._size:
            self._handle(items)
            return
        self._waiting.extend(items)
        if not self._scheduled:
            self._turn()

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()

    def _turn(self) -> None:
        self._scheduled = False
        items = [self._waiting.popleft() for _ in itertools.repeat(None, min(self._size, len(self._waiting)))]
        if items:
            self._handle(items)
        if self._waiting:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)
