"""Section 3.1: distance between coordinates stands for distance in the network."""

from __future__ import annotations

from typing import Any

from rookery.experiments.figures import bars, chart
from rookery.experiments.seed_003.mgnp_stretch import FULL, QUICK, run
from rookery.experiments.table import Table
from rookery.experiments.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw the median error."""
    figure, axes = chart("median relative error of the predicted round-trip time", "")
    errors = {
        f"{name}, d = {d}": one.mean("error") for name, part in table.by("matrix") for d, one in part.by("dimensions")
    }
    bars(axes, errors, form="{:.1%}")
    return figure


def check(table: Table) -> Judgment:
    """The median error must be small."""
    errors = {
        f"{name} in {d} dimensions": one.mean("error")
        for name, part in table.by("matrix")
        for d, one in part.by("dimensions")
    }
    shown = ", ".join(f"{value:.0%} for {name}" for name, value in errors.items())
    return Judgment(
        Verdict.REPRODUCED if max(errors.values()) < 0.35 else Verdict.CONTRADICTED,
        f"median error {shown}",
        "Fifteen landmarks place every host such that the distance predicts the round-trip time with a median "
        f"relative error of {shown}. Good enough to prefer near residents, not to measure.",
    )
