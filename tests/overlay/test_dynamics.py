"""Joins, mass crashes, churn and hubs, on a scale that fits a test; the full figures come from `benchmarks overlay`."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import Relation, SemanticSpace, relation
from rookery.overlay.links import LinkTable
from rookery.overlay.messages import LinkHeartbeat, Message
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.links import LinkConditions
from rookery.simulated.overlay import SimulatedOverlay

MARKET = StockMarket()


def grown(
    count: int, *, seed: int = 0, pause: int = 100_000, **settings: int
) -> tuple[SimulatedOverlay, random.Random]:
    dice = random.Random(seed)
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=MARKET.cell_count),
        configuration=OverlayConfiguration(**settings),  # type: ignore[arg-type]
        conditions=LinkConditions(latency=5_000, jitter=45_000, datagrams=True),
    )
    for _ in range(count):
        overlay.join(MARKET.draw_interests(dice))
        overlay.run(pause)
    overlay.run(60 * SECOND)
    return overlay, dice


def delivery(overlay: SimulatedOverlay, dice: random.Random, events: int) -> tuple[int, int]:
    waiting = []
    for _ in range(events):
        quote = MARKET.draw_quote(dice)
        waiting.append((overlay.publish(dice.choice(overlay.ready), quote), overlay.audience(quote)))
        overlay.run(10_000)
    overlay.run(30 * SECOND)
    assert overlay.repeated == 0
    return sum(len(audience) for _, audience in waiting), sum(len(overlay.deliveries[event]) for event, _ in waiting)


def test_joins_cost_few_messages_and_leave_exact_rings() -> None:
    dice = random.Random(0)
    overlay = SimulatedOverlay(
        seed=0, space=SemanticSpace(cell_count=MARKET.cell_count), configuration=OverlayConfiguration(heartbeat=None)
    )
    for _ in range(300):
        overlay.join(MARKET.draw_interests(dice))
        overlay.settle()
    assert sum(overlay.messages.values()) / 300 <= 100
    static = SimulatedOverlay(
        seed=0, space=SemanticSpace(cell_count=MARKET.cell_count), configuration=OverlayConfiguration(heartbeat=None)
    )
    dice = random.Random(0)
    static.install([MARKET.draw_interests(dice) for _ in range(300)])
    for peer, twin in zip(overlay, static, strict=True):
        assert peer.state.phase is twin.state.phase
        for cell in peer.descriptor.cells:
            assert peer.state.table.ring_next(cell) == twin.state.table.ring_next(cell)
            assert peer.state.table.ring_before(cell) == twin.state.table.ring_before(cell)


def test_a_third_may_crash_at_once() -> None:
    overlay, dice = grown(120)
    overlay.crash(dice.sample(sorted(overlay.peers), 36))
    overlay.run(90 * SECOND)
    due, made = delivery(overlay, dice, 60)
    assert due == made > 0
    assert overlay.counters["failure noticed"] > 0


def test_churn_ends_in_exact_delivery() -> None:
    overlay, dice = grown(80)
    for _ in range(30):
        victim = dice.choice(sorted(overlay.ready))
        if dice.random() < 0.5:
            overlay.crash([victim])
        else:
            overlay.leave(victim)
        overlay.join(MARKET.draw_interests(dice))
        overlay.run(2 * SECOND)
    overlay.run(90 * SECOND)
    assert len(overlay.ready) == len(overlay.peers) == 80
    due, made = delivery(overlay, dice, 60)
    assert due == made > 0


def test_lost_messages_are_made_up_for() -> None:
    overlay, dice = grown(40)
    whole = overlay.world.links.conditions
    overlay.world.links.conditions = replace(whole, loss=0.05)
    for _ in range(15):
        overlay.join(MARKET.draw_interests(dice))
        overlay.run(3 * SECOND)
    overlay.world.links.conditions = whole
    overlay.run(120 * SECOND)
    assert len(overlay.ready) == 55
    due, made = delivery(overlay, dice, 60)
    assert due == made > 0


@pytest.mark.parametrize("limit", [2, 64])
def test_a_hub_sends_children_on(limit: int) -> None:
    """One peer wants everything of a stock, others parts of it, nested: many would choose the same parent."""
    dice = random.Random(0)
    overlay = SimulatedOverlay(
        seed=0,
        space=SemanticSpace(cell_count=MARKET.cell_count),
        configuration=OverlayConfiguration(heartbeat=None, child_limit=limit),
    )
    overlay.install([])
    for low, high in [
        (0.0, 15.9),
        *((0.0, 2.0 + step * 0.5) for step in range(20)),
        *((s * 0.4, s * 0.4 + 0.3) for s in range(30)),
    ]:
        overlay.join(MARKET.interests([(0, low, high), (1 + dice.randrange(2), 0.0, 0.5)][: 1 + (low == 0.0)]))
        overlay.settle()
    if limit == 2:
        assert overlay.messages["Redirect"] > 0
    else:
        assert overlay.messages["Redirect"] == 0
    for peer in overlay:
        table = peer.state.table
        assert isinstance(table, LinkTable)
        assert all(relation(table.own.cells, table.known[node].cells) is Relation.COVERING for node in table.parents)
    for _ in range(30):
        quote = (0, dice.uniform(0, 16))
        event = overlay.publish(dice.choice(overlay.ready), quote)
        overlay.settle()
        assert set(overlay.deliveries[event]) == overlay.audience(quote)


def test_the_printed_join_goes_down_the_metric_and_leaves_rings_open() -> None:
    """Residual identities and the metric alone: everybody gets in, and some events do not arrive."""
    delivered = {}
    for name, configuration in (
        ("paper", OverlayConfiguration.paper(heartbeat=None)),
        ("sound", OverlayConfiguration(heartbeat=None)),
    ):
        dice = random.Random(4)
        overlay = SimulatedOverlay(
            seed=4, space=SemanticSpace(cell_count=MARKET.cell_count), configuration=configuration
        )
        for _ in range(150):
            overlay.join(MARKET.draw_interests(dice))
            overlay.settle()
        assert len(overlay.ready) == 150
        due = made = 0
        for _ in range(60):
            quote = MARKET.draw_quote(dice)
            event = overlay.publish(dice.choice(overlay.ready), quote)
            overlay.settle()
            due += len(overlay.audience(quote))
            made += len(overlay.deliveries[event])
        delivered[name] = made / due
        if name == "paper":
            assert overlay.messages["Find"] == overlay.messages["Lookup"] == 0
            assert overlay.messages["Join"] > 150
    assert delivered["paper"] < delivered["sound"] == 1.0


def test_printed_heartbeats_go_along_links_and_carry_no_tables_at_rest() -> None:
    """What tables bring is considered and forgotten; else each peer would soon beat to everybody."""
    tables: list[LinkHeartbeat] = []

    def watch(sender: int, receiver: int, message: Message) -> None:
        if isinstance(message, LinkHeartbeat) and message.table is not None:
            tables.append(message)

    dice = random.Random(2)
    overlay = SimulatedOverlay(
        seed=2, space=SemanticSpace(cell_count=MARKET.cell_count), configuration=OverlayConfiguration.paper()
    )
    overlay.on_message = watch
    for _ in range(40):
        overlay.join(MARKET.draw_interests(dice))
        overlay.run(SECOND)
    overlay.run(60 * SECOND)
    assert tables
    tables.clear()
    overlay.run(20 * SECOND)
    assert not tables
    links = [peer.state.table.chosen | peer.state.table.incoming for peer in overlay]
    assert [set(peer.state.table.known) for peer in overlay] == links
    assert max(len(one) for one in links) < 39
