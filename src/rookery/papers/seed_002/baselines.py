"""What the overlay is compared with: flooding and gossip on a random mesh, and a hypercube on the same identities.

One machine, `BaselinePeer`, and two ways to pass events on:
- `MeshSpread`: to all links (flooding: everybody gets everything) or to a few at random (gossip: nearly everybody does,
  for fewer messages).
- `HypercubeSpread`, in the style of Mirinae (the seed's reference 5): peers stand at the leaves of a tree over bits
  of their identities, and keep a contact on the other side of every bit. An event whose bits are known prunes only the
  sides that lack such a bit, so peers on the sides that are left relay it whether they want it or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from rookery.machine import Effect, Emit, Send
from rookery.machine.randomness import RandomNumbers
from rookery.overlay.dissemination import Deliver
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.messages import CellEvent, EventId
from rookery.overlay.state import Interests

__all__ = ["BaselinePeer", "HypercubeSpread", "MeshSpread", "Onward", "Spread", "build_hypercube", "build_mesh"]


class Onward(NamedTuple):
    """What becomes of an event at a peer: matched there unless a counter says why not, and sent on to these."""

    counter: str | None
    sends: list[Send]


class Spread(Protocol):
    """How a baseline passes events on; one for each peer."""

    @property
    def degree(self) -> int:
        """How many links the peer keeps."""
        ...

    def start(self, event: CellEvent) -> Onward:
        """Publish an event here."""
        ...

    def onward(self, event: CellEvent, sender: int) -> Onward:
        """Take an event from another peer."""
        ...


class BaselinePeer:
    """A machine that passes events on and does nothing else: it never joins, fails or waits."""

    __slots__ = ("_effects", "_sequence", "counters", "interests", "node", "spread")

    def __init__(self, node: int, interests: Interests, spread: Spread) -> None:
        self.node = node
        self.interests = interests
        self.spread = spread
        self.counters: Counter[str] = Counter()
        self._effects: list[Effect] = []
        self._sequence = 0

    def publish(self, payload: Any, now: int) -> EventId:
        """Publish an event; return its id."""
        self._sequence += 1
        event_id = (self.node, self._sequence)
        event = CellEvent(event_id, self.interests.cell(payload), payload, 0)
        self._take(event, self.spread.start(event))
        return event_id

    def receive_many(self, messages: Iterable[Any], sender: Any, now: int) -> None:
        """Take events."""
        for event in messages:
            if isinstance(event, CellEvent):
                self._take(event, self.spread.onward(event, sender))
            else:
                self.counters["message rejected"] += 1

    def _take(self, event: CellEvent, onward: Onward) -> None:
        if onward.counter is not None:
            self.counters[onward.counter] += 1
        elif subscriptions := self.interests.matching(event.payload):
            self._effects.append(Emit(Deliver(event.event_id, event.payload, event.hop, tuple(subscriptions))))
        else:
            self.counters["false positive: cell" if event.cell in self.interests.cells else "uninterested"] += 1
        self._effects += onward.sends

    def undeliverable(self, message: Any, receiver: Any, now: int) -> None:
        """Learn that a peer is gone: nothing is done about it."""
        self.counters["undeliverable"] += 1

    def lose(self, node: Any, now: int) -> None:
        """Learn that a connection broke: nothing is done about it."""

    def completed(self, effect: Effect, result: Any, now: int) -> None:
        """Learn of a write: there is none."""

    def wake(self, now: int) -> None:
        """Do what is due: nothing ever is."""

    def timer(self) -> int | None:
        """Return None: there is nothing to wait for."""
        return None

    def effects(self) -> list[Effect]:
        """Return what is to be done, and forget it."""
        effects, self._effects = self._effects, []
        return effects


@dataclass(slots=True)
class MeshSpread:
    """To all links of a random mesh, or some of them, the first time."""

    node: int
    random: RandomNumbers
    fanout: int | None = None
    """How many links an event is passed on to; None for all."""
    links: list[int] = field(default_factory=list)
    seen: set[EventId] = field(default_factory=set)

    @property
    def degree(self) -> int:
        """How many links the peer keeps."""
        return len(self.links)

    def start(self, event: CellEvent) -> Onward:
        """Publish an event here."""
        return self.onward(event, self.node)

    def onward(self, event: CellEvent, sender: int) -> Onward:
        """Take an event, and pass it on the first time."""
        if event.event_id in self.seen:
            return Onward("duplicate", [])
        self.seen.add(event.event_id)
        targets = [node for node in self.links if node != sender]
        if self.fanout is not None:
            targets = self.random.sample(targets, min(self.fanout, len(targets)))
        passed = CellEvent(event.event_id, event.cell, event.payload, event.hop + 1)
        return Onward(None, [Send(node, passed) for node in targets])


def build_mesh(
    interests: Sequence[Interests], random: RandomNumbers, *, degree: int, fanout: int | None = None
) -> list[BaselinePeer]:
    """Return a connected random mesh: a ring, and random links until the mean degree is reached."""
    count = len(interests)
    spreads = [MeshSpread(node, random, fanout) for node in range(count)]
    edges = {(node, (node + 1) % count) for node in range(count)} if count > 1 else set()
    while len(edges) < count * degree // 2 and count > degree:
        one, other = random.randrange(count), random.randrange(count)
        if one != other and (other, one) not in edges:
            edges.add((one, other))
    for one, other in sorted(edges):
        spreads[one].links.append(other)
        if other != one:
            spreads[other].links.append(one)
    return [BaselinePeer(node, one, spread) for node, (one, spread) in enumerate(zip(interests, spreads, strict=True))]


@dataclass(slots=True)
class HypercubeSpread:
    """From a leaf: for each level its bit, on which side the peer stands, and a contact on the other side."""

    space: SemanticSpace
    levels: list[tuple[int, bool, int]] = field(default_factory=list)
    twins: list[int] = field(default_factory=list)
    """Peers of the same leaf."""

    @property
    def degree(self) -> int:
        """How many links the peer keeps, those of its own leaf not counted."""
        return len(self.levels)

    def start(self, event: CellEvent) -> Onward:
        """Publish an event here; it enters at level 0, whether this peer wants it or not."""
        return self.onward(event, 0)

    def onward(self, event: CellEvent, sender: int) -> Onward:
        """Take an event and spread it over the rest of the levels; `arc_end` carries the level."""
        level, within_leaf = event.arc_end or (0, 0)
        sends: list[Send] = []
        mask = self.space.mask(event.cell)
        if not within_leaf:
            for place in range(level, len(self.levels)):
                bit, has_one, contact = self.levels[place]
                passed = CellEvent(event.event_id, event.cell, event.payload, event.hop + 1, arc_end=(place + 1, 0))
                needed = mask >> bit & 1
                if not needed or not has_one:
                    sends.append(Send(contact, passed))
                if needed and not has_one:
                    return Onward("relay", sends)  # nobody on this side can want it, ourselves included
            for node in self.twins:
                inner = CellEvent(event.event_id, event.cell, event.payload, event.hop + 1, arc_end=(0, 1))
                sends.append(Send(node, inner))
        return Onward(None, sends)


def build_hypercube(
    peers: Sequence[Descriptor], interests: Sequence[Interests], space: SemanticSpace, random: RandomNumbers
) -> list[BaselinePeer]:
    """Return the peers of a hypercube; every part is cut at the bit that halves it best."""
    built = [HypercubeSpread(space) for _ in interests]
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
                built[node].levels.append((bit, has_one, other[random.randrange(len(other))]))
            waiting.append(side)
    return [BaselinePeer(node, one, spread) for node, (one, spread) in enumerate(zip(interests, built, strict=True))]


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
