"""A site's gateway as a client's network: UDP inside the site, TCP to the gateways of other sites.

A gateway works without subscriptions of its own: plain DDS participants of the site talk to those of the other sites
through it. Links to the gateways that are named are dialed until they stand and again when they fall; who listens is
dialed by others. A condition acts at the site of the writer, before an event travels.

No subscription makes writers at other sites wait: a gateway lets go of events where too much waits for a site.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rookery.errors import ClientError, JoinError
from rookery.gateway import Gateway, GatewayFound, SiteTakenOver, island_parameter
from rookery.live.admission import check_exposure
from rookery.live.credentials import Credentials
from rookery.live.dds import DdsOptions, DdsTransport, participant_options, warmed
from rookery.live.site_links import SiteLinks
from rookery.live.subscription import Subscription
from rookery.live.tcp import Address, LinkSettings
from rookery.live.transport import AnySchema, DdsReaderOptions, DdsWriterOptions, SubscriptionRequest
from rookery.live.udp import open_participant
from rookery.live.udp_transport import UdpTransport
from rookery.participant import Participant
from rookery.participant.event_types import event_type
from rookery.rtps.events import Event
from rookery.rtps.types import CdrStruct

__all__ = ["IslandOptions", "IslandTransport", "open_island"]

_LOG = logging.getLogger("rookery.live.island")
#: Seconds between signs of life on a link where nothing else is said.
_HEARTBEAT = 5.0
#: Seconds between two looks at what other gateways have acknowledged.
_LOOK = 0.005


@dataclass(frozen=True, slots=True)
class IslandOptions:
    """How to be the gateway of a site."""

    #: Where gateways of other sites reach this one; None where it only dials.
    listen: Address | None = None
    #: The key that all gateways share, or their certificates, which are those of brokers.
    credentials: Credentials = field(default_factory=Credentials)
    #: Whether other machines may reach this gateway without TLS.
    insecure: bool = False
    #: The DDS domain of the site, and how to be in it; a gateway is always an observer.
    domain_id: int = 0
    dds: DdsOptions = field(default_factory=DdsOptions)
    #: What the gateways of one backbone call it.
    network: str = "islands"

    def __post_init__(self) -> None:
        if self.listen is not None:
            check_exposure(self.listen[0], has_tls=self.credentials.listening is not None, insecure=self.insecure)


class IslandTransport:
    """One site, its DDS node and its links; made by `open_island`."""

    default_queue = DdsTransport.default_queue
    has_durable = False

    def __init__(self, site: str, options: IslandOptions, *, settings: LinkSettings) -> None:
        self.site = site
        #: Set when another gateway of this site is newer; this one should leave.
        self.taken_over = asyncio.Event()
        self._settings = settings
        inside = replace(options.dds, observer=True, name=options.dds.name or f"island {site}")
        #: The site's own network, as a node of it.
        self.dds = DdsTransport(
            lambda on_event: open_participant(
                on_event=lambda event: self._on_event(event, on_event),
                within=self._within,
                vendor_parameters=(island_parameter(site),),
                domain_id=options.domain_id,
                **participant_options(inside),
            ),
            engine=inside.engine,
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

    def subscribe(self, request: SubscriptionRequest, subscription: Subscription[Any]) -> None:
        """Subscribe as on a node; what other sites write passes the conditions there, before it travels."""
        if request.overflow == "wait":
            raise ClientError(
                "no writer at another site waits for a subscription: gateways let go of events where too much waits "
                "for a site; say overflow='drop-oldest'"
            )
        if any(parameters for _, parameters in request.conditions.values()):
            raise ClientError("parameters do not travel between sites: write the values into the condition")
        self.dds.subscribe(request, subscription)
        schema, options = request.schema, request.dds or DdsReaderOptions()
        if not isinstance(schema, CdrStruct):  # a struct does not travel: the condition then acts here alone
            assert schema is not None  # or the node had refused
            name = options.type_name or request.topic
            for number, (where, _) in zip(self.dds.ids_of(subscription), request.conditions.values(), strict=True):
                self.gateway.restrict(
                    number,
                    topic=request.topic,
                    type_name=name,
                    where=where or "TRUE",
                    schema=event_type(schema, type_name=name, key=options.key).schema,
                    now=self.dds.udp.now(),
                )
            self.dds.udp.flush()

    def unsubscribe(self, subscription: Subscription[Any]) -> None:
        """Read for a subscription no more, here and at other sites."""
        for number in self.dds.ids_of(subscription):
            self.gateway.release(number, self.dds.udp.now())
        self.dds.unsubscribe(subscription)

    def taken(self, subscription: Subscription[Any], token: Any) -> None:
        """Do nothing: nobody waits for it."""

    def advertise(self, topic: str, schema: AnySchema, dds: DdsWriterOptions | None) -> None:
        """Make the writer of a topic; other sites hear of it through this one."""
        self.dds.advertise(topic, schema, dds)

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event to this site, and to the others that want it."""
        self.dds.publish(topic, event)

    async def room(self, topic: str) -> None:
        """Wait until the readers of this site have made room."""
        await self.dds.room(topic)

    async def flush(self, topic: str | None, *, seconds: float) -> None:
        """Wait until every reliable reader of this site has everything, and other gateways what their sites want."""
        async with asyncio.timeout(seconds):
            await self.dds.flush(topic, seconds=seconds)
            while self.gateway.waiting:
                await asyncio.sleep(_LOOK)

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
        await self.dds.close()

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


async def open_island(site: str, join: Iterable[Address], options: IslandOptions) -> IslandTransport:
    """Be the gateway of a site: a participant of its domain, with links to the gateways of other sites."""
    if not site or len(site.encode()) > 255:
        raise JoinError("a site needs a name of 1 to 255 bytes: island://site")
    await warmed(options.dds)
    settings = LinkSettings(
        identity=int.from_bytes(os.urandom(8)) >> 1,
        role="island",
        network=options.network,
        key=options.credentials.key,
        tls_dial=options.credentials.dialing,
        tls_listen=options.credentials.listening,
        heartbeat=_HEARTBEAT,
        silence=3 * _HEARTBEAT,
    )
    island = IslandTransport(site, options, settings=settings)
    try:
        await island.start(listen_at=options.listen, join=join)
    except BaseException:
        await island.close()
        raise
    return island
