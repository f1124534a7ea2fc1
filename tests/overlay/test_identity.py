"""What identities and the metric decide by default, and what cells decide: the statement of the overlay's page."""

from __future__ import annotations

import random

import pytest

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.links import LinkTable
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay

MARKET = StockMarket(stocks=8, buckets=8)


def history(space: SemanticSpace, configuration: OverlayConfiguration) -> SimulatedOverlay:
    """Let peers join, publish, leave, crash, and publish again."""
    dice = random.Random(5)
    overlay = SimulatedOverlay(seed=5, space=space, configuration=configuration)
    for _ in range(40):
        overlay.join(MARKET.draw_interests(dice))
        overlay.run(SECOND)
    for going in (False, True):
        if going:
            overlay.leave(7)
            overlay.crash([11, 12])
        overlay.run(60 * SECOND)
        for _ in range(30):
            overlay.publish(dice.choice(sorted(overlay.peers)), MARKET.draw_quote(dice))
            overlay.run(SECOND)
    return overlay


def test_by_default_no_step_asks_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    distance = SemanticSpace.distance

    def counted(space: SemanticSpace, *arguments: object, **named: object) -> float:
        asked.append(True)
        return distance(space, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(SemanticSpace, "distance", counted)
    history(SemanticSpace(cell_count=MARKET.cell_count), OverlayConfiguration())
    assert not asked
    history(SemanticSpace(cell_count=MARKET.cell_count), OverlayConfiguration.paper())
    assert asked


def test_by_default_identities_choose_the_parent_and_cells_decide_everything_else() -> None:
    """Identities of eight bits are nearly all ones: if more than the parent went by them, everybody got everything."""
    fine, coarse = (
        history(SemanticSpace(cell_count=MARKET.cell_count, bit_count=bits), OverlayConfiguration())
        for bits in (1024, 8)
    )
    assert fine.deliveries == coarse.deliveries
    assert any(fine.deliveries.values())
    assert coarse.counters["false positive: bloom"] == 0
    parents = 0
    for one, other in zip(fine, coarse, strict=True):
        assert one.state.phase is other.state.phase
        tables = one.state.table, other.state.table
        assert all(isinstance(table, LinkTable) for table in tables)
        for cell in one.descriptor.cells:
            for side in ("ring_next", "ring_before"):
                first, second = (getattr(table, side)(cell) for table in tables)
                assert (first and first.node) == (second and second.node)
        parents += tables[0].parents != tables[1].parents
    assert parents


def test_as_printed_identities_decide_who_gets_an_event() -> None:
    coarse = history(SemanticSpace(cell_count=MARKET.cell_count, bit_count=8), OverlayConfiguration.paper())
    assert coarse.counters["false positive: bloom"] > 0
