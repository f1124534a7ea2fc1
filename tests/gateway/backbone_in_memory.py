"""Sites in memory: each a DDS domain of the simulated network with a gateway, and links between the gateways."""

from __future__ import annotations

import itertools
from typing import Any

from rookery.gateway import Gateway, island_parameter
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant
from rookery.simulated.links import LinkConditions

__all__ = ["Site", "World"]

DELAY = 5_000


class Site:
    """A domain with a gateway, under the network's clock."""

    def __init__(self, world: World, name: str, *, domain_id: int, incarnation: int) -> None:
        self.world = world
        self.name = name
        self.domain_id = domain_id
        self.member = world.network.join(
            domain_id=domain_id, observer=True, vendor_parameters=(island_parameter(name),), name=f"gateway {name}"
        )
        self.gateway = Gateway(name, participant=self.member.participant, incarnation=incarnation)
        self.member.on_event = self._on_event
        self.links: dict[int, tuple[Site, int]] = {}
        self.is_up = True
        self._timer: int | None = None
        self.flush()

    def _on_event(self, event: Any) -> None:
        if self.is_up:
            self.gateway.take_event(event, self.member.now)
            self.world.network.calendar.after(0, self.flush)

    def flush(self) -> None:
        """Move what waits: datagrams here, frames to the neighbors, and set the timer."""
        if not self.is_up:
            return
        self.member.flush()
        for link, frame in self.gateway.backbone.frames_to_send():
            if link in self.links:
                other, its = self.links[link]
                self.world.carry(frame, other, its)
        for link, _ in self.gateway.backbone.links_to_close():
            self.world.cut(self, link)
        when = self.gateway.timer()
        if when is not None and (self._timer is None or when < self._timer):
            self._timer = when
            self.world.network.calendar.at(max(when, self.member.now), lambda: self._wake(when))

    def _wake(self, when: int) -> None:
        if self.is_up and self._timer == when:
            self._timer = None
            self.gateway.handle_timer(self.member.now)
            self.flush()

    def receive(self, link: int, frame: bytes) -> None:
        """Take a frame in, if the link still is."""
        if self.is_up and link in self.links:
            self.gateway.backbone.receive_frames(link, [frame], self.member.now)
            self.flush()

    def crash(self) -> None:
        """Be gone without a word; the neighbors see their links close."""
        self.is_up = False
        self.member.crash()
        for link in list(self.links):
            self.world.cut(self, link)

    def application(self, name: str = "") -> SimulatedParticipant:
        """Add a plain participant to this site."""
        return self.world.network.join(domain_id=self.domain_id, name=name)


class World:
    """Some sites and the links between them."""

    def __init__(self, seed: int = 1, conditions: LinkConditions | None = None) -> None:
        self.network = SimulatedNetwork(seed, conditions)
        self.sites: dict[str, Site] = {}
        self._numbers = itertools.count(1)
        self.frames = 0
        self.octets = 0

    def site(self, name: str) -> Site:
        """Add a site, or start the gateway of one that crashed again."""
        known = self.sites.get(name)
        domain_id = known.domain_id if known else len(self.sites)
        made = Site(self, name, domain_id=domain_id, incarnation=1_000 + self.network.calendar.now)
        self.sites[name] = made
        return made

    def link(self, one: str, other: str) -> tuple[int, int]:
        """Open a link between two sites."""
        first, second = self.sites[one], self.sites[other]
        mine, its = next(self._numbers), next(self._numbers)
        first.links[mine], second.links[its] = (second, its), (first, mine)
        first.gateway.backbone.link_opened(mine)
        second.gateway.backbone.link_opened(its)
        first.flush()
        second.flush()
        return mine, its

    def cut(self, site: Site, link: int) -> None:
        """Close a link at both ends; frames on their way are lost."""
        if link not in site.links:
            return
        other, its = site.links.pop(link)
        other.links.pop(its, None)
        for end, number in ((site, link), (other, its)):
            if end.is_up:
                end.gateway.backbone.link_closed(number, end.member.now)
                end.flush()

    def carry(self, frame: bytes, to: Site, link: int) -> None:
        """Bring a frame to the other end."""
        self.frames += 1
        self.octets += len(frame)
        self.network.calendar.after(DELAY, lambda: to.receive(link, frame))

    def run(self, seconds: float, until: Any = None) -> bool:
        """Let time pass."""
        return self.network.run(round(seconds * 1_000_000), until=until)
