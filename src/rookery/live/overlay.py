"""The overlay as a client's network: be a peer, one among others; no broker anywhere.

Rule 1: a node is on one topic. What it wants is the union of its subscriptions; its peer matches an event once, and the
event is handed to every subscription whose condition it satisfies, and to none else.
Rule 2: other interests mean another place on the rings. The node first joins as a second peer, with the new interests,
and leaves as the first one only then, so that the subscriptions which stay miss nothing; what comes to one of them
twice in between is dropped. To enter a subscription's `async with` waits until the peers around know of it.
Subscriptions made together are one move, and those made right after opening are part of the first join; what is
published before that waits.
Rule 3: the address that others join through stays: when the peer has moved to another port, a listener there names it.
Rule 4: no subscription makes others wait: a peer passes events on for its neighbors, and who waits for one would wait
for all that is behind it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rookery.errors import ClientError, HistoryFullError, JoinError, SchemaError, TopicError
from rookery.live.admission import check_exposure
from rookery.live.credentials import Credentials
from rookery.live.overlay_peer import BootstrapListener, LivePeer, peer_settings, reserve_port, who_is
from rookery.live.subscription import Subscription
from rookery.live.tcp import Address
from rookery.live.transport import AnySchema, DdsWriterOptions, SubscriptionRequest, check_schema, refuse
from rookery.machine.dedup import DedupWindow
from rookery.model import Schema
from rookery.model.events import read_value
from rookery.model.schema import Attribute
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.dissemination import Deliver
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.interests import Condition, WhereInterests
from rookery.overlay.messages import EventId
from rookery.overlay.packed import PackedInterests, pack, unpack
from rookery.space.grid import Grid

__all__ = ["OverlayOptions", "OverlayTransport", "network_name", "open_overlay"]

_LOG = logging.getLogger("rookery.live")
#: Deliveries remembered so that no subscription gets an event twice while two peers of a node overlap.
_DEDUP_WINDOW = 1 << 16
#: Seconds in which subscriptions are made together.
_TOGETHER = 0.01
#: Events published here that may wait to be taken in, and seconds between two looks at how many do.
_MOST_UNSENT = 65_536
_LOOK = 0.005
#: Seconds to wait for somebody to answer at the addresses to join through.
_PATIENCE = 2.0


def network_name(topic: str, schema: Schema, grid: Grid, space: SemanticSpace) -> str:
    """Return what all peers of an overlay must agree on, as a short digest."""
    axes = [(axis.name, list(getattr(axis, "values", ())), list(getattr(axis, "edges", ()))) for axis in grid.axes]
    agreed = (topic, schema.to_dict(), axes, space.bit_count, space.hash_count)
    return hashlib.blake2b(msgspec.json.encode(agreed), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class OverlayOptions:
    """What all peers of an overlay agree on (topic, schema, grid), and how to be one of them."""

    topic: str
    schema: Schema
    grid: Grid
    #: Where this peer listens, and the IPv4 address at which others reach it, if that is not the same.
    listen: Address = ("127.0.0.1", 0)
    host: str | None = None
    configuration: OverlayConfiguration = field(default_factory=OverlayConfiguration)
    #: With a key, or certificates of one authority, strangers stay out.
    credentials: Credentials = field(default_factory=Credentials)
    #: Whether other machines may reach this peer without TLS.
    insecure: bool = False

    def __post_init__(self) -> None:
        check_exposure(self.listen[0], has_tls=self.credentials.listening is not None, insecure=self.insecure)


class OverlayTransport:
    """A peer of the overlay and its subscriptions; made by `open_overlay`."""

    default_queue = 10_000
    has_durable = False

    def __init__(
        self, options: OverlayOptions, *, join: Iterable[Address], bit_count: int = 1024, hash_count: int = 4
    ) -> None:
        self.topic = options.topic
        self.schema = options.schema
        self.grid = options.grid
        self.space = SemanticSpace(cell_count=self.grid.cell_count, bit_count=bit_count, hash_count=hash_count)
        self.network = network_name(self.topic, self.schema, self.grid, self.space)
        self._peer: LivePeer | None = None
        self._early: list[bytes] = []
        self._listen, self._host, self._join = options.listen, options.host or options.listen[0], tuple(join)
        self._configuration = options.configuration
        self._credentials = options.credentials
        self._attributes = _comparable_attributes(self.schema)
        self._conditions: dict[str | int, Condition] = {}
        #: By the number of a condition: whose it is, and its name there.
        self._subscribers: dict[int, tuple[Subscription[Any], str]] = {}
        #: The turn of `_wanted` in which a subscription was made, until it is in effect.
        self._new: dict[Subscription[Any], int] = {}
        self._number = 0
        self._wanted = self._done = 0
        self._change, self._progress = asyncio.Event(), asyncio.Condition()
        self._handed_over: DedupWindow[tuple[EventId, int], None] = DedupWindow(_DEDUP_WINDOW)
        self._bootstrap: BootstrapListener | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Join; raise `JoinError` where none of the given addresses answers."""
        found = await self._ask_around(patience=_PATIENCE)
        if self._join and not found:
            named = ", ".join(f"{host}:{port}" for host, port in self._join)
            raise JoinError(f"nobody of this overlay answers at {named}: is a node running, of this topic and space?")
        self._listen = (self._listen[0], reserve_port(self._listen))
        self._want()
        self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._stay_introduced())]

    @property
    def peer(self) -> LivePeer:
        """The peer that this node is now; there is one when `settled` has returned."""
        if self._peer is None:
            raise JoinError("this peer has not joined yet: await its `settled` first")
        return self._peer

    @property
    def address(self) -> Address:
        """Where others may join through this node."""
        return self._host, self._listen[1]

    def subscribe(self, request: SubscriptionRequest, subscription: Subscription[Any]) -> None:
        """Want the events of some more conditions."""
        self._check(request.topic)
        check_schema(request.topic, request.schema, self.schema)
        if request.dds is not None:
            raise refuse("DDS options", network="an overlay", instead="leave dds= away")
        if request.overflow == "wait":
            raise ClientError(
                "no peer waits for a subscription: it passes events on for others, which would wait with it; say "
                "overflow='drop-oldest'"
            )
        numbered: dict[str | int, tuple[str, Condition]] = {
            self._number + place: entry for place, entry in enumerate(request.conditions.items(), 1)
        }
        conditions = {number: condition for number, (_, condition) in numbered.items()}
        WhereInterests(self.schema, self.grid, conditions)  # a bad one raises here, with its place
        self._number += len(numbered)
        self._conditions |= conditions
        self._subscribers |= {int(number): (subscription, name) for number, (name, _) in numbered.items()}
        self._want()
        self._new[subscription] = self._wanted

    def unsubscribe(self, subscription: Subscription[Any]) -> None:
        """Want the events of a subscription no more."""
        self._new.pop(subscription, None)
        for number in [number for number, (one, _) in self._subscribers.items() if one is subscription]:
            del self._conditions[number], self._subscribers[number]
        self._want()

    def taken(self, subscription: Subscription[Any], token: Any) -> None:
        """Do nothing: nobody waits for it."""

    def advertise(self, topic: str, schema: AnySchema, dds: DdsWriterOptions | None) -> None:
        """Compare the schema with the overlay's."""
        self._check(topic)
        check_schema(topic, schema, self.schema)
        if dds is not None:
            raise refuse("DDS options", network="an overlay", instead="leave dds= away")

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event to everybody who wants it; `EventError` says what of it the schema cannot read."""
        self._check(topic)
        for attribute in self._attributes:  # peers that cannot read one would turn the event away
            read_value(event, attribute)
        if self._waiting_events >= _MOST_UNSENT:
            raise HistoryFullError(f"{self._waiting_events} events wait to be taken in: await room() or flush()")
        if self._peer is None:
            self._early.append(pack(event))
        else:
            self._peer.publish(pack(event))

    async def room(self, topic: str) -> None:
        """Wait until fewer events wait to be taken in."""
        self._check(topic)
        while self._waiting_events >= _MOST_UNSENT:
            await asyncio.sleep(_LOOK)

    async def flush(self, topic: str | None, *, seconds: float) -> None:
        """Wait until every event published here has been taken in by somebody who wants it, or by nobody at all."""
        if topic is not None:
            self._check(topic)
        async with asyncio.timeout(seconds):
            while self._peer is None or self._waiting_events:
                await asyncio.sleep(_LOOK)

    async def settled(self, *, seconds: float = 60.0) -> None:
        """Wait until all that is subscribed to now is in effect; raise `TimeoutError` if that takes longer."""
        wanted = self._wanted
        async with asyncio.timeout(seconds), self._progress:
            await self._progress.wait_for(lambda: self._done >= wanted)

    async def close(self) -> None:
        """Leave the overlay."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._peer is not None:
            await self._peer.leave()
        if self._bootstrap is not None:
            await self._bootstrap.close()

    @property
    def _waiting_events(self) -> int:
        return len(self._early) + (0 if self._peer is None else self._peer.unsent)

    # ---- what is wanted ------------------------------------------------------------------------------------------

    def _check(self, topic: str) -> None:
        if topic != self.topic:
            raise TopicError(f"this client is on the topic {self.topic!r}; join another overlay for {topic!r}")

    def _interests(self) -> WhereInterests:
        return WhereInterests(self.schema, self.grid, self._conditions)

    def _want(self) -> None:
        self._wanted += 1
        self._change.set()

    async def _follow(self) -> None:
        """Bring the peer to what is wanted, whenever that changes."""
        while True:
            await self._change.wait()
            await asyncio.sleep(_TOGETHER)
            self._change.clear()
            wanted, interests = self._wanted, PackedInterests(self._interests())
            try:
                if self._peer is None:
                    self._peer = await self._make(self._listen, interests, await self._ask_around())
                    while self._early:
                        self._peer.publish(self._early.pop(0))
                elif interests.cells == self.peer.machine.state.interests.cells:
                    self.peer.subscribe(interests)
                else:
                    await self._move(interests)
                await self.peer.confirm()
            except (JoinError, TimeoutError) as error:
                _LOG.warning("the new subscriptions are not in effect yet: %s", error)
                await asyncio.sleep(1.0)
                self._change.set()
                continue
            async with self._progress:
                self._done = wanted
                self._progress.notify_all()
            for subscription in [one for one, turn in self._new.items() if turn <= wanted]:
                del self._new[subscription]
                subscription.come_into_force()

    async def _move(self, interests: PackedInterests) -> None:
        """Join as a second peer, and leave as the first one after that."""
        old = self.peer
        new = await self._make((self._listen[0], 0), interests, [old.node, *await self._ask_around()])
        self._peer = new
        while old.unsent:  # events on their way in
            await asyncio.sleep(0.01)
        await old.leave()
        if self._bootstrap is not None:
            await self._bootstrap.close()
        settings = peer_settings(new.node, self.network, self._credentials)
        self._bootstrap = BootstrapListener(settings)
        await self._bootstrap.open(self._listen)

    async def _make(self, listen: Address, interests: PackedInterests, bootstraps: Iterable[int]) -> LivePeer:
        peer = LivePeer(
            interests=interests,
            space=self.space,
            network=self.network,
            on_delivery=self._take,
            configuration=self._configuration,
            credentials=self._credentials,
        )
        try:
            await peer.start(listen, host=self._host, bootstraps=bootstraps)
            await peer.ready(seconds=30.0)
            await peer.confirm()
        except BaseException:
            await peer.close()
            raise
        return peer

    def _take(self, delivery: Deliver) -> None:
        event = unpack(delivery.payload)
        for number in delivery.subscriptions:
            found = self._subscribers.get(int(number))
            if found is not None and self._handed_over.add((delivery.event_id, int(number)), None):
                subscription, name = found
                subscription.deliver((name,), (dict(event),))

    # ---- whom else there is --------------------------------------------------------------------------------------

    async def _ask_around(self, *, patience: float = 0.0) -> list[int]:
        """Return the ids of those who answer at the addresses that were given; wait a little for who only starts."""
        deadline = asyncio.get_running_loop().time() + patience
        while True:
            asked = (who_is(address, network=self.network, credentials=self._credentials) for address in self._join)
            answers = await asyncio.gather(*asked, return_exceptions=True)
            found = [one for one in answers if isinstance(one, int)]
            # Who has turned us away will do so again; where no port is open there may be one soon.
            closed = any(isinstance(one, JoinError) and one.__cause__ is not None for one in answers)
            if found or not closed or asyncio.get_running_loop().time() > deadline:
                return found
            await asyncio.sleep(0.1)

    async def _stay_introduced(self) -> None:
        """Ask at the given addresses again and again: who started anew there has another id, and may be alone."""
        while self._join:
            await asyncio.sleep(5 * (self._configuration.heartbeat or 5_000_000) / 1_000_000)
            found = await self._ask_around()
            if self._peer is not None:
                self._peer.introduce(found)


def _comparable_attributes(schema: Schema) -> list[Attribute]:
    """Return the top-level attributes that conditions can compare; what lies inside of others shows when it is read."""
    found = []
    for name in schema:
        try:
            found.append(schema.attribute((name,)))
        except SchemaError:
            continue  # a list or a struct
    return found


async def open_overlay(join: Iterable[Address], options: OverlayOptions) -> OverlayTransport:
    """Be a peer of the overlay of a topic: the first one, or through any of the addresses in `join`."""
    made = OverlayTransport(options, join=join)
    await made.start()
    return made
