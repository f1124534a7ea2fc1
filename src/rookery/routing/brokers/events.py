"""What a broker tells the program around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rookery.routing.brokers.messages import EventId
from rookery.routing.brokers.zones import Path

__all__ = ["Acknowledged", "BrokerEvent", "Delivered", "Isolated", "JoinFailed", "Joined", "Left", "MessageRejected"]


@dataclass(frozen=True, slots=True)
class Joined:
    """The broker owns a zone now."""

    path: Path


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """The broker asked for a zone is gone: `join` again through another one."""

    bootstrap: int


@dataclass(frozen=True, slots=True)
class Isolated:
    """Everyone the broker knew is gone. It may be the last one; if not, `introduce` it to another."""


@dataclass(frozen=True, slots=True)
class Left:
    """The broker has handed over all it had; its process may end."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """An event for a client of this broker."""

    subscription_id: str
    event_id: EventId
    event: Mapping[str, Any]
    hops: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An event published here was matched, and everyone who wants it has it."""

    event_id: EventId


@dataclass(frozen=True, slots=True)
class MessageRejected:
    """A peer sent what cannot be: points or boxes of another space."""

    sender: int
    kind: str


BrokerEvent: TypeAlias = Joined | JoinFailed | Isolated | Left | Delivered | Acknowledged | MessageRejected
