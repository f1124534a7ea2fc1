"""What was seen already, within bounds: the one window against doubles for whatever may come twice.

Rule 1: the window holds the latest `limit` keys, in the order in which they were first seen; the oldest goes first.
Rule 2: with a `lifetime` no key is held for longer than that after it was first seen, so that memory follows the rate.
Rule 3: a key may carry a value. To change it does not make the key younger.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from rookery.errors import SettingsError

__all__ = ["DedupWindow"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class DedupWindow(Generic[Key, Value]):
    """Keys that were seen, each with a value."""

    __slots__ = ("_lifetime", "_limit", "_seen")

    def __init__(self, limit: int, *, lifetime: int | None = None) -> None:
        if limit < 1 or (lifetime is not None and lifetime < 1):
            raise SettingsError(f"a window of {limit} keys for {lifetime} µs; give at least 1 of each")
        self._limit = limit
        self._lifetime = lifetime
        self._seen: dict[Key, tuple[int, Value]] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._seen)

    def __contains__(self, key: object) -> bool:
        return key in self._seen

    def add(self, key: Key, value: Value, now: int = 0) -> bool:
        """Remember a key; say whether it is new. That of a key that is not stays as it was."""
        seen = self._seen
        if key in seen:
            return False
        seen[key] = (now, value)
        while True:
            oldest = next(iter(seen))
            if len(seen) <= self._limit and (self._lifetime is None or seen[oldest][0] + self._lifetime > now):
                return True
            del seen[oldest]

    def get(self, key: Key) -> Value | None:
        """Return the value of a key that was seen; None for one that was not."""
        found = self._seen.get(key)
        return None if found is None else found[1]

    def change(self, key: Key, value: Value) -> None:
        """Give a key that was seen another value."""
        self._seen[key] = (self._seen[key][0], value)
