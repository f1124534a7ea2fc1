"""The timers of a participant: one heap, no clock.

Whoever needs to be called later names the timer, the time and the action; arming a name again moves it, and `run` calls
everything that is due, in order of time and, at one time, in order of arming. Moved and cancelled entries stay in the
heap until they surface, so arming is O(log n) and nothing is searched; the heap is rebuilt when most of it is stale.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable

__all__ = ["Deadlines"]

Action = Callable[[int], None]


class Deadlines:
    """Named actions with times in integer microseconds."""

    __slots__ = ("_armed", "_heap", "_ticket")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Hashable]] = []
        self._armed: dict[Hashable, tuple[int, int, Action]] = {}
        self._ticket = 0

    def __len__(self) -> int:
        return len(self._armed)

    def __contains__(self, name: Hashable) -> bool:
        return name in self._armed

    def arm(self, name: Hashable, when: int, action: Action) -> None:
        """Call `action` at `when`, instead of whatever was armed under this name."""
        self._ticket += 1
        self._armed[name] = (when, self._ticket, action)
        heapq.heappush(self._heap, (when, self._ticket, name))
        if len(self._heap) > 64 + 4 * len(self._armed):
            self._heap = [(when, ticket, name) for name, (when, ticket, _) in self._armed.items()]
            heapq.heapify(self._heap)

    def arm_sooner(self, name: Hashable, when: int, action: Action) -> None:
        """Arm unless the name is armed for the same time or an earlier one."""
        armed = self._armed.get(name)
        if armed is None or when < armed[0]:
            self.arm(name, when, action)

    def cancel(self, name: Hashable) -> None:
        """Forget the name, armed or not."""
        self._armed.pop(name, None)

    def next(self) -> int | None:
        """Return when the earliest action is due."""
        heap = self._heap
        while heap:
            when, ticket, name = heap[0]
            armed = self._armed.get(name)
            if armed is not None and armed[1] == ticket:
                return when
            heapq.heappop(heap)
        return None

    def run(self, now: int) -> None:
        """Call everything that is due; what these calls arm for `now` or earlier waits for the next run."""
        due: list[Action] = []
        while (when := self.next()) is not None and when <= now:
            _, _, name = heapq.heappop(self._heap)
            due.append(self._armed.pop(name)[2])
        for action in due:
            action(now)
