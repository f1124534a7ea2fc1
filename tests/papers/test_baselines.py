"""The baselines do what they are compared for: flooding and the hypercube reach everybody, at their price."""

from __future__ import annotations

import random

import pytest

from rookery.overlay.identity import SemanticSpace
from rookery.papers.seed_002.baseline_world import SimulatedBaseline
from rookery.papers.seed_002.baselines import build_hypercube, build_mesh
from rookery.papers.seed_002.workload import StockMarket

COUNT = 120


@pytest.fixture(params=[None, 2.0])
def market(request: pytest.FixtureRequest) -> StockMarket:
    return StockMarket() if request.param is None else StockMarket.pareto(request.param, random.Random(1))


def test_flooding_reaches_everybody_and_everybody_pays(market: StockMarket) -> None:
    dice = random.Random(0)
    baseline = SimulatedBaseline(build_mesh([market.draw_interests(dice) for _ in range(COUNT)], dice, degree=6))
    for _ in range(20):
        quote = market.draw_quote(dice)
        event = baseline.publish(dice.randrange(COUNT), quote)
        assert set(baseline.deliveries[event]) == baseline.audience(quote)
    links = sum(peer.spread.degree for peer in baseline.peers)
    assert baseline.messages == 20 * (links - COUNT + 1)  # every link both ways, but back to the first sender


def test_gossip_costs_its_fanout(market: StockMarket) -> None:
    dice = random.Random(0)
    interests = [market.draw_interests(dice) for _ in range(COUNT)]
    baseline = SimulatedBaseline(build_mesh(interests, dice, degree=8, fanout=3))
    wanted = reached = 0
    for _ in range(30):
        quote = market.draw_quote(dice)
        event = baseline.publish(dice.randrange(COUNT), quote)
        assert set(baseline.deliveries[event]) <= baseline.audience(quote)
        wanted += len(baseline.audience(quote))
        reached += len(baseline.deliveries[event])
    assert baseline.messages <= 30 * COUNT * 3
    assert 0.5 * wanted < reached


def test_the_hypercube_misses_nobody_and_sends_to_nobody_twice(market: StockMarket) -> None:
    dice = random.Random(0)
    space = SemanticSpace(cell_count=market.cell_count)
    interests = [market.draw_interests(dice) for _ in range(COUNT)]
    described = [space.describe(node=node, random_id=node, cells=one.cells) for node, one in enumerate(interests)]
    baseline = SimulatedBaseline(build_hypercube(described, interests, space, dice))
    for _ in range(40):
        quote = market.draw_quote(dice)
        before = baseline.messages
        event = baseline.publish(dice.randrange(COUNT), quote)
        assert set(baseline.deliveries[event]) == baseline.audience(quote)
        assert baseline.messages - before <= 2 * COUNT
    assert baseline.counters["relay"] + baseline.counters["uninterested"] > 0
