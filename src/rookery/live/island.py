"""A site's gateway on real sockets: UDP inside the site, TCP to the gateways of other sites.

    async with open_island("site-a", listen=("127.0.0.1", 7501), join=[("127.0.0.1", 7502)]) as island:
        async with island.subscribe("quotes", "price < 10", schema=…) as events:
            …

A gateway works without subscriptions of its own: plain DDS participants of the site talk to those of the other sites
through it. Links to `join` are dialed until they stand and again when they fall; who listens is dialed by others.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from rookery.errors import JoinError
from rookery.gateway import Gateway, island_parameter
from rookery.live.client import AnySchema, Node, Subscription
from rookery.live.tcp import Address, Link, LinkSettings, Listener, dial, frame_of, listen
from rookery.live.udp import open_participant
from rookery.participant.event_types import event_type
from rookery.participant.exchange import warm
from rookery.rtps.events import Event
from rookery.rtps.types import StructType

__all__ = ["Island", "open_island"]

_LOG = logging.getLogger("rookery.live.island")
#: Seconds between signs of life on a link where nothing else is said.
_HEARTBEAT = 5.0
#: Seconds for which frames gather: sites are milliseconds apart, and a packet for each sample costs more than it says.
_LINGER = 0.005
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0


class Island:
    """One site, its node and its links; made by `open_island`."""

    def __init__(self, site: str, *, settings: LinkSettings, **options: Any) -> None:
        self.site = site
        #: Set when another gateway of this site is newer; this one should leave.
        self.taken_over = asyncio.Event()
        self._settings = settings
        self._links: dict[int, Link] = {}
        self._numbers: dict[Link, int] = {}
        self._count = itertools.count(1)
        self._loop = asyncio.get_running_loop()
        self._listener: Listener | None = None
        self._dialing: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._lingering: asyncio.TimerHandle | None = None
        self._pumping = False
        self._closed = False
        self._warned: set[str] = set()
        self._gateway: Gateway | None = None
        parameter = island_parameter(site)
        self.node = Node(
            lambda on_event: open_participant(
                on_event=lambda event: self._on_event(event, on_event),
                observer=True,
                vendor_parameters=(parameter,),
                **options,
            )
        )
        incarnation = time.time_ns() // 1_000
        self._gateway = Gateway(site, participant=self.node.udp.participant, incarnation=incarnation)
        self._pump_soon()

    @property
    def gateway(self) -> Gateway:
        """The machine inside."""
        assert self._gateway is not None
        return self._gateway

    @property
    def address(self) -> Address | None:
        """Where other gateways reach this one, if it listens."""
        return None if self._listener is None else self._listener.address

    async def start(self, *, listen_at: Address | None, join: Iterable[Address]) -> None:
        """Open the port and begin to dial."""
        if listen_at is not None:
            self._listener = await listen(listen_at, self._settings, lambda link: self)
        self._dialing = [self._loop.create_task(self._reach(address)) for address in join]

    @asynccontextmanager
    async def subscribe(
        self, topic: str, where: str | None = None, *, schema: AnySchema, type_name: str | None = None, **options: Any
    ) -> AsyncIterator[Subscription]:
        """Subscribe as on a node; what other sites write passes the condition there, before it travels."""
        async with self.node.subscribe(topic, where, schema=schema, type_name=type_name, **options) as events:
            if not isinstance(schema, StructType):  # a struct does not travel: the condition then acts here alone
                self.gateway.restrict(
                    events.subscription_id,
                    topic=topic,
                    type_name=type_name or topic,
                    where=where or "TRUE",
                    schema=event_type(schema, type_name=type_name or topic, key=options.get("key", ())).schema,
                    now=self.node.udp.now(),
                )
                self._pump_soon()
            try:
                yield events
            finally:
                self.gateway.release(events.subscription_id, self.node.udp.now())
                self._pump_soon()

    def status(self) -> dict[str, Any]:
        """Return what there is to know: the sites, the ways to them, the counters."""
        backbone = self.gateway.backbone
        sites = {
            state.site: {
                "reached by": backbone.sites.next_hops.get(state.site),
                "neighbors": state.neighbors,
                "summary octets": len(state.summary),
            }
            for state in backbone.sites.states.values()
        }
        counters = {**self.gateway.counters, **backbone.counters, **self._settings.faults}
        return {"site": self.site, "sites": sites, "waiting": backbone.waiting, "counters": counters}

    async def close(self) -> None:
        """Leave: the site's participants and the other sites are told."""
        self._send_frames()
        self._closed = True
        for task in self._dialing:
            task.cancel()
        for link in self._links.values():
            link.close("leaving")
        if self._listener is not None:
            await self._listener.close()
        if self._timer is not None:
            self._timer.cancel()
        await self.node.close()

    # ---- links ---------------------------------------------------------------------------------------------------

    async def _reach(self, address: Address) -> None:
        """Dial an address until there is a link, and again when it is gone."""
        pause = _FIRST_PAUSE
        while True:
            end = _DialedEnd(self)
            try:
                await dial(address, self._settings, end)
                await end.gone.wait()
                if end.stood:
                    pause = _FIRST_PAUSE
            except JoinError as error:
                _LOG.info("%s: %s", self.site, error)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def opened(self, link: Link) -> None:
        """A link stands."""
        number = next(self._count)
        self._links[number], self._numbers[link] = link, number
        self.gateway.backbone.link_opened(number)
        self._pump_soon()

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Frames of another gateway."""
        number = self._numbers.get(link)
        if number is not None:
            self.gateway.backbone.receive_frames(number, frames, self.node.udp.now())
            self._pump_soon()

    def writable(self, link: Link) -> None:
        """A link is no more congested; streams are bounded by their receipts, so nothing waits for this."""

    def closed(self, link: Link, reason: str) -> None:
        """A link is gone."""
        number = self._numbers.pop(link, None)
        if number is not None:
            del self._links[number]
            if not self._closed:
                _LOG.info("%s: link to %s:%d is gone: %s", self.site, *link.address, reason)
                self.gateway.backbone.link_closed(number, self.node.udp.now())
                self._pump_soon()

    # ---- the loop ------------------------------------------------------------------------------------------------

    def _on_event(self, event: Event, node: Any) -> None:
        node(event)
        if self._gateway is not None:
            self._gateway.take_event(event, self.node.udp.now())
            self._pump_soon()

    def _pump_soon(self) -> None:
        if not self._pumping and not self._closed:
            self._pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Send what waits on both sides, and set the timer."""
        self._pumping = False
        if self._closed:
            return
        self.node.udp.flush()
        backbone = self.gateway.backbone
        if self._lingering is None:
            self._lingering = self._loop.call_later(_LINGER, self._send_frames)
        for number, reason in backbone.links_to_close():
            if number in self._links:
                self._links[number].close(reason)
        if backbone.taken_over:
            self.taken_over.set()
        for other in set(self.gateway.other_gateways) - self._warned:
            self._warned.add(other)
            _LOG.warning("the gateway of island %s is in this DDS domain: the two sites are one network", other)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        when = self.gateway.timer()
        if when is not None:
            self._timer = self._loop.call_later(max(0, when - self.node.udp.now()) / 1_000_000, self._on_timer)

    def _send_frames(self) -> None:
        """Send what has gathered for each link in one write."""
        self._lingering = None
        waiting: dict[int, list[bytes]] = {}
        for number, frame in self.gateway.backbone.frames_to_send():
            waiting.setdefault(number, []).append(frame_of(frame))
        for number, frames in waiting.items():
            if number in self._links:
                self._links[number].send_framed(b"".join(frames))

    def _on_timer(self) -> None:
        self._timer = None
        self.gateway.handle_timer(self.node.udp.now())
        self._pump()


class _DialedEnd:
    """The handler of a link that was dialed: the island's, and who dialed hears when it is gone."""

    def __init__(self, island: Island) -> None:
        self.gone = asyncio.Event()
        self.stood = False
        self._island = island

    def opened(self, link: Link) -> None:
        self.stood = True
        self._island.opened(link)

    def received(self, link: Link, frames: list[bytes]) -> None:
        self._island.received(link, frames)

    def writable(self, link: Link) -> None:
        self._island.writable(link)

    def closed(self, link: Link, reason: str) -> None:
        self.gone.set()
        self._island.closed(link, reason)


@asynccontextmanager
async def open_island(
    site: str,
    *,
    listen: Address | None = None,
    join: Iterable[Address] = (),
    key: bytes | None = None,
    domain_id: int = 0,
    interface: str = "lo",
    name: str = "",
    seconds_of_lease: float = 10.0,
    network: str = "islands",
    **options: Any,
) -> AsyncIterator[Island]:
    """Be the gateway of a site: a participant of its domain, with links to the gateways of other sites."""
    if not site or len(site.encode()) > 255:
        raise JoinError("a site needs a name of 1 to 255 octets")
    await asyncio.to_thread(warm)
    identity = int.from_bytes(os.urandom(8)) >> 1
    settings = LinkSettings(
        identity=identity, role="island", network=network, key=key, heartbeat=_HEARTBEAT, silence=3 * _HEARTBEAT
    )
    island = Island(
        site,
        settings=settings,
        domain_id=domain_id,
        interface=interface,
        name=name or f"island {site}",
        lease=round(seconds_of_lease * 1_000_000),
        **options,
    )
    try:
        await island.start(listen_at=listen, join=join)
        yield island
    finally:
        with suppress(asyncio.CancelledError):
            await island.close()
