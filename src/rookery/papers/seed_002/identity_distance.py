"""Section III: how similar two nodes are can be estimated by the distance of their identities."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.identity import SemanticSpace, hamming
from rookery.overlay.workload import StockMarket

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(bits=[64, 256, 1024], hash_count=[2, 4], peers=300, runs=5)
QUICK = grid(bits=[64, 1024], hash_count=4, peers=100, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Compare all pairs: cells that one wants and the other does not, and bits that differ."""
    market, dice = StockMarket(), random.Random(seed)
    space = SemanticSpace(
        cell_count=market.cell_count, bit_count=parameters["bits"], hash_count=parameters["hash_count"]
    )
    peers = [
        space.describe(node=node, random_id=node, cells=market.draw_interests(dice).cells)
        for node in range(parameters["peers"])
    ]
    pairs = [(one, other) for place, one in enumerate(peers) for other in peers[:place]]
    cells = np.array([len(one.cells ^ other.cells) for one, other in pairs], dtype=float)
    bits = np.array([hamming(one.bits, other.bits) for one, other in pairs], dtype=float)
    shared = np.array([len(one.cells & other.cells) > 1 for one, other in pairs])  # more than the one all have
    order = np.argsort(np.argsort(bits, kind="stable"), kind="stable")
    near = (order[shared].sum() - shared.sum() * (shared.sum() - 1) / 2) / (shared.sum() * (~shared).sum())
    return [
        {
            "correlation": round(float(np.corrcoef(cells, bits)[0, 1]), 9),
            "sharing_nearer": round(1 - float(near), 9),
            "pairs_sharing": int(shared.sum()),
        }
    ]


def plot(table: Table) -> Any:
    """Draw both measures over the width of the identity."""
    figure, axes = chart("bits of an identity (4 hash functions)", "share, or correlation")
    four = table.where(hash_count=4)
    lines(axes, four, x="bits", y="correlation", label="Hamming distance with cells not shared")
    lines(axes, four, x="bits", y="sharing_nearer", label="a pair that shares cells is the nearer one", first=1)
    reference(axes, four.values("bits"), [0.5 for _ in four.values("bits")], "by chance")
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 1.05)
    return figure


def check(table: Table) -> Judgment:
    """The distance must follow what is not shared, and pairs that share must be the nearer ones."""
    wide = table.where(bits=1024)
    follows, nearer = wide.mean("correlation"), wide.mean("sharing_nearer")
    verdict = Verdict.CONTRADICTED if follows < 0.9 else Verdict.REPRODUCED if nearer > 0.9 else Verdict.REGIME
    return Judgment(
        verdict,
        f"1,024 bits: correlation {follows:.3f} with the cells not shared; a sharing pair is nearer in {nearer:.0%}",
        f"The Hamming distance of two identities follows the number of cells that one wants and the other does not "
        f"(correlation {follows:.3f} at 1,024 bits, {table.where(bits=64).mean('correlation'):.2f} at 64). It is a "
        "poor sign of something in common: of a pair that shares a cell and a pair that does not, the first is the "
        f"nearer one in {nearer:.0%} of the cases, because the distance grows with how much the two want at all. "
        "Equation 1 divides by the affinity for that reason, and needs the cells for it.",
    )
