"""The printed join when many join at once: everybody gets its place, whatever crosses on the way or is lost."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from rookery.machine import Send
from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import Join, JoinReply
from rookery.overlay.peer import Peer
from rookery.overlay.state import Phase
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.links import LinkConditions
from rookery.simulated.overlay import SimulatedOverlay


def crowd(seed: int, *, alpha: float | None = None, loss: float = 0.0, count: int = 24) -> SimulatedOverlay:
    """Let peers join within moments of each other, as printed, and wait."""
    dice = random.Random(seed)
    market = StockMarket() if alpha is None else StockMarket.pareto(alpha, random.Random(seed))
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=OverlayConfiguration.paper(heartbeat=dice.choice((None, 5 * SECOND))),
        conditions=LinkConditions(latency=5_000, jitter=45_000, loss=loss, datagrams=True),
    )
    pause = dice.choice((0, 1_000, 20_000, 100_000))
    for _ in range(count):
        overlay.join(market.draw_interests(dice))
        overlay.run(pause)
    overlay.run(90 * SECOND)
    return overlay


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 500), marks=pytest.mark.slow)], ids=str)
def test_joins_that_overlap_end(seeds: range) -> None:
    """Who answers a JOIN leads others to the newcomer at once, so a newcomer that keeps silent stops them all."""
    for seed in seeds:
        overlay = crowd(seed)
        assert len(overlay.ready) == len(overlay.peers) == 24, f"seed {seed}"


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 500), marks=pytest.mark.slow)], ids=str)
def test_joins_of_one_mind_that_overlap_end_although_messages_are_lost(seeds: range) -> None:
    """Peers of one identity hear of each other while all are joining: somebody must be the first of the cluster."""
    for seed in seeds:
        overlay = crowd(seed, alpha=4.0, loss=0.05)
        assert len(overlay.ready) == len(overlay.peers) == 24, f"seed {seed}"
        for peer in overlay:
            if peer.state.phase is Phase.MEMBER:
                assert peer.state.primary is not None
                assert peer.state.primary.identity == peer.state.self_descriptor.identity


def test_a_joiner_whose_twin_never_answers_is_the_first_of_its_cluster() -> None:
    market, space = StockMarket(), SemanticSpace(cell_count=StockMarket().cell_count)
    configuration = OverlayConfiguration.paper()
    late = Peer(
        node=3,
        interests=market.interests([(1, 1.0, 2.0)]),
        space=space,
        random=random.Random(0),
        configuration=configuration,
    )
    there = space.describe(node=1, random_id=1, cells=market.interests([(0, 1.0, 2.0)]).cells)
    twin = space.describe(node=2, random_id=2, cells=market.interests([(1, 1.0, 2.0)]).cells)
    now = 0
    late.start([1], now)
    asked: Counter[str] = Counter()
    while not late.is_ready:
        questions = [one.message for one in late.effects() if isinstance(one, Send)]
        asked.update(type(one).__name__ for one in questions)
        number = next((one.request for one in questions if isinstance(one, Join)), None)
        if number is not None:
            late.receive_many([JoinReply(there, (twin,), number)], 1, now)
        else:
            now += 10 * SECOND
            late.wake(now)
        assert now < 1_000 * SECOND, "it waits for ever"
    assert late.state.phase is Phase.ACTIVE
    assert asked["ClusterJoin"] == configuration.attempts
