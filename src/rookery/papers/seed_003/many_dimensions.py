"""Section 2.4: with d > 7 greedy routing reaches the same as Spanhop."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.seed_003.gain_grows import _gains
from rookery.papers.seed_003.spanhop_hops import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: What counts as the same: within a tenth.
SAME = 1.1


def plot(table: Table) -> Any:
    """Draw the ratio for d = 7 and 10."""
    figure, axes = chart("N, brokers", "hops of greedy / hops of Spanhop")
    high = Table([row for row in _gains(table) if row["dimensions"] >= 7])
    lines(axes, high, x="brokers", y="gain", by="dimensions", name=lambda d: f"d = {d}")
    reference(axes, high.values("brokers"), [1.0 for _ in high.values("brokers")], "the same")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """For ten dimensions the ratio must be one at every size."""
    high = _gains(table).where(dimensions=10)
    same = [row["brokers"] for row in high if row["gain"] <= SAME]
    last = high.rows[-1]
    verdict = Verdict.REPRODUCED if len(same) == len(high) else Verdict.REGIME if same else Verdict.CONTRADICTED
    reach = f"up to N = {max(same):,}" if same else "at no size"
    return Judgment(
        verdict,
        f"d = 10: the same {reach}; {last['gain']:.2f} times at N = {last['brokers']:,}",
        f"With ten dimensions greedy routing takes the same hops as Spanhop {reach}: while there are "
        "no more than two zones along each dimension, every greedy step settles one cut, as a Spanhop step does. "
        f"Beyond 2^d brokers it falls behind, by a factor of {last['gain']:.2f} at N = {last['brokers']:,}.",
    )
