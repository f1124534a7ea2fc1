"""Claim 5: the old filter becomes the spare for the next expansion, the two taking turns. Does it have the length?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import CuckooFilter

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(keys=3000, runs=10)
QUICK = grid(keys=400, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Grow a filter; at each expansion compare the length that was retired before with the one that is needed."""
    made = CuckooFilter.patent(log2_buckets=1)
    rows: list[Row] = []
    seen = [made.tables[0]]
    retired, current = 0, made.tables[0].slots.size
    for key in endpoint_keys(parameters["keys"], seed=seed):
        made.add(key)
        while made.is_migrating:
            made.migrate(64)
        table = made.tables[0]
        if table.slots.size != current:
            seen += [] if any(table is one for one in seen) else [table]
            if retired:
                lengths = {"retired_slots": retired, "needed_slots": table.slots.size}
                rows.append({"expansion": len(rows) + 2, **lengths, "tables": len(seen)})
            retired, current = current, table.slots.size
    return rows


def plot(table: Table) -> Any:
    """Draw both lengths."""
    figure, axes = chart("expansion", "slots")
    lines(axes, table, x="expansion", y="needed_slots", label="needed")
    lines(axes, table, x="expansion", y="retired_slots", label="of the spare", first=1)
    axes.set_yscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """The spare should be long enough, and two tables should do for all expansions."""
    fits = sum(row["retired_slots"] >= row["needed_slots"] for row in table)
    share = max((row["retired_slots"] / row["needed_slots"] for row in table), default=0.0)
    tables = max(table.list("tables"), default=0)
    if len(table) < 2:
        verdict = Verdict.NOT_TESTABLE
    elif fits == len(table) and tables == 2:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.REGIME if fits else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"long enough in {fits} of {len(table)} expansions; at most a share of {share:.2f} of what is needed",
        "When filters double, the one that was retired has half the length of the present one and a quarter of what "
        f"the next expansion needs, in all {len(table)} of them: that follows from doubling alone. The two can take "
        f"turns only if the spare is made longer first, which is what Rookery does ({tables} tables for all "
        "expansions); as it is it serves for halving.",
    )
