"""Flooding: every event goes to every broker. The oracle of routing, since nothing can be simpler or miss less.

A broker passes an event on to all its peers the first time that it sees it, and matches it against the subscriptions of
its own clients. No zones, no tables: one message per link and event, which is what the other routers are there to save.
An event is acknowledged by nobody: it is with everyone as soon as the messages are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from rookery.brokers.messages import EventId
from rookery.matching import matcher
from rookery.model.schema import Schema

__all__ = ["Flood", "FloodingBroker", "Reached"]

#: Events remembered so that none is passed on twice.
REMEMBERED = 1 << 16


class Flood(msgspec.Struct, frozen=True, array_like=True, tag=40):
    """An event on its way to everyone."""

    event_id: EventId
    event: dict[str, Any]
    hops: int


class Reached(NamedTuple):
    """An event has come to the broker of a client that wants it."""

    subscription_id: str
    event_id: EventId
    event: Mapping[str, Any]
    hops: int


class FloodingBroker:
    """A broker that knows its peers and nothing else."""

    def __init__(self, broker_id: int, schema: Schema, peers: Iterable[int] = ()) -> None:
        self.id = broker_id
        self.peers = list(peers)
        self._clients = matcher(schema)
        self._seen: dict[EventId, None] = {}
        self._outbox: list[tuple[int, Flood]] = []
        self._events: deque[Reached] = deque()
        self._sequence = 0

    def subscribe(self, subscription_id: str, where: str) -> None:
        """Subscribe a client of this broker."""
        self._clients.add(subscription_id, where)

    def unsubscribe(self, subscription_id: str) -> None:
        """End a client's subscription."""
        self._clients.remove(subscription_id)

    def publish(self, event: Mapping[str, Any]) -> EventId:
        """Send an event to everyone."""
        self._sequence += 1
        event_id = (self.id, self._sequence)
        self._take(Flood(event_id, dict(event), 0), sender=self.id)
        return event_id

    def receive(self, message: Flood, sender: int, now: int) -> None:
        """Take an event in."""
        self._take(message, sender)

    def messages_to_send(self) -> list[tuple[int, Flood]]:
        """Return what is to be sent, each with its receiver, and forget it."""
        sent, self._outbox = self._outbox, []
        return sent

    def next_event(self) -> Reached | None:
        """Return the next event for the program, or None."""
        return self._events.popleft() if self._events else None

    def _take(self, message: Flood, sender: int) -> None:
        if message.event_id in self._seen:
            return
        self._seen[message.event_id] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        for name in self._clients.match(message.event):
            self._events.append(Reached(str(name), message.event_id, message.event, message.hops))
        onward = Flood(message.event_id, message.event, message.hops + 1)
        self._outbox += [(peer, onward) for peer in self.peers if peer != sender]
