"""DDS as a client's network: a participant on UDP, its topics, and who of the subscriptions wants what arrives.

Rule 1: a subscription that makes writers wait has a reader which acknowledges no more when `queue` events wait for the
program, and soon takes in no more. A keep-all writer then holds the rest and, when its history is full, so does its
program; a writer that keeps the last n lets go of what waits too long, and a best-effort reader makes nobody wait, so
there it is refused.
Rule 2: what this node publishes reaches its own subscriptions at once, and `publish` raises where one of them that
makes writers wait is full.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from ipaddress import IPv4Network
from typing import Any

from rookery.discovery import warm as warm_discovery
from rookery.errors import ClientError, HistoryFullError, TopicError
from rookery.live.lapses import warn_of_lapse
from rookery.live.subscription import Subscription
from rookery.live.transport import (
    AnySchema,
    DdsReaderOptions,
    DdsWriterOptions,
    LivelinessKind,
    SubscriptionRequest,
)
from rookery.live.udp import UdpParticipant, open_participant
from rookery.participant.event_types import EventType, event_type, infer_schema
from rookery.participant.exchange import Delivery, Exchange, warm
from rookery.participant.instances import InstanceChanged, InstanceState
from rookery.rtps.events import (
    DeadlineMissed,
    Event,
    LivelinessChanged,
    LivelinessLost,
    MessageRejected,
    QualityIncompatible,
    SampleKind,
    SampleReceived,
    SampleSuperseded,
    TypeIncompatible,
)
from rookery.rtps.identity import Guid
from rookery.rtps.limits import Limits
from rookery.rtps.locators import Address
from rookery.rtps.qos import (
    INFINITE,
    XCDR1,
    XCDR2,
    DestinationOrder,
    Durability,
    Liveliness,
    Ownership,
    QualityOfService,
    Reliability,
)
from rookery.rtps.sequences import SET_BITS
from rookery.rtps.types import CdrForeign, CdrStruct

__all__ = ["DdsOptions", "DdsTransport", "open_dds", "participant_options", "warmed"]

_LOG = logging.getLogger("rookery.live")
#: Seconds between two looks at acknowledgments: they are no events.
_LOOK = 0.005
#: Events that a program may publish in one turn of the loop before they are sent.
_UNSENT = 256
_XCDR = {None: None, 1: XCDR1, 2: XCDR2}
_LIVELINESS = {one.name.lower().replace("_", " "): one for one in Liveliness}


@dataclass(frozen=True, slots=True)
class DdsOptions:
    """How to be in a DDS domain; on loopback, unless another interface is named."""

    #: By name or IPv4 address; several have commas between them: `eth0,wlan0`.
    interface: str = "lo"
    name: str = ""
    #: What is said of the participant to others, who see it in `rookery ps`; at most 1,024 bytes.
    user_data: bytes = b""
    seconds_of_lease: float = 10.0
    #: `simple` announces everything to everyone; `ribbon`, `cuckoo`, `tree`, `bloom` and `hashes` announce a summary,
    #: and endpoints to those who may want them; `cuckoo:patent` is the setting of seed 001.
    discovery: str = "simple"
    #: What matches events that arrive, as in `rookery.matcher`.
    engine: str = "bitmap"
    #: Where peers may live: by default the network behind each interface, and for loopback 127.0.0.0/8.
    networks: tuple[IPv4Network, ...] | None = None
    #: Whom to look for, as `10.0.0.7` or `10.0.0.7:7410`; without `multicast` nobody else is told of this participant.
    initial_peers: tuple[Address | str, ...] = ()
    multicast: bool = True
    #: Whether samples that several want who listen to the domain's group are sent there once, and are heard there.
    multicast_data: bool = False
    multicast_hops: int = 1
    limits: Limits | None = None
    #: Whether to hear of every endpoint of the domain.
    observer: bool = False
    #: Seals the announcements of all who share it.
    pre_shared_key: bytes | None = None


class DdsTransport:
    """A member of a DDS domain; made by `open_dds`."""

    default_queue = 10_000
    has_durable = False

    def __init__(
        self, open_udp: Callable[[Callable[[Event], None]], UdpParticipant], *, engine: str = "bitmap"
    ) -> None:
        #: By the exchange's id: whose it is, and the name of the condition.
        self._subscribers: dict[int, tuple[Subscription[Any], str]] = {}
        self._ids: dict[Subscription[Any], list[int]] = {}
        #: What waits for subscriptions that make writers wait, and is not acknowledged.
        self._unacknowledged: dict[Subscription[Any], deque[Delivery]] = {}
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._is_settling = False
        self._writing: set[str] = set()
        #: Events published since the participant was last made to send.
        self._unsent = 0
        #: How often no event of some instance came or was written in time, by topic.
        self.missed_deadlines: Counter[str] = Counter()
        #: How often a writer gave no sign of life in time, by topic; those of this client, too.
        self.lost_liveliness: Counter[str] = Counter()
        #: Called when a writer that is read gives no sign of life in time, or gives one again.
        self.on_liveliness: Callable[[LivelinessChanged], None] | None = None
        #: Called when an instance of a topic that is read with them is in another state.
        self.on_instance: Callable[[InstanceChanged], None] | None = None
        self.udp = open_udp(self._on_event)
        self._exchange = Exchange(self.udp.participant, engine=engine)

    def subscribe(self, request: SubscriptionRequest, subscription: Subscription[Any]) -> None:
        """Read a topic, with a reader that its subscriptions share."""
        options = request.dds or DdsReaderOptions()
        if request.schema is None:
            raise TopicError(
                f"what the events of {request.topic!r} are is not known: give schema=…, or learn it from a writer: "
                f"schema=await client.dds.learn({request.topic!r})"
            )
        if request.overflow == "wait" and not options.reliable:
            raise ClientError("a best-effort reader makes no writer wait: overflow='drop-oldest', or read it reliable")
        kind = event_type(request.schema, type_name=options.type_name or request.topic, key=options.key)
        qos = replace(
            _quality(reliable=options.reliable, transient_local=options.transient_local, depth=None),
            partitions=options.partitions,
            deadline=_microseconds(options.seconds_of_deadline),
            liveliness=_liveliness(options.liveliness),
            liveliness_lease=_microseconds(options.seconds_of_liveliness),
            minimum_separation=round(options.seconds_of_separation * 1_000_000),
            user_data=options.user_data,
            type_consistency=options.type_consistency,
            **_between_writers(options),
        )
        ids: list[int] = []
        try:
            for name, (where, parameters) in request.conditions.items():
                number = self._exchange.subscribe(
                    request.topic,
                    where,
                    type=kind,
                    qos=qos,
                    now=self.udp.now(),
                    parameters=parameters or None,
                    at_most=max(subscription.queue, SET_BITS) if request.overflow == "wait" else None,
                    with_instances=options.instances,
                )
                ids.append(number)
                self._subscribers[number] = (subscription, name)
        except BaseException:
            self._withdraw(ids)
            raise
        self._ids[subscription] = ids
        if request.overflow == "wait":
            self._unacknowledged[subscription] = deque()
        subscription.come_into_force()
        self.udp.flush()

    def unsubscribe(self, subscription: Subscription[Any]) -> None:
        """Read for a subscription no more."""
        self._unacknowledged.pop(subscription, None)
        self._withdraw(self._ids.pop(subscription))
        self._settle_soon()

    def taken(self, subscription: Subscription[Any], token: Delivery) -> None:
        """Acknowledge as much of what waits as there is room for now."""
        unacknowledged = self._unacknowledged.get(subscription)
        while unacknowledged and subscription.waiting - len(unacknowledged) < subscription.queue:
            self._exchange.taken(unacknowledged.popleft())
        if self._exchange.is_settling_due:
            self._settle_soon()

    def ids_of(self, subscription: Subscription[Any]) -> list[int]:
        """Return the ids of a subscription's conditions, in their order."""
        return self._ids[subscription]

    def advertise(self, topic: str, schema: AnySchema, dds: DdsWriterOptions | None) -> None:
        """Make the writer of a topic, so that readers find it before the first event."""
        options = dds or DdsWriterOptions()
        if options.xcdr not in _XCDR:
            raise TopicError(f"xcdr={options.xcdr!r}: give 1 or 2, or leave it out")
        kind = event_type(
            schema,
            type_name=options.type_name or topic,
            key=options.key,
            representation=_XCDR[options.xcdr],
        )
        self._advertise(
            topic,
            kind,
            replace(
                _quality(reliable=options.reliable, transient_local=options.transient_local, depth=options.keep_last),
                partitions=options.partitions,
                deadline=_microseconds(options.seconds_of_deadline),
                liveliness=_liveliness(options.liveliness),
                liveliness_lease=_microseconds(options.seconds_of_liveliness),
                lifespan=_microseconds(options.seconds_of_lifespan),
                user_data=options.user_data,
                ownership_strength=options.strength,
                **_between_writers(options),
            ),
        )

    def dispose(self, topic: str, event: Mapping[str, Any]) -> None:
        """Say that what an event's instance stood for is gone; the keys of the event are enough."""
        self._exchange.end(topic, event, SampleKind.DISPOSED, now=self.udp.now())
        self.udp.flush()

    def unregister(self, topic: str, event: Mapping[str, Any]) -> None:
        """Say that this client writes an event's instance no more; the keys of the event are enough."""
        self._exchange.end(topic, event, SampleKind.UNREGISTERED, now=self.udp.now())
        self.udp.flush()

    def assert_liveliness(self, topic: str | None = None) -> None:
        """Say that this program is alive: as the writer of a topic, or of all that are manual by participant."""
        writer = None if topic is None else self._writer(topic)
        self.udp.participant.assert_liveliness(self.udp.now(), writer=writer)
        self.udp.flush()

    def instances(self, topic: str) -> list[tuple[dict[str, Any], InstanceState]]:
        """Return the instances of a topic that is read with `DdsReaderOptions(instances=True)`, each by its keys."""
        return self._exchange.instances_of(topic)

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event; the first one of a topic that was not advertised shows the type."""
        if topic not in self._writing:
            kind = self._exchange.type_of(topic) or event_type(infer_schema(event), type_name=topic)
            self._advertise(topic, kind, _quality(reliable=True, transient_local=False, depth=None))
        if self._ids:
            if self._is_full_here(topic):
                raise HistoryFullError(f"a subscription of this client to {topic!r} is full: take from it first")
            self._exchange.publish(topic, event, now=self.udp.now())
            self.udp.flush()  # its own subscriptions have it at once
            return
        # What is published in one turn of the loop shares datagrams; a program that does not let go of the loop does
        # not make it wait for ever.
        self._exchange.publish(topic, event, now=self.udp.flush_soon())
        self._unsent += 1
        if self._unsent >= _UNSENT:
            self._unsent = 0
            self.udp.flush()

    async def room(self, topic: str) -> None:
        """Wait until the writer's history has room."""
        participant, writer = self.udp.participant, self._exchange.writer_of(topic)
        while self._is_full_here(topic) or (writer is not None and not participant.has_room(writer)):
            if writer is not None and participant.is_acknowledged(writer) and not participant.has_room(writer):
                raise HistoryFullError(
                    f"the writer of {topic!r} keeps all events for readers to come, and has no room for more: keep the "
                    "last n with DdsWriterOptions(keep_last=n)"
                )
            await asyncio.sleep(_LOOK)

    async def flush(self, topic: str | None, *, seconds: float) -> None:
        """Wait until every reliable reader has everything."""
        participant = self.udp.participant
        writers = [self._writer(one) for one in (self._writing if topic is None else (topic,))]
        async with asyncio.timeout(seconds):
            while not all(participant.is_acknowledged(writer) for writer in writers):
                await asyncio.sleep(_LOOK)

    async def wait_for_readers(self, topic: str, *, count: int = 1, seconds: float = 10.0) -> None:
        """Wait until so many readers of the topic listen; raise `TimeoutError` if that takes longer.

        A reader that we know may not know us yet, and drops what we send: a reliable one counts from its first
        acknowledgment on. A best-effort reader never says anything, and counts as soon as it is matched.
        """
        writer = self._writer(topic)
        async with asyncio.timeout(seconds):
            while len(self.udp.participant.attentive(writer)) < count:
                await asyncio.sleep(_LOOK)

    async def learn(self, topic: str, *, seconds: float | None = None) -> CdrStruct:
        """Return the type that some endpoint of a topic announces; wait for one, `TimeoutError` if it takes too long.

        Participants that go by summaries tell of their endpoints to who has a counterpart: to learn from them, be an
        `observer`. Raise `TopicError` for a type that is announced in a way that cannot be read.
        """
        async with asyncio.timeout(seconds):
            while True:
                for remote in self.udp.participant.remote_endpoints:
                    if remote.announcement.topic != topic:
                        continue
                    found = self.udp.participant.announced_type(remote.announcement.guid, self.udp.now())
                    if isinstance(found, CdrStruct):
                        return replace(found, name=remote.announcement.type_name)
                    if isinstance(found, CdrForeign):
                        raise TopicError(f"the type of {topic!r} is {found.kind}: give schema=…")
                self.udp.flush()
                self._changed.clear()
                await self._changed.wait()

    async def close(self) -> None:
        """Leave the domain."""
        await self.udp.close()

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _withdraw(self, ids: Iterable[int]) -> None:
        for number in ids:
            del self._subscribers[number]
            self._exchange.unsubscribe(number, self.udp.now())

    def _advertise(self, topic: str, kind: EventType, qos: QualityOfService) -> None:
        self._exchange.advertise(topic, type=kind, qos=qos, now=self.udp.now())
        self._writing.add(topic)
        self.udp.flush()

    def _writer(self, topic: str) -> Guid:
        writer = self._exchange.writer_of(topic)
        if writer is None:
            raise TopicError(f"this client does not publish to {topic!r}")
        return writer

    def _topic_of(self, endpoint: Guid) -> str:
        announced = self.udp.participant.endpoint(endpoint)
        return "" if announced is None else announced.topic

    def _is_full_here(self, topic: str) -> bool:
        return any(one.topic == topic and one.overflow == "wait" and one.waiting >= one.queue for one in self._ids)

    def _settle_soon(self) -> None:
        if not self._is_settling:
            self._is_settling = True
            self._loop.call_soon(self._settle)

    def _settle(self) -> None:
        self._is_settling = False
        self._exchange.settle(self.udp.now())
        self.udp.flush()

    def _on_event(self, event: Event) -> None:
        if type(event) is SampleReceived:
            self._on_sample(event)
        else:
            self._on_other(event)

    def _on_sample(self, event: SampleReceived | SampleSuperseded) -> None:
        for delivery in self._exchange.take(event):
            subscription, name = self._subscribers[delivery.subscription_id]
            unacknowledged = self._unacknowledged.get(subscription)
            if unacknowledged is None:
                subscription.deliver((name,), (delivery.event,))
            else:
                unacknowledged.append(delivery)
                subscription.deliver((name,), (delivery.event,), delivery)
                self.taken(subscription, delivery)
        if self._exchange.is_settling_due:
            self._settle_soon()
        self._note_instances(event)

    def _note_instances(self, event: Event) -> None:
        for changed in self._exchange.instance_changes(event):
            if self.on_instance is not None:
                self.on_instance(changed)

    def _note_liveliness(self, event: LivelinessChanged) -> None:
        topic = self._topic_of(event.reader)
        if not event.alive:
            self.lost_liveliness[topic] += 1
        warn_of_lapse(event, topic)
        if self.on_liveliness is not None:
            self.on_liveliness(event)

    def _on_other(self, event: Event) -> None:
        if isinstance(event, SampleSuperseded):
            self._on_sample(event)
            return
        self._note_instances(event)
        if isinstance(event, DeadlineMissed):
            topic = self._topic_of(event.endpoint)
            self.missed_deadlines[topic] += 1
            warn_of_lapse(event, topic)
        elif isinstance(event, LivelinessChanged):
            self._note_liveliness(event)
        elif isinstance(event, LivelinessLost):
            topic = self._topic_of(event.writer)
            self.lost_liveliness[topic] += 1
            warn_of_lapse(event, topic)
        elif isinstance(event, QualityIncompatible):
            _LOG.warning("no match with %s: %s", event.remote, ", ".join(event.policies))
        elif isinstance(event, TypeIncompatible):
            _LOG.warning("no match with %s: %s", event.remote, event.reason)
        elif isinstance(event, MessageRejected):
            _LOG.info("message from %s rejected: %s", event.sender, event.reason)
        self._changed.set()


def _liveliness(kind: LivelinessKind) -> Liveliness:
    found = _LIVELINESS.get(kind)
    if found is None:
        raise TopicError(f"liveliness {kind!r}: say {', '.join(_LIVELINESS)}")
    return found


def _between_writers(options: DdsReaderOptions | DdsWriterOptions) -> dict[str, Any]:
    """Return the policies that say which of several writers counts, and how soon."""
    return {
        "ownership": Ownership.EXCLUSIVE if options.exclusive else Ownership.SHARED,
        "destination_order": DestinationOrder.BY_SOURCE if options.by_source_time else DestinationOrder.BY_RECEPTION,
        "latency_budget": round(options.seconds_of_latency_budget * 1_000_000),
    }


def _microseconds(seconds: float | None) -> int:
    return INFINITE if seconds is None else round(seconds * 1_000_000)


def _quality(*, reliable: bool, transient_local: bool, depth: int | None) -> QualityOfService:
    return QualityOfService(
        reliability=Reliability.RELIABLE if reliable else Reliability.BEST_EFFORT,
        durability=Durability.TRANSIENT_LOCAL if transient_local else Durability.VOLATILE,
        history_depth=depth,
    )


async def open_dds(domain_id: int, options: DdsOptions) -> DdsTransport:
    """Join a DDS domain."""
    await warmed(options)
    return DdsTransport(
        lambda on_event: open_participant(on_event=on_event, domain_id=domain_id, **participant_options(options)),
        engine=options.engine,
    )


async def warmed(options: DdsOptions) -> None:
    """Compile before the first announcement: whoever is announced must not fall silent while it does."""
    await asyncio.to_thread(warm, options.engine)
    await asyncio.to_thread(warm_discovery, options.discovery)


def participant_options(options: DdsOptions) -> dict[str, Any]:
    """Return the options as `open_participant` takes them."""
    found = {field.name: getattr(options, field.name) for field in fields(options)}
    del found["engine"]
    return found | {"lease": round(found.pop("seconds_of_lease") * 1_000_000)}
