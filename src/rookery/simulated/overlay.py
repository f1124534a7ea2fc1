"""Overlay peers in a world: many at once, put in place or joining, what each delivered, and the oracle of who should.

Between the peers lie datagrams after a constant delay, unless other conditions are given (`simulated.links`). One seed
gives one run: each peer owns random numbers that are seeded by the run's seed and its own number.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from rookery.overlay.bulk import clusters, exact_shortcuts, exact_tables, paper_tables
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.directory import CONTACTS, Directory, block_position
from rookery.overlay.dissemination import Deliver
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.links import LinkTable
from rookery.overlay.messages import CellEvent, EventId, Message, RingEvent
from rookery.overlay.paper import PaperTable
from rookery.overlay.peer import Peer
from rookery.overlay.selection import Rule
from rookery.overlay.state import Interests, Phase
from rookery.simulated.links import LinkConditions
from rookery.simulated.world import World

__all__ = ["SimulatedOverlay", "peer_random"]

#: Datagrams that take 10 ms each, and all arrive.
EVEN = LinkConditions(latency=10_000, datagrams=True)


def peer_random(seed: int, node: int) -> Random:
    """Return the random numbers of one peer in one run."""
    digest = hashlib.blake2b(f"{seed} {node}".encode(), digest_size=8).digest()
    return Random(int.from_bytes(digest, "big"))


class SimulatedOverlay:
    """Peers, the world they are in, and what happened."""

    def __init__(
        self,
        *,
        seed: int,
        space: SemanticSpace,
        configuration: OverlayConfiguration | None = None,
        conditions: LinkConditions = EVEN,
    ) -> None:
        self.seed = seed
        self.space = space
        self.configuration = configuration or OverlayConfiguration()
        self.world = World(seed=seed, conditions=conditions)
        self.world.on_message = self._sent
        self.peers: dict[int, Peer] = {}
        #: Messages sent, by their kind, and what the peers counted.
        self.messages: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        #: For each event, who delivered it and after how many hops.
        self.deliveries: dict[EventId, dict[int, int]] = {}
        #: Deliveries of an event that the same peer had delivered before: none, by I6.
        self.repeated = 0
        #: For each event, how many messages carried it.
        self.received: dict[EventId, int] = {}
        #: Sees every message as it is sent: sender, receiver, message.
        self.on_message: Callable[[int, int, Message], None] | None = None
        self._next_node = 0

    def __iter__(self) -> Iterator[Peer]:
        return iter(self.peers.values())

    @property
    def now(self) -> int:
        """The time."""
        return self.world.now

    @property
    def ready(self) -> list[int]:
        """The peers that have their place."""
        return [node for node, peer in self.peers.items() if peer.is_ready]

    def make(self, interests: Interests, *, node: int | None = None) -> Peer:
        """Make a peer that is not yet on the network."""
        number = self._next_node if node is None else node
        self._next_node = max(self._next_node, number) + 1
        return Peer(
            node=number,
            interests=interests,
            space=self.space,
            random=peer_random(self.seed, number),
            configuration=self.configuration,
            counters=self.counters,
        )

    def _add(self, peer: Peer) -> None:
        self.peers[peer.node] = peer
        self.world.start(peer.node, peer, partial(self._delivered, peer.node))

    def _perform(self, node: int) -> None:
        self.world.perform(self.world.processes[node])

    def join(self, interests: Interests, *, bootstrap_count: int = 3) -> Peer:
        """Let a new peer join through some of those that are there."""
        peer = self.make(interests)
        ready = self.ready
        chosen = self.world.random.sample(ready, min(bootstrap_count, len(ready)))
        self._add(peer)
        peer.start(chosen, self.now)
        self._perform(peer.node)
        return peer

    def install(self, everyone: Sequence[Interests], *, window: int | None = None) -> None:
        """Put peers in place at once with exact tables: the static setting, where everyone knows everyone."""
        peers = [self.make(interests) for interests in everyone]
        for peer in peers:
            self._add(peer)
        rule = self.configuration.rule
        groups = clusters((peer.descriptor for peer in peers), by_cells=rule.by_cells)
        primaries = [group[0] for group in groups]
        tables: Mapping[int, LinkTable | PaperTable]
        if rule == Rule.sound():
            tables = exact_tables(primaries, shared_cell=self.space.shared_cell, window=window)
        else:
            tables = paper_tables(primaries, rule)
        for group in groups:
            state = self.peers[group[0].node].state
            state.table = tables[group[0].node]
            state.announced = {node: state.table.is_chosen(node) for node in state.table.wanted}
            state.announced_version = state.table.version
            state.members = list(group[1:])
            state.phase = Phase.ACTIVE
            for member in group[1:]:
                inner = self.peers[member.node].state
                inner.phase, inner.primary, inner.members = Phase.MEMBER, group[0], list(group[1:])
        if self.configuration.arc and rule == Rule.sound():
            for node, shortcuts in exact_shortcuts(primaries, shared_cell=self.space.shared_cell).items():
                state = self.peers[node].state
                state.learn_shortcuts(shortcuts, self.now)
                state.complete()  # which trims them to the bound
        if self.configuration.directory:
            self._install_rings(sorted(primaries, key=lambda one: one.position))

    def _install_rings(self, order: Sequence[Descriptor]) -> None:
        """Give each primary its fingers, and each block of the directory its contacts."""
        positions = [one.position for one in order]
        for place, one in enumerate(order):
            state = self.peers[one.node].state
            for exponent in range(127, 127 - len(order).bit_length() - 2, -1):
                target = bisect_left(positions, (one.position + (1 << exponent)) % (1 << 128)) % len(order)
                state.fingers.consider(order[target])
            state.predecessor = order[place - 1].node if len(order) > 1 else None
        holders: dict[int, list[Descriptor]] = defaultdict(list)
        for one in order:
            cells = one.cells - {self.space.shared_cell}
            for cell in cells:
                holders[cell].append(one)
            if cells:
                self._owner(order, positions, min(cells)).claim(one, now=0, until=1 << 62)
        for cell in sorted(holders):
            ring, directory = holders[cell], self._owner(order, positions, cell)
            for place in range(min(CONTACTS, len(ring))):  # spread over the circle, as the directory would keep them
                directory.register((cell,), ring[place * len(ring) // min(CONTACTS, len(ring))], until=1 << 62)

    def _owner(self, order: Sequence[Descriptor], positions: Sequence[int], cell: int) -> Directory:
        target = block_position(cell // self.configuration.block_size)
        return self.peers[order[bisect_left(positions, target) % len(order)].node].state.directory

    def publish(self, node: int, payload: Any) -> EventId:
        """Let a peer publish; return the id of the event."""
        event_id = self.peers[node].publish(payload, self.now)
        self.deliveries[event_id] = {}
        self.received[event_id] = 0
        self._perform(node)
        return event_id

    def subscribe(self, node: int, interests: Interests) -> None:
        """Let a peer want something else."""
        self.peers[node].subscribe(interests, self.now)
        self._perform(node)

    def leave(self, node: int) -> None:
        """Let a peer go in good order."""
        self.peers[node].leave(self.now)
        self._perform(node)
        self.crash([node])

    def crash(self, nodes: Iterable[int]) -> None:
        """Let peers be gone without a word."""
        for node in nodes:
            del self.peers[node]
            self.world.end(node)

    def run(self, microseconds: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so much, or until a condition holds."""
        return self.world.run(microseconds, until=until)

    def settle(self) -> None:
        """Without heartbeats: run until nothing is left to happen."""
        self.world.settle()

    def audience(self, payload: Any) -> set[int]:
        """Return the peers that have their place and want the event: the oracle."""
        return {node for node in self.ready if self.peers[node].state.interests.matching(payload)}

    def _delivered(self, node: int, event: Deliver) -> None:
        reached = self.deliveries.setdefault(event.event_id, {})
        self.repeated += node in reached
        reached[node] = event.hops

    def _sent(self, sender: Any, receiver: Any, message: Message) -> None:
        self.messages[type(message).__name__] += 1
        if isinstance(message, (CellEvent, RingEvent)):
            self.received[message.event_id] = self.received.get(message.event_id, 0) + 1
        if self.on_message is not None:
            self.on_message(sender, receiver, message)
