"""Claims 2 to 5: at 80 %, or when an insertion fails, a filter of twice the length takes over."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import charts, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import CuckooFilter

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(keys=800, log2_buckets=[1, 3], every=4, runs=10)
QUICK = grid(keys=200, log2_buckets=[1, 3], every=4, runs=1)
TRIGGER = 0.8


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Add endpoints one by one, with announcements in between; note at which load each doubling began."""
    made = CuckooFilter.patent(log2_buckets=parameters["log2_buckets"])
    keys, rows = endpoint_keys(parameters["keys"], seed=seed), []
    grown = {"resizes": 0, "doublings": 0, "on_failure": 0, "on_load": 0}
    least, most = 1.0, 0.0

    def watch(act: Callable[[], object], *, refused: bool) -> None:
        nonlocal least, most
        length = made.tables[0].log2_buckets
        act()
        by = made.tables[0].log2_buckets - length
        load = len(made) / (2 << length)
        if by:
            grown["resizes"] += 1
            grown["doublings"] += by == 1
            grown["on_failure" if refused else "on_load"] += 1
            least = least if refused else min(least, load)
        elif not made.is_migrating:
            most = max(most, load)

    for number, key in enumerate(keys, start=1):
        twin = copy.deepcopy(made.tables[0])  # whether an insertion fails is asked of a copy, not of the filter
        watch(partial(made.add, key), refused=not twin.insert(made.hasher(key)))
        for _ in range(parameters["every"]):
            watch(made.announce, refused=False)
        if number % max(1, parameters["keys"] // 50) == 0:
            held = sum(1 for one in keys[:number] if one in made)
            slots = sum(t.slots.size for t in made.tables)
            rows.append({"endpoints": number, "wire_bytes": len(made.to_bytes()), "slots": slots, "held": held})
    return [{**row, **grown, "least_load": least, "most_load": most} for row in rows]


def plot(table: Table) -> Any:
    """Draw slots and bytes."""
    one = table.where(log2_buckets=table.most("log2_buckets"))
    figure, (left, right) = charts(("endpoints", "slots of the filter(s)"), ("endpoints", "bytes announced"))
    lines(left, one, x="endpoints", y="slots", label="both tables while two exist")
    lines(right, one, x="endpoints", y="wire_bytes", label="measured", first=1)
    return figure


def check(table: Table) -> Judgment:
    """Each change of length a doubling, begun at 80 % or by a failure; no filter rests above 80 %; nothing missing."""
    last = table.where(endpoints=table.most("endpoints"))
    resizes, doublings = last.total("resizes"), last.total("doublings")
    early, loads = last.total("on_failure"), last.total("on_load")
    missing = sum(row["endpoints"] - row["held"] for row in table)
    at_trigger = loads > 0 and last.least("least_load") >= TRIGGER > last.most("most_load")
    return Judgment(
        Verdict.REPRODUCED if resizes == doublings > 0 and at_trigger and not missing else Verdict.CONTRADICTED,
        f"{doublings} of {resizes} changes of length are doublings: {loads} at a load of "
        f"{last.least('least_load'):.0%} or more, {early} when an insertion failed",
        f"Each of the {resizes} times that a filter changed its length it became twice as long, {early} of them "
        f"because an insertion failed and {loads} at a load of at least {last.least('least_load'):.1%}; none rested "
        f"above {last.most('most_load'):.1%}. After every announcement all endpoints were found; {missing} were "
        "missing.",
    )
