"""Section 2.4: the ancestor queue has log_m N entries, about 6 for m = 8 and N = 2^20, and costs 6·d·c to store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import charts, lines, reference
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.brokers.static import StaticBrokers
from rookery.routing.brokers.tables import exact_tables

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(depth=[4, 6, 8, 10], dimensions=[2, 3], span=[4, 8], runs=1)
QUICK = grid(depth=[4, 6], dimensions=[2, 3], span=[4, 8], runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Make everybody's tables and count levels and entries."""
    bits = parameters["span"].bit_length() - 1
    paths = StaticBrokers.balanced(parameters["dimensions"], parameters["depth"]).paths()
    tables = exact_tables(
        paths, dimensions=parameters["dimensions"], bits=bits, resident=lambda broker, zone, within: within[0]
    )
    entries = sum(len(level) for table in tables for level in table.levels[1:])
    return [
        {
            "brokers": len(paths),
            "levels": len(tables[0].levels) - 1,
            "stated": math.log(len(paths), parameters["span"]),
            "entries": entries / len(tables),
            "at_a_million": 20 // bits,
        }
    ]


def plot(table: Table) -> Any:
    """Draw levels and entries."""
    figure, (left, right) = charts(("N, brokers", "levels of the queue"), ("N, brokers", "addresses in the queue"))
    for span, (label, first) in {4: ("m = 4", 0), 8: ("m = 8", 1)}.items():
        part = table.where(span=span, dimensions=2)
        lines(left, part, x="brokers", y="levels", label=label, first=first)
        lines(right, part, x="brokers", y="entries", label=label, first=first)
    sizes = table.values("brokers")
    reference(left, sizes, [math.log(size, 4) for size in sizes], "log_m N, m = 4")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """Levels are ⌊log_m N⌋; addresses are d for each level where m = 2^d."""
    levels = all(row["levels"] == int(row["stated"] + 1e-9) for row in table)
    whole = Table([row for row in table if row["span"] == 2 ** row["dimensions"]])
    storage = all(abs(row["entries"] - row["levels"] * row["dimensions"]) < 1e-9 for row in whole)
    million = table.where(span=8).least("at_a_million")
    return Judgment(
        Verdict.REPRODUCED if levels and storage and million == 6 else Verdict.CONTRADICTED,
        f"m = 8, N = 2^20: {million} levels; d addresses for each level",
        f"The queue has ⌊log_m N⌋ levels, {million} for m = 8 and N = 2^20, as stated. With m = 2^d each level holds "
        "exactly d addresses, one across each dimension of the domain, so storage is d·c for each level. That counts "
        "the neighbors inside the domain alone; copies of whole neighbor tables, as printed, would be larger.",
    )
