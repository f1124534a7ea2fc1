"""The time of a match grows linearly with the subscriptions."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import (
    COMPILED,
    DOMAINS,
    INTERPRETED,
    alive,
    events,
    nanoseconds_each,
    subscriptions,
)
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "TIMES", "check", "plot", "run"]

FULL = grid(subscriptions=[50, 100, 200, 400, 800, 1600], limits=["shared", "distinct"], rounds=3, runs=5)
QUICK = grid(subscriptions=[50, 200, 800], limits=["shared", "distinct"], rounds=2, runs=1)
TIMES = ("ns",)
#: What counts as linear: times are noisy, and small sets have a part that does not grow.
LINEAR = 1.15


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Time the matrix, compiled and interpreted."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    living = alive(rows)
    found: list[Row] = []
    for form, table, count in (("compiled", COMPILED, 3000), ("interpreted", INTERPRETED, 60)):
        codes, one = events(count, seed), table["matrix"](rows, DOMAINS)
        probe = functools.partial(one.probe, codes, living)
        spent = nanoseconds_each({"matrix": probe}, events=count, rounds=parameters["rounds"])
        found.append({"form": form, "ns": spent["matrix"]})
    return found


def plot(table: Table) -> Any:
    """Draw the times."""
    figure, axes = chart("subscriptions under the topic", "ns of CPU for an event")
    named = Table([{**row, "line": f"{row['form']}, {row['limits']} limits"} for row in table])
    lines(axes, named, x="subscriptions", y="ns", by="line")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def _exponents(table: Table) -> dict[str, float]:
    """Return the power of the size by which time grows between the smallest and the largest set."""
    exponents = {}
    for limits, part in table.by("limits"):
        for form, one in part.by("form"):
            low, high = one.least("subscriptions"), one.most("subscriptions")
            ratio = one.where(subscriptions=high).mean("ns") / one.where(subscriptions=low).mean("ns")
            exponents[f"{form}, {limits} limits"] = math.log(ratio) / math.log(high / low)
    return exponents


def _verdict(exponents: Mapping[str, float]) -> Verdict:
    linear = [name for name, value in exponents.items() if value <= LINEAR]
    if len(linear) == len(exponents):
        return Verdict.REPRODUCED
    return Verdict.REGIME if linear else Verdict.CONTRADICTED


def check(table: Table) -> Judgment:
    """The exponent between the smallest and the largest set must not exceed one by much."""
    exponents = _exponents(table)
    verdict = _verdict(exponents)
    each = [_verdict(_exponents(part)) for _, part in table.by("seed")]
    shown = ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())
    return Judgment(
        verdict,
        f"exponents: {shown}",
        f"Time grows as the number of subscriptions to the power {shown}. Where operators share limits the columns are "
        "bounded and the time is linear or less. Where every limit is its own, columns and rows both grow, so that one "
        "dense matrix is quadratic in principle; sets of bits (and panels of 512 rows in compiled code) keep it near "
        f"linear in this range. Taken one by one, {each.count(verdict)} of {len(each)} draws give this verdict.",
    )
