"""What lies between processes, by the kind of the receiver: streams as those of TCP, and datagrams as those of UDP.

A *stream* is in order and reliable while both ends live and nothing is cut. A lost packet does not lose the message, it
holds up the link until it is sent again, after 200 ms and twice as long each time. Where a link is cut, messages wait
for it to be whole again; a connection that waits for longer than `silence` is given up by both ends. With `duplication`
the connection sometimes breaks and is dialed again: what the other end had not confirmed is sent once more.

A *datagram* is alone: it may be lost, come twice, or be late by up to `jitter` and so be overtaken. What is sent into a
cut or to nobody is gone without a word. All receivers are reached so where the conditions say `datagrams`; addresses
of UDP (`rtps.locators.Address`) always are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from rookery.machine import ClientId
from rookery.rtps.locators import Address

__all__ = ["LinkConditions", "Links"]

RETRANSMISSION = 200_000
#: Messages of a stream that its receiver may not have confirmed when the connection breaks.
UNCONFIRMED = 8
#: After so long its receiver has confirmed a message: that goes with the heartbeat of the connection.
CONFIRMATION = 2_000_000


@dataclass(frozen=True, slots=True)
class LinkConditions:
    """What lies between processes: one-way latency in microseconds, chances per packet, how a death shows."""

    latency: Callable[[Any, Any], int] | int = 1_000
    #: How much later than that a message may be; those of a stream still keep their order.
    jitter: int = 0
    loss: float = 0.0
    duplication: float = 0.0
    #: Whether processes send each other datagrams, not streams.
    datagrams: bool = False
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
        self._unconfirmed: dict[tuple[Any, Any], deque[tuple[int, Any]]] = {}
        self._cut: set[tuple[Any, Any]] = set()

    def is_datagram(self, receiver: Any) -> bool:
        """Tell whether what is sent to a receiver goes as a datagram."""
        return self.conditions.datagrams or type(receiver) is Address

    def copies(self, sender: Any, receiver: Any, now: int) -> Iterable[int]:
        """Return when a datagram that is sent now arrives: once, twice or not at all, as where the link is cut."""
        if (sender, receiver) in self._cut:
            return ()
        conditions, random = self.conditions, self._random
        latency, loss, jitter = conditions.latency, conditions.loss, conditions.jitter
        if not isinstance(latency, int):
            latency = latency(sender, receiver)
        # Between addresses all chances are drawn, also those that are none: what else is drawn is then the same under
        # all conditions. Peers by number are many, and most of their worlds have no faults: nothing is drawn for none.
        draws = type(receiver) is Address
        if not (draws or conditions.duplication or loss or jitter):
            return (now + latency,)
        copies = 2 if (draws or conditions.duplication) and random.random() < conditions.duplication else 1
        return [
            now + latency + (random.randint(0, jitter) if draws or jitter else 0)
            for _ in range(copies)
            if not (draws or loss) or random.random() >= loss
        ]

    def arrival(self, sender: Any, receiver: Any, now: int) -> int:
        """Return when a message of a stream that is sent now arrives: not before any that was sent before it."""
        conditions = self.conditions
        latency = conditions.latency
        if isinstance(sender, ClientId) or isinstance(receiver, ClientId):
            when = now + conditions.client_latency
        else:
            when = now + (latency if isinstance(latency, int) else latency(sender, receiver))
        if conditions.loss or conditions.jitter:
            if conditions.jitter:
                when += self._random.randint(0, conditions.jitter)
            wait = RETRANSMISSION
            while self._random.random() < conditions.loss:
                when += wait
                wait *= 2
            when = max(when, self._arrivals.get((sender, receiver), 0))
            self._arrivals[sender, receiver] = when
        return when

    def held_up_until(self) -> int:
        """Return when the last message of a stream arrives that has been sent: a link that lost packets is held up."""
        return max(self._arrivals.values(), default=0)

    def repeated(self, sender: Any, receiver: Any, message: Any, now: int) -> list[Any]:
        """Return what is sent once more behind a message of a stream, because the connection broke: mostly nothing."""
        if not self.conditions.duplication:
            return []
        unconfirmed = self._unconfirmed.setdefault((sender, receiver), deque(maxlen=UNCONFIRMED))
        unconfirmed.append((now, message))
        while unconfirmed[0][0] + CONFIRMATION < now:
            unconfirmed.popleft()
        if self._random.random() >= self.conditions.duplication:
            return []
        return [sent for _, sent in list(unconfirmed)[-self._random.randint(1, len(unconfirmed)) :]]

    def forget(self, node: Any) -> None:
        """Forget the streams of a process that has ended."""
        for streams in (self._arrivals, self._unconfirmed):
            for pair in [pair for pair in streams if node in pair]:
                del streams[pair]

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
