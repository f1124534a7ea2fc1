"""What the overlay is compared with: flooding and gossip on a random mesh, and a hypercube on the same identities.

- `MeshPeer` passes an event on to all its links (flooding: everybody gets everything) or to a few at random (gossip:
  nearly everybody does, for fewer messages).
- `HypercubePeer` is in the style of Mirinae (the seed's reference 5): peers stand at the leaves of a tree over bits
  of their identities, and keep a contact on the other side of every bit. An event whose bits are known prunes only the
  sides that lack such a bit, so peers on the sides that are left relay it whether they want it or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rookery.overlay.effects import Deliver, Effect, Note, Send
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.messages import Event, EventId
from rookery.overlay.state import Interests

__all__ = ["HypercubePeer", "MeshPeer", "build_hypercube", "build_mesh"]


class MeshDice(Protocol):
    """What the baselines need of a generator; `random.Random` has it."""

    def sample(self, population: Sequence[int], k: int) -> list[int]: ...
    def randrange(self, stop: int, /) -> int: ...


def _take(node: int, interests: Interests, event: Event) -> list[Effect]:
    if interests.matches(event.payload):
        return [Deliver(event.event_id, event.payload, event.hop)]
    return [Note("false positive: cell" if event.cell in interests.cells else "uninterested")]


@dataclass(slots=True)
class MeshPeer:
    """A peer of a random mesh."""

    node: int
    interests: Interests
    dice: MeshDice
    fanout: int | None = None
    """How many links an event is passed on to; None for all."""
    links: list[int] = field(default_factory=list)
    seen: set[EventId] = field(default_factory=set)

    def publish(self, event_id: EventId, payload: Any) -> list[Effect]:
        """Start an event here."""
        return self.on_message(self.node, Event(event_id, self.interests.cell(payload), payload, 0))

    def on_message(self, sender: int, event: Event) -> list[Effect]:
        """Take an event, and pass it on the first time."""
        if event.event_id in self.seen:
            return [Note("duplicate")]
        self.seen.add(event.event_id)
        targets = [node for node in self.links if node != sender]
        if self.fanout is not None:
            targets = self.dice.sample(targets, min(self.fanout, len(targets)))
        onward = Event(event.event_id, event.cell, event.payload, event.hop + 1)
        return [*_take(self.node, self.interests, event), *(Send(node, onward) for node in targets)]


def build_mesh(
    interests: Sequence[Interests], dice: MeshDice, *, degree: int, fanout: int | None = None
) -> list[MeshPeer]:
    """Return a connected random mesh: a ring, and random links until the mean degree is reached."""
    peers = [MeshPeer(node, one, dice, fanout) for node, one in enumerate(interests)]
    count = len(peers)
    edges = {(node, (node + 1) % count) for node in range(count)} if count > 1 else set()
    while len(edges) < count * degree // 2 and count > degree:
        one, other = dice.randrange(count), dice.randrange(count)
        if one != other and (other, one) not in edges:
            edges.add((one, other))
    for one, other in sorted(edges):
        peers[one].links.append(other)
        if other != one:
            peers[other].links.append(one)
    return peers


@dataclass(slots=True)
class HypercubePeer:
    """A peer at a leaf: for each level its bit, on which side it stands, and a contact on the other side."""

    node: int
    interests: Interests
    space: SemanticSpace
    levels: list[tuple[int, bool, int]] = field(default_factory=list)
    twins: list[int] = field(default_factory=list)
    """Peers of the same leaf."""

    def publish(self, event_id: EventId, payload: Any) -> list[Effect]:
        """Start an event here; it enters at level 0, whether this peer wants it or not."""
        return self._onward(Event(event_id, self.interests.cell(payload), payload, 0, arc_end=(0, 0)))

    def on_message(self, sender: int, event: Event) -> list[Effect]:
        """Take an event and spread it over the rest of the levels; `arc_end` carries the level."""
        return self._onward(event)

    def _onward(self, event: Event) -> list[Effect]:
        level, within_leaf = event.arc_end or (0, 0)
        effects: list[Effect] = []
        mask = self.space.mask(event.cell)
        if not within_leaf:
            for place in range(level, len(self.levels)):
                bit, has_one, contact = self.levels[place]
                onward = Event(event.event_id, event.cell, event.payload, event.hop + 1, arc_end=(place + 1, 0))
                needed = mask >> bit & 1
                if not needed or not has_one:
                    effects.append(Send(contact, onward))
                if needed and not has_one:
                    return [*effects, Note("relay")]  # nobody on this side can want it, ourselves included
            for node in self.twins:
                inner = Event(event.event_id, event.cell, event.payload, event.hop + 1, arc_end=(0, 1))
                effects.append(Send(node, inner))
        return [*_take(self.node, self.interests, event), *effects]


def build_hypercube(
    peers: Sequence[Descriptor], interests: Sequence[Interests], space: SemanticSpace, dice: MeshDice
) -> list[HypercubePeer]:
    """Return the peers of a hypercube; every part is cut at the bit that halves it best."""
    built = [HypercubePeer(node, one, space) for node, one in enumerate(interests)]
    identities = [peer.bits for peer in peers]
    waiting = [list(range(len(peers)))]
    while waiting:
        part = waiting.pop()
        bit = _best_bit([identities[node] for node in part], space.bit_count)
        if bit is None:
            for node in part:
                built[node].twins = [other for other in part if other != node]
            continue
        ones = [node for node in part if identities[node] >> bit & 1]
        zeros = [node for node in part if not identities[node] >> bit & 1]
        for side, other, has_one in ((ones, zeros, True), (zeros, ones, False)):
            for node in side:
                built[node].levels.append((bit, has_one, other[dice.randrange(len(other))]))
            waiting.append(side)
    return built


def _best_bit(identities: list[int], bit_count: int) -> int | None:
    """Return the bit whose ones are nearest to half of the identities; None where all are equal."""
    every, some = identities[0], 0
    for identity in identities:
        every &= identity
        some |= identity
    best, least = None, len(identities)
    differing = some & ~every
    sample = identities if len(identities) <= 256 else identities[:: len(identities) // 256]
    while differing:
        bit = differing.bit_length() - 1
        differing ^= 1 << bit
        ones = sum(identity >> bit & 1 for identity in sample)
        unevenness = abs(2 * ones - len(sample))
        if unevenness < least or best is None:
            best, least = bit, unevenness
    return best
