"""Section 3.1: distance between coordinates stands for distance in the network."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.seed_003.mgnp_stretch import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: The largest median error that still tells near from far.
FITS = 0.35


def plot(table: Table) -> Any:
    """Draw the median error."""
    figure, axes = chart("median relative error of the predicted round-trip time", "")
    errors = {
        f"{name}, d = {d}": one.mean("error") for name, part in table.by("matrix") for d, one in part.by("dimensions")
    }
    bars(axes, errors, form="{:.1%}")
    return figure


def check(table: Table) -> Judgment:
    """The median error must be small on every matrix."""
    errors = {name: {d: one.mean("error") for d, one in part.by("dimensions")} for name, part in table.by("matrix")}
    fits = [name for name, by_dimension in errors.items() if max(by_dimension.values()) < FITS]
    verdict = Verdict.REPRODUCED if len(fits) == len(errors) else Verdict.REGIME if fits else Verdict.CONTRADICTED
    shown = "; ".join(
        f"{name} " + ", ".join(f"{value:.0%} in {d} dimensions" for d, value in by_dimension.items())
        for name, by_dimension in errors.items()
    )
    return Judgment(
        verdict,
        f"median error: {shown}",
        "Fifteen landmarks place every host, and the distance predicts the round-trip time with a median relative "
        f"error of {shown}. Good enough, where it is below {FITS:.0%}, to prefer near residents, not to measure. It "
        "rests on times that are nearly distances: where each pair has a time of its own, whatever the others are, no "
        "coordinates stand for them.",
    )
