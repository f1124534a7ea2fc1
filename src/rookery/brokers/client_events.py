"""What a client tells the program around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rookery.brokers.client_messages import Welcome

__all__ = [
    "Attached",
    "BatchAccepted",
    "BatchRefused",
    "ClientEvent",
    "Delivered",
    "DeliveryKey",
    "GaveUp",
    "InForce",
    "StatusGiven",
    "SubscriptionFailed",
]

#: The owner and the number of a delivery: what is acknowledged.
DeliveryKey: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Attached:
    """A broker has let the client in."""

    welcome: Welcome


@dataclass(frozen=True, slots=True)
class GaveUp:
    """No broker has let the client in for as long as it was told to try."""


@dataclass(frozen=True, slots=True)
class InForce:
    """Every zone has every condition of a subscription: it gets all that is published from now on."""

    number: int


@dataclass(frozen=True, slots=True)
class SubscriptionFailed:
    """A subscription cannot be, and why."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """Matches of a subscription, none of which it has had; `acknowledge(number, key)` is to be said of them.

    `names`, `sequences` and `events` belong together, one for each match.
    """

    number: int
    key: DeliveryKey
    publisher: int
    names: Sequence[str]
    sequences: Sequence[int]
    events: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class BatchAccepted:
    """Events are safe: so many from a sequence number on, all that were published together but for those refused."""

    first: int
    count: int
    #: Which of them were refused, counted from the first.
    refused: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchRefused:
    """Events were not taken; where that is not final they are sent again."""

    first: int
    count: int
    reason: str
    final: bool
    #: Which of them, counted from the first; all of them where none are said.
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusGiven:
    """What the broker says of itself."""

    document: dict[str, Any]


ClientEvent: TypeAlias = (
    Attached | GaveUp | InForce | SubscriptionFailed | Delivered | BatchAccepted | BatchRefused | StatusGiven
)
