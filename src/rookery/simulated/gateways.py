"""Islands in a world: sites of plain participants with a gateway each, and the links between the gateways.

Inside a site go datagrams, which the world may lose, double and hold up, and groups of them. Between gateways go
connections, which it may cut in one direction or both; who should be joined is dialed until there is a link, and again
when it is gone, as a live gateway does. The gateways and participants are those that run live.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rookery.gateway import Gateway, island_parameter
from rookery.machine import Node
from rookery.participant import Participant, ParticipantConfiguration, multicast_address, new_prefix
from rookery.rtps.events import Event
from rookery.rtps.locators import Address
from rookery.simulated.connections import LinkEnd
from rookery.simulated.links import LinkConditions
from rookery.simulated.world import World

__all__ = ["SimulatedIslands", "SimulatedSite", "SiteMember"]

#: Microseconds from one gateway to another, and between two attempts to dial: at least, at most.
BETWEEN_SITES = 5_000
_PAUSE = (250_000, 1_000_000)
#: What clocks may differ by when processes start.
_CLOCKS = 1_000_000_000


class SiteMember:
    """A plain participant of a site; `events` is everything that happened to it."""

    def __init__(self, world: World, participant: Participant) -> None:
        self.participant = participant
        self.address = participant.configuration.unicast
        self.events: list[Event] = []
        self._world = world
        self._process = world.start(self.address, participant, self.events.append, clock=_clock(world))
        world.join_group(multicast_address(participant.configuration.domain_id), self.address)
        participant.start(self.now)
        self.flush()

    @property
    def now(self) -> int:
        """The time by this participant's clock."""
        return self._world.time(self.address)

    def flush(self) -> None:
        """Do what the participant wants done; to be called after every command."""
        self._world.perform(self._process)

    def leave(self) -> None:
        """Say goodbye and be gone."""
        self.participant.stop(self.now)
        self.flush()
        self._world.end(self.address)


class SimulatedSite:
    """A domain with a gateway, which may crash and be started again; `events` are those of all its gateways."""

    def __init__(self, islands: SimulatedIslands, name: str, *, domain_id: int, node: Node | None = None) -> None:
        self.name = name
        self.domain_id = domain_id
        self.events: list[Any] = []
        #: The process of the gateway, by which links name it: the site, unless another gateway has its name too.
        self.node = name if node is None else node
        self._islands = islands
        self._world = islands.world
        self.start()

    def start(self) -> None:
        """Start a gateway, which knows nothing of those before it."""
        configuration = self._islands.configuration(
            self.domain_id, observer=True, vendor_parameters=(island_parameter(self.name),), name=f"gateway {self.name}"
        )
        #: It has to be higher each time; live it is the time since 1970.
        incarnation = 1_000 + self._world.now
        self.gateway = Gateway(self.name, participant=Participant(configuration), incarnation=incarnation)
        self._process = self._world.start(self.node, self.gateway, self.events.append, clock=_clock(self._world))
        self._world.bind(self.node, configuration.unicast)
        self._world.join_group(multicast_address(self.domain_id), self.node)
        self.gateway.start(self.now)
        self.flush()

    @property
    def is_up(self) -> bool:
        """Whether the gateway runs."""
        return self._process.is_alive

    @property
    def now(self) -> int:
        """The time by the gateway's clock."""
        return self._world.time(self.node)

    def flush(self) -> None:
        """Do what the gateway wants done; to be called after every command."""
        self._world.perform(self._process)

    def crash(self) -> None:
        """Let the gateway be gone without a word."""
        self._world.end(self.node)

    def open(self, end: LinkEnd) -> None:
        """Tell the gateway of a link."""
        self.gateway.open(end)
        self.flush()

    def member(self, **options: Any) -> SiteMember:
        """Add a plain participant; `options` are those of `ParticipantConfiguration`."""
        return SiteMember(self._world, Participant(self._islands.configuration(self.domain_id, **options)))


class SimulatedIslands:
    """Some sites and the links between them; the latency of the conditions is that inside a site."""

    def __init__(
        self, *, seed: int = 1, conditions: LinkConditions | None = None, between_sites: int = BETWEEN_SITES
    ) -> None:
        conditions = conditions or LinkConditions(latency=100)
        within = conditions.latency
        assert isinstance(within, int)
        self.world = World(
            seed=seed,
            conditions=replace(
                conditions,
                latency=lambda sender, _: between_sites if isinstance(sender, LinkEnd) else within,
            ),
        )
        self.sites: dict[str, SimulatedSite] = {}
        #: Frames that gateways have sent to each other, and their bytes.
        self.frames = 0
        self.bytes_sent = 0
        self.world.on_message = self._count
        self._members = 0
        self._joined: set[frozenset[str]] = set()

    def site(self, name: str, *, domain_id: int | None = None, called: str | None = None) -> SimulatedSite:
        """Add a site under a name; `called` where its gateway gives itself another."""
        made = SimulatedSite(
            self, called or name, domain_id=len(self.sites) if domain_id is None else domain_id, node=name
        )
        self.sites[name] = made
        return made

    def join(self, one: str, other: str) -> None:
        """Let one gateway dial another, now and whenever there is no link between them."""
        self._joined.add(frozenset((one, other)))
        self._dial(one, other)

    def part(self, one: str, other: str) -> None:
        """Break the links between two gateways, and dial no more."""
        self._joined.discard(frozenset((one, other)))
        self.break_links(one, other)

    def break_links(self, one: str, other: str) -> None:
        """Break the links between two gateways: both are told, and what is on its way is lost."""
        for end in self.world.connections.between(self.sites[one].node, self.sites[other].node):
            self.world.connections.break_off(end)

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass."""
        return self.world.run(round(seconds * 1_000_000), until=until)

    def configuration(self, domain_id: int, **options: Any) -> ParticipantConfiguration:
        """Return the configuration of a new participant of a domain."""
        self._members += 1
        number = self._members
        address = Address(f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 10_000)
        prefix = new_prefix(self.world.random.randbytes(10))
        return replace(ParticipantConfiguration(prefix=prefix, unicast=address, domain_id=domain_id), **options)

    def _dial(self, one: str, other: str) -> None:
        """Connect two gateways if both live and hear each other and there is no link; look again in a while."""
        if frozenset((one, other)) not in self._joined:
            return
        first, second = self.sites[one], self.sites[other]
        links = self.world.links
        is_cut = links.is_cut(first.node, second.node) or links.is_cut(second.node, first.node)
        believed = self.world.connections.between(first.node, second.node)
        if first.is_up and second.is_up and not is_cut and not believed:
            end, far = self.world.connections.open(first.node, second.node)
            first.open(end)
            second.open(far)
        self.world.calendar.after(self.world.random.randint(*_PAUSE), lambda: self._dial(one, other))

    def _count(self, sender: Node, receiver: Node, message: Any) -> None:
        if isinstance(receiver, LinkEnd):
            self.frames += 1
            self.bytes_sent += len(message)


def _clock(world: World) -> int:
    return world.random.randrange(_CLOCKS)
