"""A stream of bodies from one site to another: in order, each once, whatever becomes of the links between.

TCP keeps order and loses nothing on one link, but links go and the way changes, so the two ends of a stream keep count:
the sender numbers what it sends and keeps it until the receiver acknowledges it, and sends again from the first that
is not acknowledged when the way has changed or nothing has come back for a while. The receiver takes the next number
and nothing else. A session begins the count anew: the sender's choice, higher each time, when the receiver is not the
one it was.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

__all__ = ["MOST_BYTES", "Inbound", "Outbound"]

#: Bytes that may wait for an acknowledgment; beyond it new samples are refused and counted.
MOST_BYTES = 64 << 20
#: Bodies that are sent again in one go.
_AT_ONCE = 512
_FIRST_WAIT = 1_000_000
_LONGEST_WAIT = 8_000_000


@dataclass(slots=True)
class Outbound:
    """The sending end."""

    session: int
    #: Of the receiver, when the session began.
    incarnation: int
    waiting: deque[bytes] = field(default_factory=deque)
    first: int = 0
    size_bytes: int = 0
    due: int | None = None
    _wait: int = _FIRST_WAIT

    def has_room(self, size: int) -> bool:
        """Say whether one more body may wait."""
        return self.size_bytes + size <= MOST_BYTES

    def append(self, body: bytes, now: int) -> int:
        """Keep a body until it is acknowledged; return its number."""
        self.waiting.append(body)
        self.size_bytes += len(body)
        if self.due is None:
            self.due = now + self._wait
        return self.first + len(self.waiting) - 1

    def acknowledge(self, session: int, number: int, now: int) -> None:
        """Forget what the receiver has: everything before a number."""
        if session != self.session or number > self.first + len(self.waiting):
            return
        progressed = number > self.first
        while self.first < number:
            self.size_bytes -= len(self.waiting.popleft())
            self.first += 1
        if progressed:
            self._wait = _FIRST_WAIT
            self.due = now + self._wait if self.waiting else None

    def again(self, now: int) -> list[tuple[int, bytes]]:
        """Return what is to be sent again, from the first that is not acknowledged."""
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self.due = now + self._wait if self.waiting else None
        return [(self.first + index, body) for index, body in enumerate(self.waiting) if index < _AT_ONCE]


@dataclass(slots=True)
class Inbound:
    """The receiving end."""

    session: int = 0
    expected: int = 0

    def begins(self, session: int) -> bool:
        """Say whether a session is newer than the one that is known, and begin it."""
        if session <= self.session:
            return False
        self.session, self.expected = session, 0
        return True

    def is_next(self, session: int, number: int) -> bool:
        """Say whether this is what comes next; `taken` says that it was taken."""
        return session == self.session and number == self.expected

    def taken(self) -> None:
        """Go on to the next number."""
        self.expected += 1
