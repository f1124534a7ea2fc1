"""Section V: both systems use Bloom filters, so they make the same false positives."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.overlays import baseline, configured, static
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", peers=512, events=200, runs=10)
QUICK = grid(mode="sound", peers=128, events=60, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Publish the same quotes from the same nodes in the overlay and in the hypercube."""
    peers = parameters["peers"]
    overlay, market, _ = static(peers, seed, configuration=configured(parameters["mode"]))
    cube, _, _ = baseline("hypercube", peers, seed)
    dice = random.Random(f"quotes {seed}")
    for _ in range(parameters["events"]):
        quote, node = market.draw_quote(dice), dice.randrange(peers)
        overlay.publish(node, quote)
        overlay.settle()
        cube.publish(node, quote)
    return [
        {
            "system": "overlay",
            "same_cell": overlay.counters["false positive: cell"],
            "other": overlay.counters["false positive: bloom"],
        },
        {
            "system": "hypercube",
            "same_cell": cube.counters["false positive: cell"],
            "other": cube.counters["uninterested"] + cube.counters["relay"],
        },
    ]


def plot(table: Table) -> Any:
    """Draw both kinds for both systems."""
    figure, axes = chart("unwanted receipts for an event", "")
    events = {name: part.total("events") for name, part in table.by("system")}
    shown = {
        f"{name}: {label}": part.total(column) / events[name]
        for name, part in table.by("system")
        for label, column in (("wanted cell, unwanted value", "same_cell"), ("unwanted cell", "other"))
    }
    bars(axes, shown)
    return figure


def check(table: Table) -> Judgment:
    """The counts should be equal."""
    ours, theirs = table.where(system="overlay"), table.where(system="hypercube")
    same = ours.total("same_cell") == theirs.total("same_cell")
    near = abs(ours.total("same_cell") / max(1, theirs.total("same_cell")) - 1) < 0.05
    equal = same and ours.total("other") == theirs.total("other")
    verdict = Verdict.REPRODUCED if equal else Verdict.REGIME if near else Verdict.CONTRADICTED
    events = ours.total("events")
    return Judgment(
        verdict,
        f"inside a wanted cell {ours.total('same_cell')} against {theirs.total('same_cell')}; of unwanted cells "
        f"{ours.total('other')} against {theirs.total('other'):,}",
        f"Over {events:,} events the false positives that the grid makes are {ours.total('same_cell')} in the overlay "
        f"and {theirs.total('same_cell')} in the hypercube: "
        + (
            "every holder of a cell gets its events in both. "
            if near
            else "the overlay misses some holders of a cell. "
        )
        + f"Receipts by nodes that do not want the cell at all are {ours.total('other')} and "
        f"{theirs.total('other'):,}: the hypercube relays.",
    )
