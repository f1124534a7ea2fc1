"""At which load the code stops paying: stated as x < 4y, 80 %."""

from __future__ import annotations

import itertools
from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.seed_001.compressed_size import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw what the code saves."""
    figure, axes = chart("load of the table", "saved, as a share of the raw table")
    saved = Table([{**row, "saved": 1 - row["ratio"]} for row in table])
    lines(axes, saved, x="load", y="saved", by="width")
    loads = table.values("load")
    reference(axes, loads, [1 - (9 * load + 4 * (1 - load)) / 8 for load in loads], "8 bits, worst case")
    axes.axhline(0, linewidth=0.8, color="#8a8f98")
    return figure


def check(table: Table) -> Judgment:
    """The worst case must break even at 80 %, and there the measured saving must be nearly gone."""
    seed, wide = table.where(width=8), table.where(width=12, load=0.8)
    at = seed.where(load=0.8)
    worst = at.mean("worst_bits") / at.mean("raw_bits")
    saving = 1 - at.mean("ratio")
    means = sorted((load, part.mean("ratio")) for load, part in seed.by("load"))
    crossing = next(
        low + (1 - one) / (other - one) * (high - low)
        for (low, one), (high, other) in itertools.pairwise(means)
        if one < 1 <= other
    )
    holds = abs(worst - 1) < 0.005 and 0 < saving < 0.06
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"worst case breaks even at 80 %; on average at {crossing:.1%}",
        f"9x + 4y < 8(x + y) is x < 4y, a load of 80 %. Measured there the code still saves {saving:.1%}, nearly "
        f"nothing, as stated; on average it breaks even at a load of {crossing:.1%}, because some empty entries do "
        "share a code even in a full table. Wider entries break even later, at (w − 4) / (w − 3): with 12 bits at "
        f"{8 / 9:.1%} in the worst case, and at 80 % {1 - wide.mean('ratio'):.1%} are saved.",
    )
