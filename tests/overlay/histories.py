"""Seeded histories of the overlay: joins, leaves, crashes, changed interests, events, loss, duplicates, delays, cuts.

A history is a list of steps that its seed gives, in rounds. After each round everything is whole again, streams that a
storm held up included. At the latest a quiet time after that the tables are those of the oracle and stay so, and what
is published must reach exactly who wants it. What is published before that may miss somebody, but comes to nobody
twice, and never to who does not want it. Histories of even seeds run over datagrams, those of odd ones over streams;
every other two spread events by arcs; some send octets.

Each step may be left out (`Faults`), so that a history which fails is told with the fewest that still do.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.histories import Faults

from rookery.machine import Effect, Send
from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import decode, encode
from rookery.overlay.peer import Peer
from rookery.overlay.state import Interests
from rookery.papers.seed_002.workload import StockInterests, StockMarket
from rookery.simulated.links import LinkConditions
from rookery.simulated.overlay import SimulatedOverlay

from .oracle import check_quiet_tables

MARKET = StockMarket(stocks=3, buckets=4)
#: Time in which an overlay mends itself: tombstones are forgotten, and leases have run out, been taken and renewed.
QUIET = 150 * SECOND
#: Seconds that a cut or a storm lasts at the most.
LONGEST = 60
#: How often it is looked whether it has.
LOOK = 10 * SECOND
FIRST, ROUNDS, STEPS, MOST = 5, 3, 6, 12
#: Later than any delay by so much that all are overtaken by some.
LATE = LinkConditions(latency=1_000, jitter=59_000)
KINDS = ("join", "join", "leave", "crash", "subscribe", "publish", "publish", "cut", "part", "storm")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens: to whom is a share of those that are there, so that a step means much the same without
    those before it."""

    kind: str
    one: float
    other: float
    seconds: float
    both_ways: bool
    pause: int
    boxes: tuple[tuple[int, float, float], ...]
    quote: tuple[int, float]


def steps_of(seed: int) -> list[list[Step]]:
    """Return the rounds of a history."""
    rolls = random.Random(f"steps {seed}")
    rounds = []
    for _ in range(ROUNDS):
        kinds = [rolls.choice(KINDS) for _ in range(STEPS)]
        rounds.append([_step(kind, rolls) for kind in kinds])
    return rounds


def _step(kind: str, rolls: random.Random) -> Step:
    boxes = []
    for _ in range(rolls.randrange(3)):
        low, high = sorted((rolls.randrange(8), rolls.randrange(8)))
        boxes.append((rolls.randrange(3), low / 2, high / 2 + 0.4))
    return Step(
        kind,
        rolls.random(),
        rolls.random(),
        rolls.choice((1, 10, 25, LONGEST)),
        rolls.random() < 0.5,
        rolls.choice((0, 20_000, SECOND, 5 * SECOND)),
        tuple(boxes),
        (rolls.randrange(3), rolls.randrange(40) / 10),
    )


class EncodingPeer(Peer):
    """A peer whose messages leave as octets, as they do live."""

    __slots__ = ()

    def effects(self) -> list[Effect]:
        return [Send(one.receiver, encode(one.message)) if isinstance(one, Send) else one for one in super().effects()]


class EncodedOverlay(SimulatedOverlay):
    """Peers that send octets."""

    def make(self, interests: Interests, *, node: int | None = None) -> Peer:
        peer = super().make(interests, node=node)
        peer.__class__ = EncodingPeer
        return peer

    def _sent(self, sender: Any, receiver: Any, message: Any) -> None:
        read = decode(message)
        assert read is not None, "octets that are no message"
        super()._sent(sender, receiver, read)


class History:
    """An overlay that lives through the steps of a seed: over datagrams or streams, flooding or by arcs."""

    def __init__(self, seed: int, faults: Faults, *, rests_long: bool = False, doubled: float = 0.3) -> None:
        self.seed = seed
        self.faults = faults
        self.overlay = (EncodedOverlay if seed & 12 == 12 else SimulatedOverlay)(
            seed=seed,
            space=SemanticSpace(cell_count=MARKET.cell_count),
            configuration=OverlayConfiguration(block_size=4, child_limit=2, arc=bool(seed & 2)),
            conditions=replace(LATE, datagrams=not seed & 1),
        )
        self.whole = self.overlay.world.links.conditions
        #: When all that was cut is mended, and all storms are over.
        self.whole_at = 0
        self.rests_long = rests_long
        #: The largest share of datagrams that come twice in a storm.
        self.doubled = doubled

    def run(self) -> None:
        """Live through it all; raise `AssertionError` where a promise is broken."""
        rolls = random.Random(f"first {self.seed}")
        for _ in range(FIRST):
            self.overlay.join(_interests(_step("join", rolls)))
            self.overlay.run(SECOND)
        self.rest()
        for steps in steps_of(self.seed):
            for step in steps:
                if self.faults.strikes():
                    getattr(self, f"_{step.kind}")(step)
                    self.overlay.run(step.pause)
                    assert self.overlay.repeated == 0, "an event came twice"  # I6
            self.rest()

    def rest(self) -> None:
        """Let everything be whole, wait, and hold the overlay to its promises."""
        world = self.overlay.world
        self.overlay.run(max(0, self.whole_at - world.now))
        assert world.links.conditions == self.whole
        self.overlay.run(max(0, world.links.held_up_until() - world.now))
        until = world.now + QUIET
        while not self._stays_quiet() and world.now < until:
            self.overlay.run(LOOK)
        if self.rests_long:  # until everything has run out that can
            self.overlay.run(max(0, until - world.now))
        check_quiet_tables(self.overlay)
        rolls = random.Random(f"rest {self.seed}")
        before = self.overlay.counters["duplicate"]
        published = []
        for node in rolls.sample(sorted(self.overlay.peers), min(4, len(self.overlay.peers))):
            quote = (rolls.randrange(3), rolls.randrange(40) / 10)
            published.append((self.overlay.publish(node, quote), self.overlay.audience(quote)))
            self.overlay.run(SECOND)
        self.overlay.run(20 * SECOND)
        for event, audience in published:
            assert set(self.overlay.deliveries[event]) == audience, "an event missed or surprised somebody"  # I7, I9
        assert self.overlay.repeated == 0, "an event came twice"
        if self.overlay.configuration.arc:
            assert self.overlay.counters["duplicate"] == before, "an arc was sent twice"

    def _stays_quiet(self) -> bool:
        """Whether the tables are right, and still so when leases were renewed: before the leases of those that crashed
        have run out they may be right by chance.
        """
        if not self._is_quiet():
            return False
        self.overlay.run(2 * LOOK)
        return self._is_quiet()

    def _is_quiet(self) -> bool:
        try:
            check_quiet_tables(self.overlay)
        except (AssertionError, LookupError, ValueError):
            return False
        return True

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _someone(self, share: float) -> int:
        nodes = sorted(self.overlay.peers)
        return nodes[int(share * len(nodes))]

    def _join(self, step: Step) -> None:
        if len(self.overlay.peers) < MOST and self.overlay.ready:
            self.overlay.join(_interests(step))

    def _leave(self, step: Step) -> None:
        self._settle()
        if len(self.overlay.peers) > 2:
            self.overlay.leave(self._someone(step.one))

    def _crash(self, step: Step) -> None:
        """Some at once, as long as most of those remain that had their place."""
        self._settle()
        nodes = sorted(self.overlay.peers)
        count = int(step.one * (len(nodes) // 3 + 1))
        victims = random.Random(step.other).sample(nodes, count)
        if self._leave_alone(victims):  # a newcomer that has met nobody else: tables come with the next heartbeat
            self.overlay.run(2 * (self.overlay.configuration.heartbeat or 0))
        self.overlay.crash(victims)

    def _leave_alone(self, victims: list[int]) -> bool:
        """Whether somebody who stays knows nobody else who does: he could not come back."""
        staying = self.overlay.peers.keys() - set(victims)
        return len(staying) > 1 and any(staying.isdisjoint(self.overlay.peers[one].state.ways_in) for one in staying)

    def _subscribe(self, step: Step) -> None:
        self._settle()
        self.overlay.subscribe(self._someone(step.one), _interests(step))

    def _publish(self, step: Step) -> None:
        if self.overlay.ready:
            ready = self.overlay.ready
            event = self.overlay.publish(ready[int(step.one * len(ready))], step.quote)
            assert set(self.overlay.deliveries[event]) <= self.overlay.audience(step.quote)

    def _cut(self, step: Step) -> None:
        """Cut a link for a while."""
        one, other = self._someone(step.one), self._someone(step.other)
        if one != other:
            self._cut_links([(one, other)], step)

    def _part(self, step: Step) -> None:
        """Part the overlay in two for a while."""
        nodes = sorted(self.overlay.peers)
        random.Random(step.one).shuffle(nodes)
        place = 1 + int(step.other * (len(nodes) - 1))
        self._cut_links([(one, other) for one in nodes[:place] for other in nodes[place:]], step)

    def _storm(self, step: Step) -> None:
        """Lose and double messages for a while: datagrams alone, of a stream all that was not confirmed."""
        links = self.overlay.world.links
        doubled = step.other * (self.doubled if self.whole.datagrams else 0.02)
        links.conditions = replace(self.whole, loss=0.3 * step.one, duplication=doubled)
        self._later(step, lambda: setattr(links, "conditions", self.whole))

    def _cut_links(self, pairs: list[tuple[int, int]], step: Step) -> None:
        world = self.overlay.world
        for one, other in pairs:
            world.cut(one, other, both_ways=step.both_ways)

        def mend() -> None:
            for one, other in pairs:
                world.mend(one, other)

        self._later(step, mend)

    def _later(self, step: Step, call: Callable[[], None]) -> None:
        world = self.overlay.world
        when = world.now + int(step.seconds * SECOND)
        self.whole_at = max(self.whole_at, when)
        world.calendar.at(when, call)

    def _settle(self) -> None:
        """Let joins end: who knows nobody but one that goes just then cannot come back."""
        self.overlay.run(60 * SECOND, until=lambda: len(self.overlay.ready) == len(self.overlay.peers))
        self.overlay.run(SECOND)


def _interests(step: Step) -> StockInterests:
    return MARKET.interests(step.boxes)
