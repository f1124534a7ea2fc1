"""A live broker: the machine of `brokers` with sockets, a clock, a random generator and a disk.

The driver (`live/driver.py`) runs the machine; here are its sockets. Clients and brokers use one port. While some
broker does not keep up, this one included, clients are not read from: TCP holds them, and they send no more than is
accepted in a short time (`brokers/sending.py`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import operator
import os
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from rookery.brokers.batches import MALFORMED
from rookery.brokers.broker import Broker
from rookery.brokers.client_messages import Status
from rookery.brokers.configuration import BrokerDurability, BrokerProximity
from rookery.brokers.events import (
    BrokerEvent,
    BrokerLeft,
    CoordinatesMissing,
    EntryWanted,
    Isolated,
    JoinFailed,
    StatusAsked,
)
from rookery.brokers.messages import BrokerHeartbeat, Message, is_urgent_frame
from rookery.errors import JoinError
from rookery.extras import have, lacking
from rookery.live.blocks import return_large_blocks
from rookery.live.brokers.log import BrokerLog
from rookery.live.brokers.session import Session
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.brokers.status import add_samples, describe
from rookery.live.driver import Driver
from rookery.live.slices import Slices
from rookery.live.tcp import Address, Link, LinkSettings
from rookery.live.tcp_peers import Peers, node_address, node_id
from rookery.live.tcp_ports import dial
from rookery.machine import ClientId
from rookery.model.schema import Schema

__all__ = ["LiveBroker", "identity_at", "warm"]

_LOG = logging.getLogger("rookery.live")
_MESSAGES: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_HEARTBEATS: msgspec.msgpack.Decoder[BrokerHeartbeat] = msgspec.msgpack.Decoder(BrokerHeartbeat)
_encode = msgspec.msgpack.Encoder().encode
_FRAME: operator.itemgetter[int] = operator.itemgetter(1)
#: Bytes from other brokers that may wait to be handled until clients are not read from.
_BEHIND = 8 << 20
#: Brokers remembered for the next start.
_KNOWN = 16


class LiveBroker:
    """One broker; `start` it, `stop` it."""

    def __init__(self, settings: BrokerSettings) -> None:
        self.settings = settings
        self.log: BrokerLog | None = None
        self.machine: Broker
        self.driver: Driver
        self.peers: Peers
        self.address: Address = settings.listen
        self._sessions: dict[ClientId, Session] = {}
        self._left = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._known: tuple[Address, ...] = ()
        self._paused = False
        #: What brokers have sent and is not handled yet: who owns what and who is there, and what is about events.
        self._urgent: Slices[tuple[int, bytes]] = Slices(self._take_frames, payload=_FRAME)
        self._frames: Slices[tuple[int, bytes]] = Slices(self._take_frames, payload=_FRAME)

    @property
    def is_paused(self) -> bool:
        """Whether clients are not read from, because some broker does not keep up."""
        return self._paused

    # ---- start and stop ------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the log and the port, and join or found the network."""
        settings = self.settings
        return_large_blocks()
        if settings.proximity is BrokerProximity.COORDINATES and not have("scipy"):
            _LOG.warning("no coordinates, residents by measured round trips: that needs %s", lacking("scipy"))
            settings = self.settings = replace(settings, proximity=BrokerProximity.MEASURED)
        # Before anybody knows of this broker: whoever is known must not fall silent while it compiles.
        await asyncio.to_thread(warm, settings.engine)
        if settings.durability is not BrokerDurability.MEMORY:
            assert settings.data is not None
            self.log = BrokerLog(settings.data)
            incarnation = self.log.incarnation()
        else:
            incarnation = int.from_bytes(os.urandom(8), "big")  # of a clock it would be the same twice
        identity = node_id(settings.listen, incarnation)
        links = LinkSettings(
            identity,
            role="broker",
            network=settings.network(),
            guests=frozenset({"client", "operator"}),
            key=settings.credentials.key,
            broker_key=settings.broker_key,
            roles=settings.rights,
            # A link is given up for silence later than its broker is: who is only slow keeps it.
            heartbeat=2 * settings.beat,
            silence=6 * settings.beat,
            limits=settings.limits,
            tls_dial=settings.credentials.dialing,
            tls_listen=settings.credentials.listening,
        )
        self.peers = Peers(
            links,
            on_frames=self._on_frames,
            on_undeliverable=self._on_undeliverable,
            on_guest=self._on_guest,
            is_urgent=is_urgent_frame,
            patience=settings.beat,
        )
        self.peers.on_relief = self._relieve
        self.machine = Broker(identity, settings.configuration(), random.Random(os.urandom(16)))
        self.driver = Driver(
            self.machine,
            transport=self,
            on_event=self._on_event,
            log=self.log,
            on_wake=self._on_wake,
        )
        entries = self._recovered()
        self.address = await self.peers.listen(settings.listen)
        entry = await self._entry_in_time()
        self.machine.restore(entries)
        if entry is None:
            if settings.join:
                await self.stop(leave=False)
                raise JoinError(f"nobody answers at {', '.join(f'{host}:{port}' for host, port in settings.join)}")
            self.machine.start(self.driver.now())
        else:
            self.machine.join(entry, self.driver.now())
        self.driver.flush()

    def _recovered(self) -> list[Any]:
        if self.log is None:
            return []
        if self.log.file.torn:
            _LOG.warning("cut %d bytes of an unfinished write off the log", self.log.file.torn)
        if self.log.file.damaged:
            _LOG.error(
                "%d places in the log are damaged: what lay there is gone from this disk; the other copy is sent on by "
                "the broker that has it",
                self.log.file.damaged,
            )
        if self.log.entries:
            _LOG.warning("the log has %d batches of an earlier life: sending them on", len(self.log.entries))
        return self.log.entries

    async def _entry_in_time(self) -> int | None:
        """Return the id of a broker to join through; those named with `join` have `patience` seconds to answer."""
        until = asyncio.get_running_loop().time() + self.settings.patience
        told = False
        while True:
            entry = await self._find_entry()
            if entry is not None or not self.settings.join or asyncio.get_running_loop().time() >= until:
                return entry
            if not told:
                _LOG.warning("nobody to join through answers yet: trying for %g s", self.settings.patience)
                told = True
            await asyncio.sleep(min(self.settings.beat, 1.0))

    async def _find_entry(self) -> int | None:
        """Return the id of a broker to join through: one that was named, or one remembered from an earlier life."""
        addresses = list(dict.fromkeys((*self.settings.join, *self._remembered())))
        random.shuffle(addresses)  # should the network have fallen into parts, another one answers another time
        for address in addresses:
            if address != self.address:
                identity = await identity_at(address, self.peers.settings)
                if identity is not None:
                    return identity
        return None

    async def stop(self, *, leave: bool = True, seconds: float = 10.0) -> None:
        """Hand the zones over to peers, then close; what subscribers still have to get is on the backup's disk."""
        if self.driver.is_closed:
            return
        if leave:
            try:
                self.machine.leave(self.driver.now())
                self.driver.flush()
                async with asyncio.timeout(seconds):
                    await self._left.wait()
            except TimeoutError:
                _LOG.warning("nobody took the zones over within %g s", seconds)
        self.driver.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.peers.close()
        if self.log is not None:
            await self.log.close()

    # ---- the transport of the driver -------------------------------------------------------------------------------

    def send(self, receiver: int | ClientId, messages: list[Any]) -> None:
        """Send to a broker, or to a client if it is here."""
        if isinstance(receiver, ClientId):
            session = self._sessions.get(receiver)
            if session is not None:
                session.link.send_many(map(_encode, messages))
            return
        self.peers.send_many(receiver, [_encode(message) for message in messages])
        self.machine.unsent = self.peers.unsent
        self._pause_clients()

    def disconnect(self, node: int | ClientId, reason: str) -> None:
        """Close the connection of a client."""
        session = self._sessions.pop(node, None) if isinstance(node, ClientId) else None
        if session is not None:
            if reason != "leaving":
                self.peers.settings.faults[reason] += 1
            session.link.close(reason)

    def _on_wake(self) -> None:
        self._remember()
        self._relieve()

    def _relieve(self) -> None:
        """Links have got rid of something: read from clients again, and from the disk what waits for room."""
        self.machine.unsent = self.peers.unsent
        if (self.machine.spilling.can_read or self.machine.deliveries.copies.can_send) and not self.driver.is_closed:
            self.machine.relieved(self.driver.now())
            self.driver.flush()
        if self._paused and not self._is_behind:
            self._paused = False
            for session in self._sessions.values():
                session.link.resume()

    def _on_frames(self, sender: int, frames: list[bytes]) -> None:
        """Take in what another broker sent: in turns, and in order with what its peers send.

        Who owns what and who is there passes what is about events. While much of that waits too, heartbeats without
        news pass it: who is busy is not dead, and keeps its lease.
        """
        urgent: list[bytes] = []
        others: list[tuple[int, bytes]] = []
        for frame in frames:
            if is_urgent_frame(frame):
                urgent.append(frame)
            else:
                others.append((sender, frame))
        if self._urgent:
            urgent = [frame for frame in urgent if not self._is_taken_at_once(frame, sender)]
        self._urgent.add([(sender, frame) for frame in urgent])
        self._frames.add(others)
        self._pause_clients()

    @property
    def _is_behind(self) -> bool:
        """Whether brokers do not keep up: another one, or this one."""
        return self.peers.congested or self._frames.size_bytes > _BEHIND

    def _pause_clients(self) -> None:
        if not self._paused and self._is_behind:
            self._paused = True
            for session in self._sessions.values():
                session.link.pause()

    def _is_taken_at_once(self, frame: bytes, sender: int) -> bool:
        try:
            message = _HEARTBEATS.decode(frame)
        except MALFORMED:  # any other message, or none: that is seen when its turn comes
            return False
        if not self.machine.routing_table.is_known(message, sender):
            return False
        self.driver.receive([message], sender)
        return True

    def _take_frames(self, frames: list[tuple[int, bytes]]) -> None:
        for sender, group in itertools.groupby(frames, key=operator.itemgetter(0)):
            messages: list[Message] = []
            for _, frame in group:
                try:
                    messages.append(_MESSAGES.decode(frame))
                except MALFORMED:
                    self.machine.counters["malformed"] += 1
            self.driver.receive(messages, sender)
        if self._paused:
            self._relieve()

    def _on_undeliverable(self, receiver: int, frames: list[bytes]) -> None:
        self.driver.undeliverable(map(_MESSAGES.decode, frames), receiver)

    def _on_event(self, event: BrokerEvent) -> None:
        match event:
            case StatusAsked(client, sample):
                self.send(ClientId(client), [Status(self.status(sample=sample))])
            case BrokerLeft():
                self._left.set()
            case CoordinatesMissing(reason):
                _LOG.warning("no coordinates, residents by measured round trips: %s", reason)
            case JoinFailed() | Isolated() | EntryWanted():
                self._spawn(self._look_for_peers())

    async def _look_for_peers(self) -> None:
        entry = await self._find_entry()
        if entry is None:
            await asyncio.sleep(self.settings.beat)
            entry = await self._find_entry()
        if entry is not None:
            if self.machine.owned:
                self.machine.introduce(entry, self.driver.now())
            else:
                self.machine.join(entry, self.driver.now())
            self.driver.flush()

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ---- clients -------------------------------------------------------------------------------------------------

    def _on_guest(self, link: Link) -> Session:
        return Session(self, link)

    def is_session(self, session: Session) -> bool:
        """Tell whether a session is the present one of its client."""
        return self._sessions.get(session.client) is session

    def arrived(self, session: Session) -> None:
        """A client is here; a session it had before is over."""
        before = self._sessions.get(session.client)
        self._sessions[session.client] = session
        if before is not None:
            before.link.abort("replaced")
            self.driver.lose(session.client)
        if self._paused:
            session.link.pause()

    def departed(self, session: Session) -> None:
        """A client's link is gone."""
        if self.is_session(session):
            del self._sessions[session.client]
            self.driver.lose(session.client)

    def status(self, *, sample: bool = False) -> dict[str, Any]:
        """Return zones, loads, neighbors, hops, what is in flight and whose replicas it has, as plain data."""
        found = describe(self.machine, self.settings, self.address, self.peers, self.log, len(self._sessions))
        if sample:
            add_samples(found, self.machine)
        return found

    # ---- peers ----------------------------------------------------------------------------------------------------

    def _known_peers(self) -> Iterable[Address]:
        return sorted({node_address(owner) for owner in self.machine.routing_table.living()})[:_KNOWN]

    def _remember(self) -> None:
        """Write down who else is there: a broker that comes back must not found a network of its own."""
        peers = tuple(self._known_peers())
        if self.log is not None and peers and peers != self._known:
            self._known = peers
            path = self.log.folder / "known"
            new = path.with_suffix(".new")
            try:
                new.write_text("".join(f"{host}:{port}\n" for host, port in peers))
                new.replace(path)
            except OSError:  # a full disk: the file of before is still good
                Path(new).unlink(missing_ok=True)

    def _remembered(self) -> list[Address]:
        if self.log is None:
            return []
        try:
            lines = (self.log.folder / "known").read_text().splitlines()
        except OSError:
            return []
        split = [line.rpartition(":") for line in lines]
        return [(host, int(port)) for host, _, port in split if port.isdigit()]


def warm(engine: str = "bitmap") -> None:
    """Compile or load what matching and routing in batches need."""
    from rookery.brokers.batches import batch_of
    from rookery.brokers.column_routes import ZoneHops
    from rookery.brokers.conditions import FEW
    from rookery.brokers.configuration import BrokerConfiguration
    from rookery.brokers.event_places import EventPlaces
    from rookery.brokers.messages import PlacedSubscription
    from rookery.brokers.owned_zone import OwnedZone
    from rookery.brokers.ownership import ZoneOwnership
    from rookery.brokers.store import ZoneStore
    from rookery.participant.exchange import warm as warm_rows
    from rookery.space.axes import Axis, EventSpace
    from rookery.space.zones import ROOT

    warm_rows(engine)
    store = ZoneStore(Schema(word=str, number=int, share=float), engine=engine)
    store.add(PlacedSubscription("warm", 1, "word = 'a' AND number > 1 OR share < 2", (), (), (), 0), 1)
    for count in (1, FEW + 1):  # one by one, and as a batch
        store.match_columns({"word": ["a"] * count, "number": [2] * count, "share": [None] * count}, count)
    space = EventSpace(Schema(word=str, number=int), [Axis("word"), Axis("number")])
    points, _ = EventPlaces(space).points(batch_of(0, 0, [{"word": "a", "number": 2}] * 64))
    owned = OwnedZone(ZoneOwnership(ROOT, 1, 0), BrokerConfiguration(space=space))
    ZoneHops(owned, lambda ownership: True).of(points)


async def identity_at(address: Address, settings: LinkSettings) -> int | None:
    """Ask who listens at an address; None if nobody of this network does."""
    answer: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    class Probe:
        def opened(self, link: Link) -> None:
            if not answer.done():
                answer.set_result(link.identity)
            link.close("thanks")

        def received(self, link: Link, frames: list[bytes]) -> None:
            pass

        def writable(self, link: Link) -> None:
            pass

        def closed(self, link: Link, reason: str) -> None:
            if not answer.done():
                _LOG.warning("%s:%d does not let us in: %s", *address, reason)
                answer.set_result(None)

    try:
        await dial(address, settings, Probe())
    except JoinError:
        return None
    return await answer
