"""Proposition 1: a routing table has at most 2d + c entries.

Two crowds: the stock market, everybody known to everybody, and one node that wants 900 of the 1,024 cells among 12,000
that want two each, half of them inside what it wants and half of them partly.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.overlays import configured, static
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.links import LinkTable
from rookery.overlay.paper import PaperTable
from rookery.overlay.state import Phase

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", crowd=["market", "hub"], peers=2048, cells=900, others=12_000, bits=1024, runs=3)
QUICK = grid(mode="sound", crowd=["market", "hub"], peers=256, cells=900, others=12_000, bits=1024, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Return the largest table of the crowd, and what its owner wants."""
    configuration = configured(parameters["mode"])
    if parameters["crowd"] == "market":
        overlay, _, _ = static(parameters["peers"], seed, configuration=configuration)
        tables = [peer.state.table for peer in overlay if peer.state.phase is Phase.ACTIVE]
        return [_row(max(tables, key=lambda one: len(one.chosen)))]
    space, dice, wide = (
        SemanticSpace(cell_count=1024, bit_count=parameters["bits"]),
        random.Random(seed),
        parameters["cells"],
    )
    hub = space.describe(node=0, random_id=dice.getrandbits(64), cells=range(wide))
    table = LinkTable(hub) if parameters["mode"] == "sound" else PaperTable(hub, configuration.rule)
    for node in range(1, parameters["others"] + 1):
        second = dice.randrange(wide) if node % 2 else dice.randrange(wide, 1024)
        table.consider(space.describe(node=node, random_id=dice.getrandbits(64), cells={dice.randrange(wide), second}))
    return [_row(table)]


def _row(table: LinkTable | PaperTable) -> dict[str, int]:
    return {"links": len(table.chosen), "wanted_cells": len(table.own.cells), "ones": table.own.bits.bit_count()}


def plot(table: Table) -> Any:
    """Draw the largest tables beside the bound."""
    figure, axes = chart("links of the largest table", "")
    shown = {f"{crowd}": part.most("links") for crowd, part in table.by("crowd")}
    bars(axes, {**shown, "stated: 2d + c": 2 * table.least("bits") + 1})
    return figure


def check(table: Table) -> Judgment:
    """No table of any crowd may exceed it."""
    bound, most = 2 * table.least("bits") + 1, table.most("links")
    market, hub = (table.where(crowd=crowd).most("links") for crowd in ("market", "hub"))
    largest = next(row for row in table if row["links"] == most)
    by_cells, by_bits = 4 * largest["wanted_cells"] + 1, 2 * largest["ones"] + 1
    return Judgment(
        Verdict.REPRODUCED if most <= bound else Verdict.CONTRADICTED,
        f"largest table {market} in the market, {hub:,} of a node that wants most of the grid; 2d + c = {bound:,}",
        f"In the market the largest table has {market} entries. A node that wants {table.least('cells')} of the 1,024 "
        f"cells has {hub:,}, where 2d + c = {bound:,}. "
        + (
            f"The step to d − n neighbors cannot be derived: what follows from two classes and two passes that start "
            f"afresh is 4·|S| + c = {by_cells:,} for a node with |S| cells."
            if table.values("mode") == ["sound"]
            else f"It holds by construction: each link adds a bit that no link before has, and the second pass goes on "
            f"where the first one ended, so there are at most n + n + c = {by_bits:,} links for n bits that are set."
        ),
    )
