"""What a broker tells the program around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rookery.routing.brokers.messages import EventId
from rookery.routing.brokers.parcels import Notice, Parcel
from rookery.routing.brokers.zones import Path

__all__ = [
    "Acknowledged",
    "BrokerEvent",
    "Delivered",
    "Handed",
    "Isolated",
    "JoinFailed",
    "Joined",
    "Left",
    "MessageRejected",
    "ParcelAccepted",
    "ParcelRefused",
    "SubscriptionPlaced",
    "SubscriptionSuperseded",
    "Write",
]


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


@dataclass(frozen=True, slots=True)
class Write:
    """Write these to the log, then call `stored(token)`: parcels by owner and part, and which are done with.

    Without a token nobody waits for it.
    """

    token: int | None
    entries: tuple[tuple[int, int, Parcel], ...]
    done: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Handed:
    """Events for a client of this broker; it is to confirm (owner, notice.part)."""

    client: int
    owner: int
    notice: Notice


@dataclass(frozen=True, slots=True)
class ParcelAccepted:
    """Events of a parcel published here are safe; all of them where no offsets are said."""

    publisher: int
    first: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ParcelRefused:
    """A parcel published here was not taken; where that is not final it may be offered again."""

    publisher: int
    first: int
    reason: str
    final: bool = True


@dataclass(frozen=True, slots=True)
class SubscriptionPlaced:
    """Every zone has the subscription: its client gets every event published from now on."""

    subscription_id: str
    version: int


@dataclass(frozen=True, slots=True)
class SubscriptionSuperseded:
    """Some zone stores another version of the subscription, as great or greater: subscribe again above it."""

    subscription_id: str
    version: int
    stored: int


BrokerEvent: TypeAlias = (
    Joined
    | JoinFailed
    | Isolated
    | Left
    | Delivered
    | Acknowledged
    | MessageRejected
    | Write
    | Handed
    | ParcelAccepted
    | ParcelRefused
    | SubscriptionPlaced
    | SubscriptionSuperseded
)
