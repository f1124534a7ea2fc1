"""The flip table: for each claim, rows that contradict it on its own point, and the verdict that they must get.

Rule: a check that gives the same verdict whatever is measured says nothing. Each seed has a module: its `FLIPS` has
changes of the measured rows; its `BROKEN` has changes of the product itself, after which the whole experiment is run
again. A change is a function from a row to the columns that become others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rookery.papers.table import Row
from rookery.papers.verdicts import Verdict

CONTRADICTED, REPRODUCED, REGIME = Verdict.CONTRADICTED, Verdict.REPRODUCED, Verdict.REGIME
SAME_SHAPE, NOT_TESTABLE = Verdict.SHAPE, Verdict.NOT_TESTABLE


class Flip(NamedTuple):
    """A change of the rows, and what the claim then is."""

    label: str
    verdict: Verdict
    change: Callable[[Row], Row]


def only(condition: Callable[[Row], bool], change: Callable[[Row], Row]) -> Callable[[Row], Row]:
    """Return a change of the rows that satisfy a condition."""
    return lambda row: change(row) if condition(row) else {}
