"""Section 0: BF_SDP matches in the participant phase, so what does not match is not sent; SDP sends everything."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_001.traffic import FULL, QUICK, run, share
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw the records that a node was told."""
    figure, axes = chart(
        "participants, 10 endpoints each, a tenth of the readers match", "endpoint records a node is told"
    )
    lines(axes, table.where(ratio=0.1, endpoints=10), x="participants", y="records", by="protocol")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """BF_SDP must tell far fewer records, miss no match, and send less."""
    most = table.where(ratio=0.1).most("participants")
    part = table.where(participants=most, ratio=0.1)
    records = {name: one.mean("records") for name, one in part.by("protocol")}
    octets = share(table, "bloom", "octets")[most, 0.1]
    holds = records["bloom"] < 0.1 * records["simple"] and octets < 0.5 and not table.total("missing")
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{most} participants: a node is told {records['bloom']:.1f} records instead of {records['simple']:.0f}",
        f"With {most} participants and a tenth of the readers matching, a node is told {records['bloom']:.1f} endpoint "
        f"records under BF_SDP and {records['simple']:.0f} under SDP; the octets are {octets:.1%} of SDP's, and every "
        "match is found. The tree of HBF_ADA tells as few, in larger announcements.",
    )
