"""What a client asks of the network that it is on: the same few verbs for DDS, brokers, the overlay and islands.

What only some networks have is asked for by options that the others refuse: a request carries them, and `refuse` says
why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from rookery.errors import ClientError, TopicError
from rookery.live.subscription import Overflow, Subscription
from rookery.model import Schema
from rookery.rtps.qos import STANDARD_CONSISTENCY, TypeConsistency
from rookery.rtps.types import CdrStruct

__all__ = [
    "AnySchema",
    "ClientTransport",
    "Condition",
    "DdsReaderOptions",
    "DdsWriterOptions",
    "LivelinessKind",
    "SubscriptionRequest",
    "check_schema",
    "refuse",
]

AnySchema: TypeAlias = Schema | CdrStruct | Mapping[str, object]
#: Who says that a writer is alive: its participant, its program for all such writers at once, or for this one.
LivelinessKind: TypeAlias = Literal["automatic", "manual by participant", "manual by topic"]
#: A WHERE clause and its parameters.
Condition: TypeAlias = tuple[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class DdsReaderOptions:
    """How a topic is read on DDS."""

    #: What the other side calls the type; the topic's own name unless said otherwise.
    type_name: str | None = None
    #: The attributes that tell instances apart.
    key: tuple[str, ...] = ()
    #: A reader that is not reliable also takes best-effort writers.
    reliable: bool = True
    #: Whether to get what transient-local writers kept from before.
    transient_local: bool = False
    #: Names or patterns of partitions; a reader and a writer meet that have one in common.
    partitions: tuple[str, ...] = ()
    #: How often an event of each instance is expected; one that does not come is a warning.
    seconds_of_deadline: float | None = None
    #: How soon a writer has to give a sign of life; one that gives none is a warning. And which signs count.
    seconds_of_liveliness: float | None = None
    liveliness: LivelinessKind = "automatic"
    #: How far apart the events of an instance have to be written; those between are left out.
    seconds_of_separation: float = 0.0
    #: Whether an instance belongs to the strongest of its writers, and what others write of it is left out.
    exclusive: bool = False
    #: Whether what was written before the last event of an instance is left out, whoever wrote it.
    by_source_time: bool = False
    #: What writers may take their time for; nothing waits here.
    seconds_of_latency_budget: float = 0.0
    #: How unlike the reader's the types of writers may be.
    type_consistency: TypeConsistency = STANDARD_CONSISTENCY
    #: Whether to keep account of the instances: `client.dds.instances`.
    instances: bool = False
    user_data: bytes = b""


@dataclass(frozen=True, slots=True)
class DdsWriterOptions:
    """How a topic is written on DDS."""

    type_name: str | None = None
    key: tuple[str, ...] = ()
    reliable: bool = True
    #: Whether to keep events for readers that come later.
    transient_local: bool = False
    #: How many events of each instance are kept; None keeps all that some reader has not acknowledged.
    keep_last: int | None = None
    #: The version of XCDR that is written, 1 or 2; by default 2 for types that may grow or have optional members.
    xcdr: int | None = None
    partitions: tuple[str, ...] = ()
    #: How often an event of each instance is promised; one that is not written is a warning.
    seconds_of_deadline: float | None = None
    #: How often a sign of life is promised, and who gives it; manual kinds need `assert_liveliness`, or events.
    seconds_of_liveliness: float | None = None
    liveliness: LivelinessKind = "automatic"
    #: Whether an instance belongs to the strongest of its writers, and how strong this one is.
    exclusive: bool = False
    strength: int = 0
    #: Whether readers may go by the time of writing.
    by_source_time: bool = False
    seconds_of_latency_budget: float = 0.0
    #: How long an event is worth sending to a reader that has not got it.
    seconds_of_lifespan: float | None = None
    user_data: bytes = b""


@dataclass(frozen=True, slots=True)
class SubscriptionRequest:
    """What a program wants of a topic: conditions by name, and how."""

    topic: str
    conditions: Mapping[str, Condition]
    overflow: Overflow
    #: Events that may wait at the client; None where the caller has not said.
    queue: int | None
    schema: AnySchema | None
    dds: DdsReaderOptions | None
    #: The name under which it outlives its program; None where it does not.
    durable: str | None = None


class ClientTransport(Protocol):
    """A way to a network. Everything is called in the client's loop."""

    #: How many events wait for a program where it has not said.
    default_queue: int
    #: Whether a subscription may outlive its program.
    has_durable: bool

    def subscribe(self, request: SubscriptionRequest, subscription: Subscription[Any]) -> None:
        """Begin to deliver to a subscription; raise for a request that cannot be."""

    def unsubscribe(self, subscription: Subscription[Any]) -> None:
        """Deliver to a subscription no more."""

    def taken(self, subscription: Subscription[Any], token: Any) -> None:
        """Learn that the program is done with what was delivered under a token."""

    def advertise(self, topic: str, schema: AnySchema, dds: DdsWriterOptions | None) -> None:
        """Say what will be published to a topic; raise where the network has another schema."""

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event, at once; raise `HistoryFullError` where too much waits already."""

    async def room(self, topic: str) -> None:
        """Wait until `publish` has room."""

    async def flush(self, topic: str | None, *, seconds: float) -> None:
        """Wait until what was published is accepted; raise `TimeoutError` if that takes longer."""

    async def close(self) -> None:
        """Leave the network."""


def refuse(what: str, *, network: str, instead: str) -> ClientError:
    """Return the error for an option that a network does not have."""
    return ClientError(f"{network} has no {what}: {instead}")


def check_schema(topic: str, given: AnySchema | None, known: Schema) -> None:
    """Raise `TopicError` where a caller takes the events of a topic for something else than they are."""
    if given is None:
        return
    if isinstance(given, CdrStruct):
        raise TopicError(f"the events of {topic!r} are described by a schema, not by an IDL struct; theirs is {known}")
    if (given if isinstance(given, Schema) else Schema.from_dict(given)) != known:
        raise TopicError(f"the topic {topic!r} has another schema on this network: {known}")
