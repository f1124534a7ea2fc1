"""A process that takes time for what it is told: messages wait for it in two queues, and it does one after the other.

Rule: the messages that pass others (`is_urgent`) are done first, as live (`live/brokers/server.py`), and each kind in
the order in which it came. What is due by the clock waits for the message that is being done, and for no more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rookery.simulated.calendar import Calendar

__all__ = ["Desk", "Labor"]


@dataclass(frozen=True, slots=True)
class Labor:
    """How long a message takes, in microseconds, and whether it passes others."""

    takes: Callable[[Any], int]
    is_urgent: Callable[[Any], bool]


class Desk:
    """What waits at one process."""

    def __init__(self, labor: Labor, calendar: Calendar, handle: Callable[[Any, Any], None]) -> None:
        self._labor = labor
        self._calendar = calendar
        self._handle = handle
        self._urgent: deque[tuple[Any, Any]] = deque()
        self._waiting: deque[tuple[Any, Any]] = deque()
        #: What is due by the clock.
        self._calls: deque[Callable[[], None]] = deque()
        self._is_scheduled = False
        self.busy_until = 0

    def __len__(self) -> int:
        return len(self._urgent) + len(self._waiting)

    def add(self, message: Any, source: Any) -> None:
        """A message has come."""
        (self._urgent if self._labor.is_urgent(message) else self._waiting).append((message, source))
        self._schedule()

    def interrupt(self, call: Callable[[], None]) -> None:
        """Something is due: it is done before the next message."""
        self._calls.append(call)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._calendar.at(max(self._calendar.now, self.busy_until), self._work)

    def _work(self) -> None:
        self._is_scheduled = False
        while self._calls:
            self._calls.popleft()()
        if len(self):
            message, source = (self._urgent or self._waiting).popleft()
            self._handle(message, source)
            self.busy_until = self._calendar.now + self._labor.takes(message)
        if len(self):
            self._schedule()
