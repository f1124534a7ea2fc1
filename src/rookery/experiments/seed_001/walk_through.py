"""The worked example: A writes T1 to T4, B wants T1, T3 and T5; then A writes T5 into a filter that is full."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import bars, chart
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import CuckooFilter, endpoint_key

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: How many other endpoints A has. With 8 of them in 16 slots, T5 is the one that passes 80 %; with none the 4 slots
#: are full at T4 already.
FULL = grid(others=[0, 8], runs=10)
QUICK = grid(others=[0, 8], runs=5)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Play it, with bytes in between; another seed gives other names."""
    others = parameters["others"]

    def key(number: int) -> str:
        return endpoint_key(kind="W", topic=f"T{number} of {seed}", type_name="Sample")

    writer = CuckooFilter.patent(log2_buckets=3 if others else 1)
    for number in range(others):
        writer.add(endpoint_key(kind="W", topic=f"other {number} of {seed}", type_name="Sample"))
    for number in (1, 2, 3, 4):
        writer.add(key(number))
    first = CuckooFilter.from_bytes(writer.announce())
    early = [number for number in (1, 3, 5) if key(number) in first]
    grew_before = first.tables[0].log2_buckets
    writer.add(key(5))
    wire = writer.announce()
    second = CuckooFilter.from_bytes(wire)
    late = [number for number in (1, 3, 5) if key(number) in second]
    return [
        {
            "first_answer": " ".join(f"T{number}" for number in early),
            "second_answer": " ".join(f"T{number}" for number in late),
            "filters_sent": len(second.tables),
            "grew_at_t5": second.tables[0].log2_buckets > grew_before,
            "bytes": len(wire),
        }
    ]


def plot(table: Table) -> Any:
    """Draw how often each answer came."""
    figure, axes = chart("share of the runs", "")
    count = len(table)
    right = (
        sum(row["first_answer"] == "T1 T3" for row in table),
        sum(row["second_answer"] == "T1 T3 T5" for row in table),
    )
    bars(axes, {"B first asks for T1 and T3": right[0] / count, "then for T5 as well": right[1] / count}, form="{:.0%}")
    return figure


def check(table: Table) -> Judgment:
    """B must ask for T1 and T3, then T5 too; a false positive may add T5 early."""
    late = all(row["second_answer"] == "T1 T3 T5" for row in table)
    early = sum(row["first_answer"] == "T1 T3" for row in table)
    never_less = all(str(row["first_answer"]).startswith("T1 T3") for row in table)
    grown = table.where(others=8)
    holds = late and never_less and all(grown.list("grew_at_t5")) and set(grown.list("filters_sent")) == {2}
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"T1 and T3 in {early} of {len(table)} runs, then T5 in all {len(table)}",
        f"B asks for T1 and T3 ({len(table) - early} of {len(table)} times for T5 as well, a false positive), and "
        "after A has added T5 for all three. Where T5 is the endpoint that passes 80 %, the filter doubles then and "
        "two filters are sent. With a table of four slots, the smallest that holds T1 to T4, it has doubled at T4 "
        "already.",
    )
