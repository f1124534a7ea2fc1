"""Overlay peers on the one calendar: virtual time, constant or seeded delay, seeded loss, crashes, and counters.

Every message of every peer passes here, by reference. One seed gives one run: peers act in the order of the calendar,
and each owns dice that are seeded by the run's seed and its own number.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rookery.overlay.bulk import clusters, exact_shortcuts, exact_tables, paper_tables
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.directory import CONTACTS, Directory, block_position
from rookery.overlay.effects import Deliver, Effect, Note, Publish, Send, SetTimer, Subscribe
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.links import LinkTable
from rookery.overlay.messages import Event, EventId, Message, RingEvent
from rookery.overlay.paper import PaperTable
from rookery.overlay.peer import Peer
from rookery.overlay.selection import Rule
from rookery.overlay.state import Interests, Phase
from rookery.simulated.calendar import Calendar

__all__ = ["SimulatedOverlay", "peer_dice"]


def peer_dice(seed: int, node: int) -> random.Random:
    """Return the dice of one peer in one run."""
    digest = hashlib.blake2b(f"{seed} {node}".encode(), digest_size=8).digest()
    return random.Random(int.from_bytes(digest, "big"))


class SimulatedOverlay:
    """Peers, what lies between them, and what happened."""

    def __init__(
        self,
        *,
        seed: int,
        space: SemanticSpace,
        configuration: OverlayConfiguration | None = None,
        shortest_delay: int = 10_000,
        longest_delay: int = 10_000,
        loss: float = 0.0,
    ) -> None:
        self.seed = seed
        self.space = space
        self.configuration = configuration or OverlayConfiguration()
        self.calendar = Calendar()
        self.peers: dict[int, Peer] = {}
        self.messages: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self.deliveries: dict[EventId, dict[int, int]] = {}
        """For each event, who delivered it and after how many hops."""
        self.repeated = 0
        """Deliveries of an event that the same peer had delivered before: none, by I6."""
        self.received: dict[EventId, int] = {}
        """For each event, how many messages carried it."""
        self.loss = loss
        self._shortest, self._longest = shortest_delay, longest_delay
        self._dice = random.Random(seed)
        self._timers: dict[tuple[int, str], int] = {}
        self._next_node = 0

    def __iter__(self) -> Iterator[Peer]:
        return iter(self.peers.values())

    @property
    def now(self) -> int:
        """The time."""
        return self.calendar.now

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
            dice=peer_dice(self.seed, number),
            configuration=self.configuration,
        )

    def join(self, interests: Interests, *, bootstrap_count: int = 3) -> Peer:
        """Let a new peer join through some of those that are there."""
        peer = self.make(interests)
        ready = self.ready
        chosen = self._dice.sample(ready, min(bootstrap_count, len(ready)))
        self.peers[peer.node] = peer
        self._act(peer.node, peer.on_start(self.now, chosen))
        return peer

    def install(self, everyone: Sequence[Interests], *, window: int | None = None) -> None:
        """Put peers in place at once with exact tables: the static setting, where everyone knows everyone."""
        peers = [self.make(interests) for interests in everyone]
        self.peers.update((peer.node, peer) for peer in peers)
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
                state.take_effects()  # which trims them to the bound
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
        peer = self.peers[node]
        event_id = (node, peer.state.sequence + 1)
        self.deliveries[event_id] = {}
        self.received[event_id] = 0
        self._act(node, peer.on_command(self.now, Publish(payload)))
        return event_id

    def subscribe(self, node: int, interests: Interests) -> None:
        """Let a peer want something else."""
        self._act(node, self.peers[node].on_command(self.now, Subscribe(interests)))

    def leave(self, node: int) -> None:
        """Let a peer go in good order."""
        self._act(node, self.peers[node].on_command(self.now, "leave"))
        del self.peers[node]

    def crash(self, nodes: Iterable[int]) -> None:
        """Let peers be gone without a word."""
        for node in nodes:
            del self.peers[node]

    def run(self, microseconds: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so much, or until a condition holds."""
        return self.calendar.run(self.now + microseconds, condition=until)

    def settle(self) -> None:
        """Without heartbeats: run until nothing is left to happen."""
        while self.calendar.step(1 << 62 if len(self.calendar) else self.now):
            pass

    def audience(self, payload: Any) -> set[int]:
        """Return the peers that have their place and want the event: the oracle."""
        return {node for node in self.ready if self.peers[node].state.interests.matches(payload)}

    def _act(self, node: int, effects: list[Effect]) -> None:
        for effect in effects:
            if type(effect) is Send:
                self._carry(node, effect.to, effect.message)
            elif type(effect) is SetTimer:
                self._set_timer(node, effect)
            elif type(effect) is Deliver:
                reached = self.deliveries.setdefault(effect.event_id, {})
                self.repeated += node in reached
                reached[node] = effect.hops
            elif type(effect) is Note:
                self.notes[effect.counter] += effect.amount

    def _carry(self, sender: int, to: int, message: Message) -> None:
        self.messages[type(message).__name__] += 1
        if isinstance(message, Event | RingEvent):
            self.received[message.event_id] = self.received.get(message.event_id, 0) + 1
        if self.loss and self._dice.random() < self.loss:
            return
        delay = self._shortest
        if self._longest > delay:
            delay = self._dice.randint(delay, self._longest)
        self.calendar.after(delay, lambda: self._arrive(sender, to, message))

    def _arrive(self, sender: int, to: int, message: Message) -> None:
        peer = self.peers.get(to)
        if peer is not None:
            self._act(to, peer.on_message(self.calendar.now, sender, message))

    def _set_timer(self, node: int, effect: SetTimer) -> None:
        key, when = (node, effect.timer), max(effect.at, self.now)
        if self._timers.get(key) == when:
            return
        self._timers[key] = when
        self.calendar.at(when, lambda: self._wake(node, effect.timer, when))

    def _wake(self, node: int, timer: str, when: int) -> None:
        if self._timers.get((node, timer)) != when:
            return
        del self._timers[node, timer]
        peer = self.peers.get(node)
        if peer is not None:
            self._act(node, peer.on_timer(self.now, timer))
