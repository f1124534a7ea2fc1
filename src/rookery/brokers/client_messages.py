"""What a client and the broker that it is connected to say to each other.

The client speaks of subscriptions by names that are its own in the whole network (its number is part of them), and of
events by its number and their sequence. Whatever it says twice means the same as said once.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec

from rookery.brokers.batches import Accepted, DeliverBatch, EventBatch, Refused, Superseded
from rookery.brokers.versions import MOST_VERSION, Version
from rookery.space.zones import AxisCut, Path

__all__ = [
    "AskStatus",
    "Attach",
    "ClientAcknowledge",
    "DeliverToClient",
    "FromBroker",
    "FromClient",
    "KnownBrokers",
    "PublishBatch",
    "RequestZone",
    "Status",
    "Subscribe",
    "SubscribeMany",
    "Subscribed",
    "SubscribedMany",
    "SubscriptionRejected",
    "TransferZone",
    "Unsubscribe",
    "UnsubscribeMany",
    "Welcome",
]


class Subscribe(msgspec.Struct, frozen=True, array_like=True, tag=50):
    """I want the events that satisfy a condition; a greater version of the same name replaces it, or moves it here."""

    name: str
    version: Version
    where: str
    parameters: tuple[Any, ...] = ()
    #: Whether it outlives the broker that its client is attached to, for as long as one keeps a client that is away.
    durable: bool = False


class SubscribeMany(msgspec.Struct, frozen=True, array_like=True, tag=58):
    """All of that."""

    subscriptions: tuple[Subscribe, ...]


class Unsubscribe(msgspec.Struct, frozen=True, array_like=True, tag=51):
    """No more of that."""

    name: str


class UnsubscribeMany(msgspec.Struct, frozen=True, array_like=True, tag=59):
    """No more of all that."""

    names: tuple[str, ...]


class PublishBatch(msgspec.Struct, frozen=True, array_like=True, tag=52):
    """Publish these events."""

    batch: EventBatch


class ClientAcknowledge(msgspec.Struct, frozen=True, array_like=True, tag=53):
    """I have what was delivered under these keys."""

    keys: tuple[tuple[int, int], ...]


class Attach(msgspec.Struct, frozen=True, array_like=True, tag=57):
    """I am your client from now on: the first that a client says."""


class AskStatus(msgspec.Struct, frozen=True, array_like=True, tag=54):
    """How are you? With `sample` also: where do your events lie?"""

    sample: bool = False


class TransferZone(msgspec.Struct, frozen=True, array_like=True, tag=55):
    """Give your zone to the owner of its sibling, and wait so many seconds to be told of another one.

    With `back` both are to be cut there, and you get the upper part.
    """

    seconds: float
    back: AxisCut | None = None


class RequestZone(msgspec.Struct, frozen=True, array_like=True, tag=56):
    """Take the upper half of this zone, cut here; at its owner's median if nothing is said."""

    path: Path
    cut: AxisCut | None = None


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag=60):
    """What is served here, and by whom, this broker first; `version` is the greatest that you have used here."""

    topic: str
    schema: dict[str, Any]
    axes: tuple[list[Any], ...]
    brokers: tuple[int, ...]
    version: Annotated[int, msgspec.Meta(ge=0, le=MOST_VERSION)] = 0


class KnownBrokers(msgspec.Struct, frozen=True, array_like=True, tag=65):
    """These brokers serve your topic by now, beside me."""

    brokers: tuple[int, ...]


class Subscribed(msgspec.Struct, frozen=True, array_like=True, tag=61):
    """Every zone has your subscription, in this version."""

    name: str
    version: Version


class SubscribedMany(msgspec.Struct, frozen=True, array_like=True, tag=66):
    """Every zone has these subscriptions of yours, in these versions."""

    subscriptions: tuple[tuple[str, Version], ...]


class SubscriptionRejected(msgspec.Struct, frozen=True, array_like=True, tag=62):
    """That cannot be subscribed to, and why."""

    name: str
    reason: str


class DeliverToClient(msgspec.Struct, frozen=True, array_like=True, tag=63):
    """Events for you; say `ClientAcknowledge` with (owner, delivery.number)."""

    owner: int
    delivery: DeliverBatch


class Status(msgspec.Struct, frozen=True, array_like=True, tag=64):
    """How I am."""

    document: dict[str, Any]


FromClient: TypeAlias = (
    Attach
    | Subscribe
    | SubscribeMany
    | Unsubscribe
    | UnsubscribeMany
    | PublishBatch
    | ClientAcknowledge
    | AskStatus
    | TransferZone
    | RequestZone
)
FromBroker: TypeAlias = (
    Welcome
    | KnownBrokers
    | Subscribed
    | SubscribedMany
    | Superseded
    | SubscriptionRejected
    | DeliverToClient
    | Status
    | Accepted
    | Refused
)
