"""The versions of a client's subscriptions: a counter that only the client moves, and that the network may push up.

Rule 1: whatever is sent to the zones has a version of its own, greater than all before it, so of two that differ the
zones know which is the later one. No clock is asked: clocks step back.
Rule 2: a zone keeps the greatest (version, access broker) and says that it has a subscription only for what it keeps. A
client that has lost its count, or shares its number with another one, is told which version stands in its way, and
sends again above it. So the later one has the subscription, whatever was stored by whom.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

__all__ = ["MOST_VERSION", "Version", "Versions"]

#: What fits everywhere on the way; a client that counts does not live to see it.
MOST_VERSION = (1 << 63) - 1
Version: TypeAlias = Annotated[int, msgspec.Meta(gt=0, le=MOST_VERSION)]


class Versions:
    """The count of one client, and the version of each of its subscriptions."""

    __slots__ = ("_count", "_current")

    def __init__(self) -> None:
        self._count = 0
        self._current: dict[str, int] = {}

    def learn(self, version: int) -> None:
        """Count on from here, if that is higher: a broker knows of subscriptions that this client does not remember."""
        self._count = max(self._count, version)

    def next(self, name: str) -> int | None:
        """Return the version to send a subscription under; None where all are used up."""
        if self._count >= MOST_VERSION:
            return None
        self._count += 1
        self._current[name] = self._count
        return self._count

    def is_current(self, name: str, version: int) -> bool:
        """Tell whether an answer is about what was sent last."""
        return self._current.get(name) == version

    def is_counted(self, name: str) -> bool:
        """Tell whether a subscription was ever sent."""
        return name in self._current

    def is_beaten(self, name: str, stored: int) -> bool:
        """Take in which version stands in the way of a subscription; tell whether it has to be sent again."""
        self.learn(stored)
        current = self._current.get(name)
        return current is not None and stored >= current

    def forget(self, name: str) -> None:
        """A subscription is over."""
        self._current.pop(name, None)
