"""What one peer remembers, and the few steps that every part of the protocol shares.

The protocol is written as functions over this state, a module for each question: `dissemination` (where does an event
go?), `ring` (where is a place on a ring?), `joining`, `repair`, `cluster`. `peer.Peer` calls them.

Rule: functions append effects and never return them; `complete` ends a step by announcing the links that changed. So a
link is announced when a step is complete, and never halfway through.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from rookery.machine import Effect, Send
from rookery.machine.dedup import DedupWindow
from rookery.machine.randomness import RandomNumbers
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.directory import Directory
from rookery.overlay.fingers import Fingers
from rookery.overlay.identity import Descriptor, SemanticSpace, relation
from rookery.overlay.links import LinkTable
from rookery.overlay.messages import EventId, Find, LinkRequest, Message, Unlink
from rookery.overlay.paper import PaperTable
from rookery.overlay.selection import Rule
from rookery.overlay.shortcuts import Shortcuts

__all__ = ["PUBLISHING", "Interests", "PeerState", "Phase", "Request", "Tombstone", "WalkKey"]


#: Peers remembered from before, whether linked or not: a way back to those from whom a mass crash cut us off.
ACQUAINTANCES = 16
#: The kinds of requests that bring an event in; all others are about our own place.
PUBLISHING = ("inject", "entry")
#: Walks of others that wait until we have our place.
DEFERRED = 256
#: Peers known to be gone after which those are looked through that have been so for TOMBSTONE_TIME microseconds.
TOMBSTONES = 256
TOMBSTONE_TIME = 60_000_000


#: The kind of a walk, who asked, the number of the question, the hops left, and the cells.
WalkKey: TypeAlias = tuple[str, int, int, int, frozenset[int]]


class Interests(Protocol):
    """What a peer wants: the cells that meet its subscriptions, and which of these an event satisfies."""

    @property
    def cells(self) -> frozenset[int]: ...
    def cell(self, payload: Any, /) -> int: ...
    def matching(self, payload: Any, /) -> Sequence[str | int]: ...


class Phase(enum.Enum):
    """Where a peer stands."""

    JOINING = enum.auto()
    ACTIVE = enum.auto()
    """On the rings: a primary, alone or of a cluster."""
    MEMBER = enum.auto()
    """In a cluster behind a primary."""
    LEFT = enum.auto()


@dataclass(slots=True)
class Request:
    """A question that has been asked and not yet answered; `kind` says how to ask again."""

    kind: str
    about: Any
    deadline: int
    attempt: int = 0
    tried: set[int] = field(default_factory=set)


class Tombstone(NamedTuple):
    """A peer that is gone: its last epoch, until when that is remembered, and where it stood, if that is known."""

    epoch: int
    until: int
    random_id: int | None


class PeerState:
    """The memory of one peer."""

    __slots__ = (
        "acquaintances",
        "announced",
        "announced_version",
        "avoided",
        "bootstraps",
        "cluster_table",
        "configuration",
        "confirmed",
        "copies",
        "counters",
        "deferred",
        "directory",
        "doubtful",
        "effects",
        "entries",
        "entry_cache",
        "fingers",
        "fruitless",
        "heard",
        "heartbeat_at",
        "interests",
        "leads",
        "members",
        "outgoing",
        "owners",
        "phase",
        "predecessor",
        "primary",
        "random",
        "remote_tables",
        "request_number",
        "requests",
        "rounds",
        "rumored",
        "seen",
        "self_descriptor",
        "sent_tables",
        "sequence",
        "shortcuts",
        "space",
        "table",
        "tombstones",
        "twin",
        "waiting_blocks",
        "walks",
    )

    def __init__(
        self,
        *,
        descriptor: Descriptor,
        interests: Interests,
        space: SemanticSpace,
        random: RandomNumbers,
        configuration: OverlayConfiguration,
        counters: Counter[str],
    ) -> None:
        self.configuration = configuration
        self.space = space
        self.random = random
        self.interests = interests
        self.self_descriptor = descriptor
        self.counters = counters
        self.effects: list[Effect] = []
        self.heartbeat_at: int | None = None
        self.seen: DedupWindow[EventId, int] = DedupWindow(configuration.seen_limit, lifetime=configuration.seen_time)
        """Events met and, in `arc` mode, how far the arc reached that was handled here."""
        self.walks: DedupWindow[WalkKey, None] | None = None
        """Walks that came by (`walks`)."""
        self.sequence = 0
        self.request_number = 0
        self.entry_cache: dict[int, Descriptor] = {}
        self.bootstraps: tuple[int, ...] = ()
        self.directory = Directory()
        self.copies = Directory()
        self.tombstones: dict[int, Tombstone] = {}
        self.rumored: set[int] = set()
        """Buried, and named by others since: asked with the next heartbeat whether they live after all."""
        self.avoided: dict[int, int] = {}
        self.acquaintances: list[int] = []
        self.outgoing: dict[EventId, tuple[int, Any]] = {}
        self.entries: dict[int, tuple[EventId, int]] = {}
        self.reset(descriptor)

    def reset(self, descriptor: Descriptor) -> None:
        """Begin anew as `descriptor`: without links, before joining."""
        self.phase = Phase.JOINING
        self.table: LinkTable | PaperTable = (
            LinkTable(descriptor, covering_count=self.configuration.rule.covering_count)
            if self.configuration.rule == Rule.sound()
            else PaperTable(descriptor, self.configuration.rule)
        )
        self.announced_version = -1
        self.fingers = Fingers(descriptor)
        self.shortcuts = Shortcuts(descriptor, shared_cell=self.space.shared_cell)
        self.announced: dict[int, bool] = {}
        self.requests: dict[int, Request] = {}
        self.waiting_blocks: dict[int, frozenset[int]] = {}
        self.owners: dict[int, Descriptor] = {}
        self.deferred: list[Find] = []
        self.doubtful: set[int] = set()
        self.predecessor: int | None = None
        self.twin: Descriptor | None = None
        self.leads = False
        """`paper`: we asked for a cluster of our identity in vain, and join as its first."""
        self.fruitless = 0
        self.rounds = 0
        self.heard: dict[int, int] = {}
        self.confirmed: set[int] = set()
        """Who has answered a Ping that was sent after our LINK: it has read the LINK."""
        self.sent_tables: dict[int, int] = {}
        self.remote_tables: dict[int, tuple[Descriptor, ...]] = {}
        self.primary: Descriptor | None = None
        self.members: list[Descriptor] = []
        self.cluster_table: tuple[Descriptor, ...] = ()

    @property
    def own(self) -> Descriptor:
        """What the overlay knows us by: ourselves, or the cluster at whose place on the circle we speak."""
        return self.table.own

    def send(self, to: int, message: Message) -> None:
        """Send a message."""
        self.effects.append(Send(to, message))

    def is_gone(self, peer: Descriptor, now: int) -> bool:
        """Tell whether a peer is known to be gone, and has not come back since as far as its epoch says."""
        tombstone = self.tombstones.get(peer.node)
        return tombstone is not None and tombstone.epoch >= peer.epoch and tombstone.until > now

    def is_member(self, node: int) -> bool:
        """Tell whether a peer is a member of our cluster: it stands on no ring, whatever is said of it."""
        return any(one.node == node for one in self.members)

    def learn(self, peers: Iterable[Descriptor], now: int) -> bool:
        """Consider descriptors that came along, except of those known to be gone; say whether a link changed."""
        changed = False
        # Who is known by hearsay has one period to speak for itself: a table may name peers that are gone too.
        spoken = now - 2 * (self.configuration.heartbeat or 0)
        members = {one.node: one for one in self.members}  # they stand on no ring, whatever is said of them, unless
        for peer in peers:
            member = members.get(peer.node)
            if member is not None and member.epoch < peer.epoch and peer.cells != self.own.cells:
                self.members.remove(member)  # it left for other interests, and we did not hear of it
            elif member is not None:
                continue
            if self.is_gone(peer, now):
                self.rumored.add(peer.node)
                continue
            strange = peer.node not in self.table.known
            if strange:
                self.remember(peer.node)
            if self._consider_far(peer) and strange:
                self.heard[peer.node] = spoken
            if peer.cells == self.own.cells and peer.node != self.own.node:
                self.twin = peer  # by hearsay; asked with the next heartbeat
            if self.table.consider(peer):
                changed = True
                if strange:
                    self.heard[peer.node] = spoken
        return changed

    def learn_finger(self, peer: Descriptor, now: int) -> None:
        """Consider a peer as a finger or shortcut only."""
        if self.is_gone(peer, now) or self.is_member(peer.node):
            return
        self.remember(peer.node)
        if self._consider_far(peer) and peer.node not in self.table.known:
            self.heard[peer.node] = now

    def learn_shortcuts(self, peers: Iterable[Descriptor], now: int) -> None:
        """Consider peers as shortcuts only, in `arc` mode."""
        for peer in peers if self.configuration.arc else ():
            if self.is_gone(peer, now) or self.is_member(peer.node):
                continue
            if self.shortcuts.consider(peer) and peer.node not in self.table.known:
                self.heard.setdefault(peer.node, now)

    def _consider_far(self, peer: Descriptor) -> bool:
        """Take a peer as finger, and in `arc` mode as shortcut; say whether it is a new one. As printed: neither."""
        if not self.configuration.directory:
            return False
        known = self.table.known.get(peer.node)
        if known is not None and known.epoch > peer.epoch:
            return False  # where it stood before
        taken = self.configuration.arc and self.shortcuts.consider(peer)
        return self.fingers.consider(peer) or taken

    @property
    def far(self) -> dict[int, Descriptor]:
        """Fingers and shortcuts that are no links: they do not know what they are, so they are asked if they live."""
        found = {one.node: one for peers in (self.fingers, self.shortcuts) for one in peers}
        return {node: one for node, one in found.items() if node not in self.table.known}

    def remember(self, node: int) -> None:
        """Note a peer as a way back into the overlay."""
        if node not in self.acquaintances and node != self.own.node:
            self.acquaintances = [*self.acquaintances[1 - ACQUAINTANCES :], node]

    @property
    def ways_in(self) -> list[int]:
        """Peers through whom the rest of the overlay may be found, when links are not enough."""
        cluster = self.members if self.primary is None else [self.primary, *self.members]
        near = (one.node for peers in (self.fingers, cluster) for one in peers)
        found = (*self.bootstraps, *self.acquaintances, *self.table.known, *near)
        return [node for node in dict.fromkeys(found) if node != self.self_descriptor.node]

    def bury(self, node: int, now: int, *, epoch: int | None = None) -> None:
        """Remember that a peer is gone, so that those who do not know yet cannot bring it back."""
        known = self.table.known.get(node)
        last = epoch if epoch is not None else known.epoch if known is not None else 0
        stood = known or self.shortcuts.known.get(node)
        if len(self.tombstones) > TOMBSTONES:
            self.tombstones = {one: stone for one, stone in self.tombstones.items() if stone.until > now}
        self.tombstones[node] = Tombstone(last, now + TOMBSTONE_TIME, None if stood is None else stood.random_id)
        self.fingers.remove(node)
        self.shortcuts.remove(node)
        for memory in (self.heard, self.sent_tables, self.announced):
            memory.pop(node, None)
        for cell in [cell for cell, contact in self.entry_cache.items() if contact.node == node]:
            del self.entry_cache[cell]

    def ask(self, kind: str, about: Any, now: int) -> int:
        """Open a request and return its number; the caller sends it."""
        self.request_number += 1
        self.requests[self.request_number] = Request(kind, about, now + self.configuration.request_timeout)
        return self.request_number

    def complete(self) -> None:
        """End a step: announce the links that changed."""
        if self.announced_version != self.table.version and self.phase is Phase.ACTIVE:
            self.announced_version = self.table.version
            self._announce()
        if self.shortcuts.known:
            bound = 4 * len(self.own.cells) + self.configuration.rule.covering_count
            if len(self.shortcuts) + len(self.table.known) > bound:  # rule 3 of `shortcuts`
                self.shortcuts.trim(bound - len(self.table.chosen))

    def _announce(self) -> None:
        table, announced = self.table, self.announced
        wanted = table.wanted
        for node in wanted:
            chosen = table.is_chosen(node)
            if announced.get(node) is not chosen:
                announced[node] = chosen
                self.send(
                    node, LinkRequest(table.own, chosen, table.adjacent(node), chosen and not table.is_on_ring(node))
                )
        if len(announced) > len(wanted):
            for node in [node for node in announced if node not in wanted]:
                del announced[node]
                self.send(node, Unlink())

    def is_twin(self, peer: Descriptor) -> bool:
        """Tell whether another peer wants the very same cells."""
        return peer.node != self.own.node and relation(self.own.cells, peer.cells).name == "SAME"
