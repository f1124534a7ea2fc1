"""Which broker a client turns to: one at a time, and the next where that one is gone or does not answer.

Rule 1: of the brokers that are known the first is asked. Who is let in keeps it at the front, before those that it
names, and these before all that were known earlier. Who is not goes to the next one, after a pause that grows.
Rule 2: a broker that says nothing is passed over: a client whose list is old would else wait for each machine that is
gone until its connection is given up. When all were tried each has twice as long, for they may be only slow; and the
only one that is known has as long as its connection lasts.
Rule 3: who has had no broker for longer than his patience gives up when the next connection is lost.

Brokers are known by whatever the driver can reach them by.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

__all__ = ["Seeking"]

SECOND = 1_000_000
#: Brokers remembered.
MOST_BROKERS = 32
#: Between two attempts: at first, and at last.
FIRST_PAUSE, LAST_PAUSE = SECOND // 20, SECOND
#: How long a broker has to let a client in that knows of others: at first, and at last.
FIRST_ANSWER, LAST_ANSWER = 2 * SECOND, 32 * SECOND


class Seeking:
    """The brokers that one client knows, and the one that it has or has asked."""

    __slots__ = (
        "_alone_since",
        "_answer",
        "_answer_until",
        "_next_attempt",
        "_patience",
        "_pause",
        "_tried",
        "broker",
        "brokers",
        "is_attached",
    )

    def __init__(self, brokers: Iterable[Hashable], *, patience: int) -> None:
        self.brokers: list[Any] = list(brokers)
        #: The broker that was asked to let this client in, and whether it has; None between two.
        self.broker: Any = None
        self.is_attached = False
        self._patience = patience
        self._alone_since = 0
        self._pause = FIRST_PAUSE
        self._next_attempt: int | None = None
        #: Until when the broker that was asked has to answer, how long each has, and how many were tried in vain.
        self._answer_until = 0
        self._answer = FIRST_ANSWER
        self._tried = 0

    def begin(self, now: int) -> None:
        """Count the time without a broker from here."""
        self._alone_since = now

    def ask(self, now: int) -> Any:
        """Turn to the first broker; return which that is."""
        self._next_attempt = None
        self._answer_until = now + self._answer
        self.broker = self.brokers[0]
        return self.broker

    def welcomed(self, others: Iterable[int]) -> None:
        """The broker that was asked has let this client in, and names others."""
        self.is_attached = True
        self._pause, self._answer, self._tried = FIRST_PAUSE, FIRST_ANSWER, 0
        self.learn(others)

    def learn(self, others: Iterable[int]) -> None:
        """Remember brokers; the one that is attached to stays the first, under the name that it was reached by."""
        self.brokers = list(dict.fromkeys([self.broker, *others, *self.brokers]))[:MOST_BROKERS]

    def lost(self, now: int) -> bool:
        """The connection is gone, or could not be made; say whether there is still patience for another one."""
        if self.is_attached:
            self._alone_since = now
        self._turn_to_next(now)
        return now - self._alone_since <= self._patience

    def pass_over(self, now: int) -> Any:
        """Try another broker if the present one has had its time; return which did not answer, or None."""
        silent = self.broker
        if not self._is_kept_waiting or now < self._answer_until:
            return None
        self._turn_to_next(now)
        return silent

    def is_due(self, now: int) -> bool:
        """Tell whether it is time to ask."""
        return self._next_attempt is not None and self._next_attempt <= now

    def timer(self) -> int | None:
        """Return when to ask, or to pass somebody over."""
        return self._answer_until if self._is_kept_waiting else self._next_attempt

    @property
    def _is_kept_waiting(self) -> bool:
        """Whether a broker was asked that has not answered, and there are others."""
        return self.broker is not None and not self.is_attached and len(self.brokers) > 1

    def _turn_to_next(self, now: int) -> None:
        self.broker, self.is_attached = None, False
        self.brokers.append(self.brokers.pop(0))
        self._next_attempt = now + self._pause
        self._pause = min(LAST_PAUSE, self._pause * 3 // 2)
        self._tried += 1
        if self._tried % len(self.brokers) == 0:
            self._answer = min(LAST_ANSWER, 2 * self._answer)
