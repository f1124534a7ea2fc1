"""Conclusion: a very low false-negative rate; in the mode that never misses by design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.overlays import configured, measure, static
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", both_ways=True, hash_count=[2, 4], peers=1024, events=80, runs=3)
QUICK = grid(mode="sound", both_ways=True, hash_count=[2, 4], peers=256, events=60, runs=1)

WHY = {
    "sound": "Algorithm 2 makes a ring of every cell's audience, and then nothing is missed: the unit of coverage is "
    "the cell, both passes start afresh, links are used both ways, and an event starts at a true holder of its cell.",
    "paper": "The unit of coverage is a bit of the identity, so a collision looks like a shared interest, scans stop "
    "early, and rings are left open.",
}


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Publish in one mode, with links used both ways or by who chose them alone."""
    configuration = configured(parameters["mode"], both_ways=parameters["both_ways"])
    overlay, market, dice = static(
        parameters["peers"], seed, hash_count=parameters["hash_count"], configuration=configuration
    )
    return [measure(overlay, market, dice, events=parameters["events"])]


def plot(table: Table) -> Any:
    """Draw what is missed."""
    figure, axes = chart("share of the deliveries that are missed", "")
    bars(
        axes,
        {
            f"{'both ways' if both else 'one way'}, k = {k}": one.total("missed") / one.total("wanted")
            for both, part in table.by("both_ways")
            for k, one in part.by("hash_count")
        },
        form="{:.1%}",
    )
    return figure


def check(table: Table) -> Judgment:
    """Below one in a hundred is very low."""
    missed = {both: part.total("missed") / part.total("wanted") for both, part in table.by("both_ways")}
    ways = "; ".join(
        f"{share:.1%} with links used {'both ways' if both else 'one way'}" for both, share in missed.items()
    )
    shown = ", ".join(
        f"{one.total('missed') / one.total('wanted'):.1%} with {k} bits a cell" for k, one in table.by("hash_count")
    )
    return Judgment(
        Verdict.REPRODUCED if all(share < 0.01 for share in missed.values()) else Verdict.CONTRADICTED,
        f"missed: {ways}",
        f"Of {table.total('wanted'):,} deliveries {table.total('missed')} are missed ({shown}): {ways}. "
        + WHY[table.values("mode")[0]],
    )
