"""Claims 2 to 5: at 80 %, or when an insertion fails, a filter of twice the length takes over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.endpoints import endpoint_keys
from rookery.experiments.figures import charts, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import CuckooFilter

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(keys=800, log2_buckets=[1, 3], every=4, runs=10)
QUICK = grid(keys=200, log2_buckets=[1, 3], every=4, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Add endpoints one by one, with announcements in between; look at the tables after each."""
    made = CuckooFilter.patent(log2_buckets=parameters["log2_buckets"])
    keys, rows = endpoint_keys(parameters["keys"], seed=seed), []
    lengths, doublings, early = [made.tables[0].log2_buckets], 0, 0
    for number, key in enumerate(keys, start=1):
        load = len(made) / (2 * made.tables[0].bucket_count)
        made.add(key)
        if made.tables[0].log2_buckets != lengths[-1]:
            doublings += made.tables[0].log2_buckets == lengths[-1] + 1
            early += load + 1 / (2 << lengths[-1]) < 0.8
            lengths.append(made.tables[0].log2_buckets)
        for _ in range(parameters["every"]):
            wire = made.announce()
        if number % max(1, parameters["keys"] // 50) == 0:
            held = sum(1 for one in keys[:number] if one in made)
            rows.append(
                {
                    "endpoints": number,
                    "wire_bytes": len(wire),
                    "slots": sum(t.slots.size for t in made.tables),
                    "held": held,
                }
            )
    return [{**row, "resizes": len(lengths) - 1, "doublings": doublings, "on_failure": early} for row in rows]


def plot(table: Table) -> Any:
    """Draw slots and bytes."""
    one = table.where(log2_buckets=table.most("log2_buckets"))
    figure, (left, right) = charts(("endpoints", "slots of the filter(s)"), ("endpoints", "bytes announced"))
    lines(left, one, x="endpoints", y="slots", label="both tables while two exist")
    lines(right, one, x="endpoints", y="wire_bytes", label="measured", first=1)
    return figure


def check(table: Table) -> Judgment:
    """Every change of length must be a doubling, and nothing may be missing."""
    last = table.where(endpoints=table.most("endpoints"))
    resizes, doublings, early = last.total("resizes"), last.total("doublings"), last.total("on_failure")
    missing = sum(row["endpoints"] - row["held"] for row in table)
    return Judgment(
        Verdict.REPRODUCED if resizes == doublings > 0 and not missing else Verdict.CONTRADICTED,
        f"{doublings} of {resizes} changes of length are doublings; {early} came from a failed insertion",
        f"Each of the {resizes} times that a filter changed its length it became twice as long, {early} of them "
        "because an insertion failed before 80 % was reached. After every announcement all endpoints were found; "
        f"{missing} were missing.",
    )
