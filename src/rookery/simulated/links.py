"""Connections between processes: in order and reliable while both ends live and nothing is cut, as those of TCP are.

A message arrives after the latency of its link. A lost packet does not lose the message, it holds up the link until it
is sent again, after 200 ms and twice as long each time. Where a link is cut, messages wait for it to be whole again; a
connection that waits for longer than `silence` is given up by both ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

__all__ = ["LinkConditions", "Links"]

RETRANSMISSION = 200_000


@dataclass(frozen=True, slots=True)
class LinkConditions:
    """What lies between processes: one-way latency in microseconds, chance of loss per packet, how a death shows."""

    latency: Callable[[int, int], int] | int = 1_000
    loss: float = 0.0
    #: How long it takes until a message to a dead process comes back: at once where its machine refuses the connection,
    #: after a time where the machine is gone as well.
    refusal: int = 1_000
    #: Between a client and its broker.
    client_latency: int = 500
    #: How long a cut lasts until both ends give the connection up.
    silence: int = 18_000_000


class Links:
    """When what arrives, and where nothing does."""

    def __init__(self, conditions: LinkConditions, random: Random) -> None:
        self.conditions = conditions
        self._random = random
        self._arrivals: dict[tuple[Any, Any], int] = {}
        self._cut: set[tuple[Any, Any]] = set()

    def arrival(self, sender: Any, receiver: Any, now: int) -> int:
        """Return when a message that is sent now arrives: not before any that was sent before it."""
        conditions = self.conditions
        latency = conditions.latency
        if not (isinstance(sender, int) and isinstance(receiver, int)):
            when = now + conditions.client_latency
        else:
            when = now + (latency if isinstance(latency, int) else latency(sender, receiver))
        if conditions.loss:
            wait = RETRANSMISSION
            while self._random.random() < conditions.loss:
                when += wait
                wait *= 2
            when = max(when, self._arrivals.get((sender, receiver), 0))
            self._arrivals[sender, receiver] = when
        return when

    def cut(self, one: Any, other: Any, *, both_ways: bool = True) -> None:
        """Let nothing pass from one to the other, and back."""
        self._cut.add((one, other))
        if both_ways:
            self._cut.add((other, one))

    def mend(self, one: Any, other: Any) -> None:
        """Let everything pass again."""
        self._cut -= {(one, other), (other, one)}

    def is_cut(self, sender: Any, receiver: Any) -> bool:
        """Tell whether nothing passes from one to the other."""
        return (sender, receiver) in self._cut
