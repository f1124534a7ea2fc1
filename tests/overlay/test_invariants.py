"""Invariants I1 to I9 of the overlay, over random histories of joins, leaves, crashes, changes and events.

After any history and a quiet time, the tables of all peers must be those of the brute-force oracle, and events must
reach exactly who wants them. Names of the invariants as in the docs: `docs/overlay.md`.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.state import Phase
from rookery.papers.seed_002.workload import StockInterests, StockMarket
from rookery.simulated.links import LinkConditions
from rookery.simulated.overlay import SimulatedOverlay

from .oracle import check_quiet_tables

MARKET = StockMarket(stocks=3, buckets=4)
QUIET = 150 * SECOND
LARGEST = 10

boxes = st.tuples(st.integers(0, 2), st.integers(0, 7), st.integers(0, 7)).map(
    lambda box: (box[0], min(box[1:]) / 2, max(box[1:]) / 2 + 0.4)
)
wants = st.lists(boxes, max_size=2).map(MARKET.interests)
quotes = st.tuples(st.integers(0, 2), st.integers(0, 39).map(lambda tenth: tenth / 10))


class OverlayMachine(RuleBasedStateMachine):
    """A small overlay under arbitrary treatment."""

    arc = False
    conditions = LinkConditions(latency=1_000, jitter=59_000, datagrams=True)

    def __init__(self) -> None:
        super().__init__()
        self.overlay = SimulatedOverlay(
            seed=0,
            space=SemanticSpace(cell_count=MARKET.cell_count),
            configuration=OverlayConfiguration(block_size=4, child_limit=2, arc=self.arc),
            conditions=self.conditions,
        )
        self.is_quiet = True

    @precondition(lambda self: len(self.overlay.peers) < LARGEST)
    @rule(interests=wants, pause=st.sampled_from([0, 10_000, SECOND]))
    def join(self, interests: StockInterests, pause: int) -> None:
        if self.overlay.peers and not self.overlay.ready:
            self.overlay.run(5 * SECOND)
        if self.overlay.ready or not self.overlay.peers:
            self.overlay.join(interests)
            self.overlay.run(pause)
            self.is_quiet = False

    @precondition(lambda self: self.overlay.peers)
    @rule(data=st.data(), pause=st.sampled_from([0, 10_000, SECOND]))
    def leave(self, data: st.DataObject, pause: int) -> None:
        self._spare_one()
        if len(self.overlay.peers) > 1:
            self.overlay.leave(data.draw(st.sampled_from(sorted(self.overlay.peers))))
            self.overlay.run(pause)
            self.is_quiet = False

    @precondition(lambda self: self.overlay.peers)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """One or some at once; the overlay is whole before, since it promises nothing about half-joined peers alone."""
        self._quiet()
        nodes = sorted(self.overlay.peers)
        gone = data.draw(st.sets(st.sampled_from(nodes), max_size=max(0, len(nodes) // 3)))
        self.overlay.crash(gone)
        self.is_quiet = False

    @precondition(lambda self: self.overlay.ready)
    @rule(data=st.data(), interests=wants)
    def subscribe(self, data: st.DataObject, interests: StockInterests) -> None:
        self._quiet()
        self.overlay.subscribe(data.draw(st.sampled_from(sorted(self.overlay.peers))), interests)
        self.is_quiet = False

    @precondition(lambda self: self.overlay.ready)
    @rule(data=st.data(), quote=quotes)
    def publish_at_any_time(self, data: st.DataObject, quote: tuple[int, float]) -> None:
        """Nothing is promised about who gets it now, but never twice, and never to who does not want it."""
        self.overlay.publish(data.draw(st.sampled_from(sorted(self.overlay.ready))), quote)

    @precondition(lambda self: self.overlay.ready)
    @rule(data=st.data(), quote=quotes)
    def publish_at_rest(self, data: st.DataObject, quote: tuple[int, float]) -> None:
        self._quiet()
        check_quiet_tables(self.overlay)
        event = self.overlay.publish(data.draw(st.sampled_from(sorted(self.overlay.peers))), quote)
        before = self.overlay.counters["duplicate"]
        self.overlay.run(20 * SECOND)
        assert set(self.overlay.deliveries[event]) == self.overlay.audience(quote)  # I7 and I9
        if self.arc:
            assert self.overlay.counters["duplicate"] == before

    @invariant()
    def no_event_is_delivered_twice(self) -> None:
        assert self.overlay.repeated == 0  # I6

    def teardown(self) -> None:
        self._quiet()
        if self.overlay.peers:
            check_quiet_tables(self.overlay)

    def _spare_one(self) -> None:
        """Let joins end, first LINK included: who knows nobody but one that goes just then cannot come back."""
        self.overlay.run(60 * SECOND, until=lambda: len(self.overlay.ready) == len(self.overlay.peers))
        self.overlay.run(SECOND)

    def _quiet(self) -> None:
        if not self.is_quiet:
            self.overlay.run(QUIET)
            self.is_quiet = True


class ArcMachine(OverlayMachine):
    """The same with exactly-once spreading."""

    arc = True


SMALL = settings(
    max_examples=200,
    stateful_step_count=14,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.mark.parametrize("machine", [OverlayMachine, ArcMachine])
def test_invariants(machine: type[OverlayMachine]) -> None:
    run_state_machine_as_test(machine, settings=SMALL)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("machine", [OverlayMachine, ArcMachine])
def test_invariants_at_length(machine: type[OverlayMachine]) -> None:
    run_state_machine_as_test(machine, settings=settings(SMALL, max_examples=10_000, derandomize=False))


@pytest.mark.parametrize("heir_goes_too", [False, True])
@pytest.mark.parametrize("seed", [12, 13, 16, 17])
def test_who_comes_to_a_cluster_while_its_primary_goes_is_not_forgotten(seed: int, *, heir_goes_too: bool) -> None:
    """The heir hears the farewell before it hears of the newcomer, which then waits for one that is gone."""
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=MARKET.cell_count),
        conditions=LinkConditions(latency=1_000, jitter=59_000, datagrams=True),
    )
    nothing, something = MARKET.interests([]), MARKET.interests([(0, 0.0, 0.4)])
    for interests in (nothing, nothing, something):
        overlay.join(interests)
        overlay.run(QUIET)
    overlay.subscribe(2, nothing)
    overlay.run(60 * SECOND, until=lambda: len(overlay.ready) == len(overlay.peers))
    overlay.leave(0)
    if heir_goes_too:
        overlay.run(SECOND)
        overlay.leave(1)
    overlay.run(QUIET)
    check_quiet_tables(overlay)


@pytest.mark.parametrize("seed", range(6))
def test_everybody_of_the_same_mind(seed: int) -> None:
    """Many peers, few kinds: clusters form while others join, and lose their primaries."""
    dice = random.Random(seed)
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=MARKET.cell_count),
        conditions=LinkConditions(latency=1_000, jitter=59_000, datagrams=True),
    )
    kinds = [MARKET.interests([(0, 0.5, 1.5)]), MARKET.interests([(0, 0.5, 2.5)]), MARKET.interests([(1, 0, 3.5)])]
    for _ in range(24):
        overlay.join(dice.choice(kinds))
        overlay.run(dice.choice([0, 20_000, SECOND]) if overlay.ready else SECOND)
    overlay.run(QUIET)
    check_quiet_tables(overlay)
    assert sum(peer.state.phase is Phase.ACTIVE for peer in overlay) == 3
    overlay.crash([peer.node for peer in overlay if peer.state.phase is Phase.ACTIVE])
    overlay.run(QUIET)
    check_quiet_tables(overlay)
    assert overlay.counters["takeover"] >= 3
    for primary in [peer.node for peer in overlay if peer.state.phase is Phase.ACTIVE]:
        overlay.leave(primary)
    overlay.run(QUIET)
    check_quiet_tables(overlay)
    event = overlay.publish(dice.choice(overlay.ready), (0, 1.0))
    overlay.run(10 * SECOND)
    assert set(overlay.deliveries[event]) == overlay.audience((0, 1.0)) != set()
