"""What was seen already, within bounds: the one window against doubles for whatever may come twice.

Rule 1: the window holds the latest `limit` keys, in the order in which they were first seen; the oldest goes first.
Rule 2: with a `lifetime` no key is held for longer than that after it was first seen, so that memory follows the rate.
Rule 3: a key may carry a value. To change it does not make the key younger.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from rookery.errors import SettingsError

__all__ = ["DedupWindow"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class DedupWindow(Generic[Key, Value]):
    """Keys that were seen, each with a value."""

    __slots__ = ("_lifetime", "_limit", "_order", "_seen", "_times")

    def __init__(self, limit: int, *, lifetime: int | None = None) -> None:
        if limit < 1 or (lifetime is not None and lifetime < 1):
            raise SettingsError(f"a window of {limit} keys for {lifetime} µs; give at least 1 of each")
        self._limit = limit
        self._lifetime = lifetime
        self._seen: dict[Key, Value] = {}
        # The dict has the same order, but to find its first key it steps over all that were deleted before: 100 µs each
        # in a full window of 100,000.
        self._order: deque[Key] = deque()
        #: When each was first seen, where that matters.
        self._times: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._order)

    def __contains__(self, key: object) -> bool:
        return key in self._seen

    def add(self, key: Key, value: Value, now: int = 0) -> bool:
        """Remember a key; say whether it is new. That of a key that is not stays as it was."""
        if self._lifetime is not None:
            self._drop(now)  # first: a key whose time is over is new
        if key in self._seen:
            return False
        self._seen[key] = value
        self._order.append(key)
        if self._lifetime is not None:
            self._times.append(now)
        if len(self._order) > self._limit:
            self._drop(now)
        return True

    def add_many(self, keys: Iterable[Key], value: Value, now: int = 0) -> list[bool]:
        """Remember keys under one value; say of each whether it is new. The bounds hold again when all are in."""
        if self._lifetime is not None:
            self._drop(now)
        seen, order = self._seen, self._order
        before = len(order)
        found: list[bool] = []
        for key in keys:
            is_new = key not in seen
            found.append(is_new)
            if is_new:
                seen[key] = value
                order.append(key)
        if self._lifetime is not None:
            self._times.extend([now] * (len(order) - before))
        self._drop(now)
        return found

    def get(self, key: Key) -> Value | None:
        """Return the value of a key that was seen; None for one that was not."""
        return self._seen.get(key)

    def change(self, key: Key, value: Value) -> None:
        """Give a key that was seen another value."""
        if key not in self._seen:
            raise KeyError(key)
        self._seen[key] = value

    def _drop(self, now: int) -> None:
        seen, order, times, lifetime = self._seen, self._order, self._times, self._lifetime
        while len(order) > self._limit or (lifetime is not None and order and times[0] + lifetime <= now):
            del seen[order.popleft()]
            if lifetime is not None:
                times.popleft()
