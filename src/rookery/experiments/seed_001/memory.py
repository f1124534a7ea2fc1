"""Abstract: the memory that a node needs for discovery falls."""

from __future__ import annotations

from typing import Any

from rookery.experiments.endpoints import endpoint_keys, record_bytes
from rookery.experiments.figures import chart, lines
from rookery.experiments.seed_001.traffic import FULL, QUICK, run
from rookery.experiments.table import Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import summarize

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

STRUCTURES = {"bloom": "bloom", "tree": "tree", "cuckoo": "cuckoo"}


def _bytes(table: Table) -> Table:
    """Add what a node keeps: the records that it was told of, and a summary of each other participant."""
    rows = []
    for row in table.where(ratio=0.1):
        summary = 0
        if row["protocol"] in STRUCTURES:
            made = summarize(endpoint_keys(row["endpoints"], seed=1), STRUCTURES[row["protocol"]], 2.0**-11)
            summary = len(made.to_bytes()) * (row["participants"] - 1)
        rows.append({**row, "kept": row["records"] * record_bytes() + summary})
    return Table(rows)


def plot(table: Table) -> Any:
    """Draw the bytes."""
    figure, axes = chart("participants, 10 endpoints each", "bytes that a node keeps of the others")
    lines(axes, _bytes(table), x="participants", y="kept", by="protocol")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """With filters a node must keep less at every size."""
    kept = {
        count: {name: one.mean("kept") for name, one in part.by("protocol")}
        for count, part in _bytes(table).by("participants")
    }
    most = max(kept)
    records = {name: part.mean("records") for name, part in table.where(participants=most, ratio=0.1).by("protocol")}
    holds = all(one["cuckoo"] < one["simple"] for one in kept.values())
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{most} participants: {kept[most]['cuckoo']:,.0f} B against {kept[most]['simple']:,.0f} B under SDP",
        f"A node of {most} keeps {records['simple']:.0f} endpoint records under SDP and {records['cuckoo']:.1f} with "
        f"cuckoo filters, which with a filter of each peer makes {kept[most]['cuckoo']:,.0f} bytes against "
        f"{kept[most]['simple']:,.0f}. That is at a match ratio of 0.1; where every endpoint matched, all records "
        "would be kept and the filters on top.",
    )
