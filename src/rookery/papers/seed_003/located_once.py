"""Section 3.2: a near broker needs to be located once; what changes is told.

A broker locates each zone of its queue once, and again only when its own zone has changed or the resident that it chose
is gone; of new residents it is told by the indexes that it asked. That brokers also look again every minute is switched
off here, by a long period; in the end all look once more, and it is seen whether that finds anything nearer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.placed import PlacedBrokers
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(brokers=32, grown=[0.0, 0.25, 0.5, 1.0], runs=3)
QUICK = grid(brokers=16, grown=[0.0, 1.0], runs=1)
#: How much farther than after looking again the resident may be for being told to be as good.
AS_GOOD = 1.1
NEVER = 10**6


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let brokers with coordinates find near residents; let others join; see whom they prefer, and look once more."""
    placed = PlacedBrokers(seed=seed, period=NEVER)
    placed.join(parameters["brokers"])
    first, before = _preferred(placed), placed.counted("located")
    placed.join(round(parameters["grown"] * parameters["brokers"]))
    now, located = _preferred(placed), placed.counted("located") - before
    placed.look_again()
    again = _preferred(placed)
    both = sorted(first.keys() & now.keys() & again.keys())

    def mean(found: Mapping[Any, int]) -> float:
        return sum(placed.apart(key[0], found[key]) for key in both) / len(both)

    return [
        {
            "entries": len(both),
            "kept": sum(first[key] == now[key] for key in both) / len(both),
            "before": mean(first),
            "told": mean(now),
            "again": mean(again),
            "located": located / len(now),
        }
    ]


def _preferred(placed: PlacedBrokers) -> dict[Any, int]:
    return {(number, zone): resident.owner for number, zone, resident in placed.entries()}


def plot(table: Table) -> Any:
    """Draw how many stay, and how far the residents are."""
    figure, (left, right) = charts(
        ("brokers that joined since, as a share", "entries that keep their resident"),
        ("brokers that joined since, as a share", "distance to the resident"),
    )
    lines(left, table, x="grown", y="kept", label="the same resident")
    for number, (column, label) in enumerate(
        {"before": "located first", "told": "told since", "again": "looked once more"}.items()
    ):
        lines(right, table, x="grown", y=column, label=label, first=number)
    left.set_ylim(0, 1.05)
    right.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """Nothing may change while nobody joins; after joins being told must be as good as looking again."""
    still, grown = table.where(grown=0.0), table.where(grown=1.0)
    stays, located = still.mean("kept"), still.mean("located")
    before, told, again = (grown.mean(column) for column in ("before", "told", "again"))
    if stays < 0.99 or located > 0:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if told < before and told <= AS_GOOD * again else Verdict.REGIME
    return Judgment(
        verdict,
        f"{stays:.1%} keep their resident while nobody joins; after the network has doubled the mean distance is "
        f"{told:.1f} by what was told, {again:.1f} after looking once more",
        f"While nobody joins, {stays:.1%} of the entries keep their resident and nobody looks again: once is enough. "
        f"When the network has doubled, {grown.mean('kept'):.0%} keep it; the others were told of a nearer one or have "
        f"found one for a changed zone of their own: the mean distance is {told:.1f} instead of {before:.1f}, with "
        f"{grown.mean('located'):.1f} look-ups an entry. Looking once more makes it {again:.1f}. Rookery tells, and "
        "looks every minute besides: of a broker that died without a word nobody tells.",
    )
