"""Section III: if N is covered by M, the identity of M has all ones of the identity of N."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.workload import StockMarket

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(peers=400, hash_count=[2, 4], bits=[64, 1024], runs=10)
QUICK = grid(peers=120, hash_count=[2, 4], bits=[64, 1024], runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Compare all pairs: who covers whom by cells, and whose ones contain whose."""
    market, dice = StockMarket(stocks=4, buckets=16), random.Random(seed)
    space = SemanticSpace(
        cell_count=market.cell_count, bit_count=parameters["bits"], hash_count=parameters["hash_count"]
    )
    peers = [
        space.describe(node=node, random_id=node, cells=market.draw_interests(dice).cells)
        for node in range(parameters["peers"])
    ]
    covered = holds = contained = wrong = 0
    for one in peers:
        for other in peers:
            if one.node == other.node:
                continue
            covers, subsumes = other.cells <= one.cells, not other.bits & ~one.bits
            covered += covers
            holds += covers and subsumes
            contained += subsumes
            wrong += subsumes and not covers
    return [{"covered": covered, "subsumed": holds, "contained": contained, "contained_not_covered": wrong}]


def plot(table: Table) -> Any:
    """Draw both directions."""
    figure, axes = chart("share of the pairs", "")
    bars(
        axes,
        {
            "covered, so ones contained": table.total("subsumed") / table.total("covered"),
            "ones contained, yet not covered": table.total("contained_not_covered") / table.total("contained"),
        },
        form="{:.2%}",
    )
    return figure


def check(table: Table) -> Judgment:
    """Every covered pair must be contained."""
    covered, holds = table.total("covered"), table.total("subsumed")
    return Judgment(
        Verdict.REPRODUCED if holds == covered > 0 else Verdict.CONTRADICTED,
        f"holds for {holds:,} of {covered:,} covered pairs",
        f"All {holds:,} pairs in which one node covers the other have the ones contained. The converse is not true: "
        f"{table.total('contained_not_covered'):,} of {table.total('contained'):,} pairs with contained ones are not "
        "covered, nearly all of them with identities of 64 bits, so identities can rule covering out and not in.",
    )
