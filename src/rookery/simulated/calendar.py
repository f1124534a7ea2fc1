"""The one calendar: virtual time in integer microseconds, and what is to happen when.

Events at one time happen in the order in which they were entered, so a run is a function of its inputs alone. Time
moves only here: from one entry to the next, never by a clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from rookery.errors import CalendarError

__all__ = ["Calendar"]


class Calendar:
    """Actions by time."""

    def __init__(self) -> None:
        self.now = 0
        self._ticket = 0
        self._entries: list[tuple[int, int, Callable[[], None]]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def at(self, when: int, action: Callable[[], None]) -> None:
        """Enter an action; it runs when the time has come."""
        if when < self.now:
            raise CalendarError(f"an entry for {when} at {self.now}: time does not go back")
        self._ticket += 1
        heapq.heappush(self._entries, (when, self._ticket, action))

    def after(self, delay: int, action: Callable[[], None]) -> None:
        """Enter an action for `delay` from now."""
        self.at(self.now + delay, action)

    def drain(self) -> None:
        """Run everything, and all that comes of it; time stops at the last entry."""
        entries, pop = self._entries, heapq.heappop
        while entries:
            self.now, _, action = pop(entries)
            action()

    def run(self, until: int, *, condition: Callable[[], bool] | None = None) -> bool:
        """Run everything due by `until`, or until the condition holds; say whether it does."""
        entries, pop = self._entries, heapq.heappop
        while condition is None or not condition():
            if not entries or entries[0][0] > until:
                self.now = max(self.now, until)
                return condition is not None and condition()
            self.now, _, action = pop(entries)
            action()
        return True
