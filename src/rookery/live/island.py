"""A site's gateway on real sockets: UDP inside the site, TCP to the gateways of other sites.

    async with open_island("site-a", listen=("127.0.0.1", 7501), join=[("127.0.0.1", 7502)]) as island:
        async with island.subscribe("quotes", "price < 10", schema=…) as events:
            …

A gateway works without subscriptions of its own: plain DDS participants of the site talk to those of the other sites
through it. Links to `join` are dialed until they stand and again when they fall; who listens is dialed by others.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from rookery.errors import JoinError
from rookery.gateway import Gateway, GatewayFound, SiteTakenOver, island_parameter
from rookery.live.client import AnySchema, Node, Subscription
from rookery.live.site_links import SiteLinks
from rookery.live.tcp import Address, LinkSettings
from rookery.live.udp import UdpTransport, open_participant
from rookery.participant import Participant
from rookery.participant.event_types import event_type
from rookery.participant.exchange import warm
from rookery.rtps.events import Event
from rookery.rtps.types import CdrStruct

__all__ = ["Island", "open_island"]

_LOG = logging.getLogger("rookery.live.island")
#: Seconds between signs of life on a link where nothing else is said.
_HEARTBEAT = 5.0


class Island:
    """One site, its node and its links; made by `open_island`."""

    def __init__(self, site: str, *, settings: LinkSettings, **options: Any) -> None:
        self.site = site
        #: Set when another gateway of this site is newer; this one should leave.
        self.taken_over = asyncio.Event()
        self._settings = settings
        self.node = Node(
            lambda on_event: open_participant(
                on_event=lambda event: self._on_event(event, on_event),
                within=self._within,
                observer=True,
                vendor_parameters=(island_parameter(site),),
                **options,
            )
        )

    def _within(self, participant: Participant, udp: UdpTransport) -> tuple[Gateway, SiteLinks]:
        """Make the gateway around the participant of the site's node, and its transport."""
        incarnation = time.time_ns() // 1_000
        self.gateway = Gateway(self.site, participant=participant, incarnation=incarnation)
        self._links = SiteLinks(self.gateway, udp, self._settings, on_lost=self._on_lost)
        return self.gateway, self._links

    @property
    def address(self) -> Address | None:
        """Where other gateways reach this one, if it listens."""
        return self._links.address

    async def start(self, *, listen_at: Address | None, join: Iterable[Address]) -> None:
        """Open the port and begin to dial."""
        if listen_at is not None:
            await self._links.listen(listen_at)
        for address in join:
            self._links.join(address)

    @asynccontextmanager
    async def subscribe(
        self, topic: str, where: str | None = None, *, schema: AnySchema, type_name: str | None = None, **options: Any
    ) -> AsyncIterator[Subscription]:
        """Subscribe as on a node; what other sites write passes the condition there, before it travels."""
        async with self.node.subscribe(topic, where, schema=schema, type_name=type_name, **options) as events:
            if not isinstance(schema, CdrStruct):  # a struct does not travel: the condition then acts here alone
                self.gateway.restrict(
                    events.subscription_id,
                    topic=topic,
                    type_name=type_name or topic,
                    where=where or "TRUE",
                    schema=event_type(schema, type_name=type_name or topic, key=options.get("key", ())).schema,
                    now=self.node.udp.now(),
                )
                self.node.udp.flush()
            try:
                yield events
            finally:
                self.gateway.release(events.subscription_id, self.node.udp.now())
                self.node.udp.flush()

    def status(self) -> dict[str, Any]:
        """Return what there is to know: the sites, the ways to them, the counters."""
        backbone = self.gateway.backbone
        sites = {
            state.site: {
                "reached by": backbone.sites.next_hops.get(state.site),
                "neighbors": state.neighbors,
                "summary bytes": len(state.summary),
            }
            for state in backbone.sites.states.values()
        }
        counters = {**self.gateway.counters, **backbone.counters, **self._settings.faults}
        return {"site": self.site, "sites": sites, "waiting": backbone.waiting, "counters": counters}

    async def close(self) -> None:
        """Leave: the site's participants and the other sites are told."""
        await self._links.close()
        await self.node.close()

    def _on_event(self, event: Any, node: Callable[[Event], None]) -> None:
        match event:
            case SiteTakenOver():
                self.taken_over.set()
            case GatewayFound(site):
                _LOG.warning("the gateway of island %s is in this DDS domain: the two sites are one network", site)
            case _:
                node(event)

    def _on_lost(self, address: Address, reason: str) -> None:
        _LOG.info("%s: no link to %s:%d: %s", self.site, *address, reason)


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
        raise JoinError("a site needs a name of 1 to 255 bytes")
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
