"""The client of the overlay: be a peer, subscribe with WHERE clauses, publish dicts; no broker anywhere.

    async with join_overlay(topic="quotes", schema=schema, grid=grid, join=[("10.0.0.1", 7400)]) as node:
        async with node.subscribe("quotes", "price < 10") as events:
            async for event in events:
                ...

Rule 1: a node is on one topic. What it wants is the union of its subscriptions; its peer matches an event once, and the
event is handed to every subscription whose condition it satisfies, and to none else.
Rule 2: other interests mean another place on the rings. The node first joins as a second peer, with the new interests,
and leaves as the first one only then, so that the subscriptions which stay miss nothing; what comes to one of them
twice in between is dropped. To enter a subscription's `async with` waits until the peers around know of it.
Subscriptions made together are one move, and those made right after `join_overlay` are part of the first join; what is
published before that waits.
Rule 3: the address that others join through stays: when the peer has moved to another port, a listener there names it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from rookery.errors import JoinError, SchemaError, TopicError
from rookery.live.client import Subscription
from rookery.live.overlay_peer import ROLE, BootstrapListener, LivePeer, reserve_port, who_is
from rookery.live.tcp import Address
from rookery.live.tcp_hello import LinkSettings
from rookery.machine.dedup import DedupWindow
from rookery.model import Schema
from rookery.model.events import read_value
from rookery.model.schema import Attribute
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.dissemination import Deliver
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.interests import WhereInterests
from rookery.overlay.messages import EventId
from rookery.overlay.packed import PackedInterests, pack, unpack
from rookery.space.grid import Grid

__all__ = ["OverlayNode", "OverlaySubscription", "join_overlay", "network_name"]

_LOG = logging.getLogger("rookery.live")
#: Deliveries remembered so that no subscription gets an event twice while two peers of a node overlap.
_DEDUP_WINDOW = 1 << 16
#: Seconds in which subscriptions are made together.
_TOGETHER = 0.01
#: Seconds to wait for somebody to answer at the addresses to join through.
_PATIENCE = 2.0


def network_name(topic: str, schema: Schema, grid: Grid, space: SemanticSpace) -> str:
    """Return what all peers of an overlay must agree on, as a short digest."""
    axes = [(axis.name, list(getattr(axis, "values", ())), list(getattr(axis, "edges", ()))) for axis in grid.axes]
    agreed = (topic, schema.to_dict(), axes, space.bit_count, space.hash_count)
    return hashlib.blake2b(msgspec.json.encode(agreed), digest_size=8).hexdigest()


class OverlaySubscription(Subscription):
    """The events of one subscription; to enter it waits until it is in effect."""

    async def __aenter__(self) -> OverlaySubscription:
        node = self._node
        assert isinstance(node, OverlayNode)
        await node.settled()
        return self


class OverlayNode:
    """A peer of the overlay and its subscriptions; made by `join_overlay`."""

    def __init__(
        self,
        *,
        topic: str,
        schema: Schema,
        grid: Grid,
        listen: Address,
        host: str,
        join: Iterable[Address],
        configuration: OverlayConfiguration,
        key: bytes | None,
        bit_count: int = 1024,
        hash_count: int = 4,
    ) -> None:
        self.topic = topic
        self.schema = schema
        self.grid = grid
        self.space = SemanticSpace(cell_count=grid.cell_count, bit_count=bit_count, hash_count=hash_count)
        self.network = network_name(topic, schema, grid, self.space)
        self._peer: LivePeer | None = None
        self._early: list[bytes] = []
        self._listen, self._host, self._join = listen, host, tuple(join)
        self._configuration = configuration
        self._key = key
        self._attributes = _comparable_attributes(schema)
        self._conditions: dict[str | int, str] = {}
        self._subscriptions: dict[int, OverlaySubscription] = {}
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
            raise JoinError("this node has not joined yet: await its `settled` first")
        return self._peer

    @property
    def address(self) -> Address:
        """Where others may join through this node."""
        return self._host, self._listen[1]

    def subscribe(
        self, topic: str, where: str | None = None, *, schema: object = None, queue: int = 10_000
    ) -> OverlaySubscription:
        """Subscribe to the events that satisfy a WHERE clause; to all of them without one."""
        self._check(topic, schema)
        if queue < 1:
            raise TopicError(f"a queue of {queue} events; give at least 1")
        self._number += 1
        condition = where or "TRUE"
        WhereInterests(self.schema, self.grid, {self._number: condition})  # a bad one raises here, with its place
        self._conditions[self._number] = condition
        subscription = self._subscriptions[self._number] = OverlaySubscription(self, self._number, queue=queue)  # type: ignore[arg-type]
        self._want()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription; to leave its `async with` does the same."""
        if self._subscriptions.pop(subscription.subscription_id, None) is not None:
            del self._conditions[subscription.subscription_id]
            self._want()
        subscription.end()

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event to everybody who wants it; `EventError` says what of it the schema cannot read."""
        self._check(topic, None)
        for attribute in self._attributes:  # peers that cannot read one would turn the event away
            read_value(event, attribute)
        if self._peer is None:
            self._early.append(pack(event))
        else:
            self._peer.publish(pack(event))

    async def flush(self, topic: str, *, seconds: float = 10.0) -> None:
        """Wait until every event published here has been taken in by somebody who wants it, or by nobody at all."""
        self._check(topic, None)
        async with asyncio.timeout(seconds):
            while self._early or self._peer is None or self._peer.unsent:
                await asyncio.sleep(0.005)

    async def settled(self, *, seconds: float = 60.0) -> None:
        """Wait until all that is subscribed to now is in effect; raise `TimeoutError` if that takes longer."""
        wanted = self._wanted
        async with asyncio.timeout(seconds), self._progress:
            await self._progress.wait_for(lambda: self._done >= wanted)

    async def close(self) -> None:
        """Leave the overlay; `join_overlay`'s `async with` does it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for subscription in tuple(self._subscriptions.values()):
            subscription.end()
        if self._peer is not None:
            await self._peer.leave()
        if self._bootstrap is not None:
            await self._bootstrap.close()

    # ---- what is wanted ------------------------------------------------------------------------------------------

    def _check(self, topic: str, schema: object) -> None:
        if topic != self.topic:
            raise TopicError(f"this node is on the topic {self.topic!r}; join another overlay for {topic!r}")
        if schema is not None and (schema if isinstance(schema, Schema) else Schema.from_dict(schema)) != self.schema:  # type: ignore[arg-type]
            raise TopicError(f"the topic {topic!r} has another schema in this overlay: {self.schema}")

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
        settings = LinkSettings(identity=new.node, role=ROLE, network=self.network, key=self._key)
        self._bootstrap = BootstrapListener(settings)
        await self._bootstrap.open(self._listen)

    async def _make(self, listen: Address, interests: PackedInterests, bootstraps: Iterable[int]) -> LivePeer:
        peer = LivePeer(
            interests=interests,
            space=self.space,
            network=self.network,
            on_delivery=self._take,
            configuration=self._configuration,
            key=self._key,
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
            subscription = self._subscriptions.get(int(number))
            if subscription is not None and self._handed_over.add((delivery.event_id, int(number)), None):
                subscription.put(dict(event))

    # ---- whom else there is --------------------------------------------------------------------------------------

    async def _ask_around(self, *, patience: float = 0.0) -> list[int]:
        """Return the ids of those who answer at the addresses that were given; wait a little for who only starts."""
        deadline = asyncio.get_running_loop().time() + patience
        while True:
            asked = (who_is(address, network=self.network, key=self._key) for address in self._join)
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


@asynccontextmanager
async def join_overlay(
    *,
    topic: str,
    schema: Schema,
    grid: Grid,
    join: Iterable[Address] = (),
    listen: Address = ("127.0.0.1", 0),
    host: str | None = None,
    configuration: OverlayConfiguration | None = None,
    key: bytes | None = None,
) -> AsyncIterator[OverlayNode]:
    """Be a peer of the overlay of a topic: the first one, or through any of the addresses in `join`.

    `host` is the IPv4 address at which others reach this node, if it is not the one of `listen`. All peers must agree
    on topic, schema and grid. With a `key` strangers stay out.
    """
    node = OverlayNode(
        topic=topic,
        schema=schema,
        grid=grid,
        listen=listen,
        host=host or listen[0],
        join=join,
        configuration=configuration or OverlayConfiguration(),
        key=key,
    )
    await node.start()
    try:
        yield node
    finally:
        await node.close()
