"""Background: SDP suits networks with few nodes; in large ones much must be transmitted."""

from __future__ import annotations

import math
from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.seed_001.traffic import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw SDP's octets."""
    figure, axes = chart("participants, 10 endpoints each", "octets of SDP in 10 s")
    simple = table.where(protocol="simple", ratio=0.1, endpoints=10)
    lines(axes, simple, x="participants", y="octets", label="measured")
    sizes = simple.values("participants")
    first = simple.where(participants=sizes[0]).mean("octets") / (sizes[0] * (sizes[0] - 1))
    reference(axes, sizes, [first * size * (size - 1) for size in sizes], "∝ P·(P − 1)")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Octets must grow about as the square of the participants."""
    simple = table.where(protocol="simple", ratio=0.1, endpoints=10)
    low, high = simple.least("participants"), simple.most("participants")
    ratio = simple.where(participants=high).mean("octets") / simple.where(participants=low).mean("octets")
    exponent = math.log(ratio) / math.log(high / low)
    last = simple.where(participants=high)
    return Judgment(
        Verdict.REPRODUCED if exponent > 1.7 else Verdict.CONTRADICTED,
        f"octets grow as the participants to the power {exponent:.2f}; {last.mean('octets'):,.0f} with {high}",
        f"Everyone is told every endpoint of everyone, so octets grow as the number of participants to the power "
        f"{exponent:.2f}, to {last.mean('octets'):,.0f} octets in {last.mean('datagrams'):,.0f} datagrams with {high} "
        "participants of ten endpoints.",
    )
