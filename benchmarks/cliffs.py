"""The workloads of the matching benchmark's cliffs, where an index that is fast elsewhere may fall behind a plain loop.

- `high`: 100 k subscriptions of two ranges of 28 % on two of twenty doubles: about 8,000 matches an event.
- `skew`: five ranges of 25 % on five of twenty doubles, centres and events both crowded near zero (a cube of a uniform
  number).
- `stock`: three to ten ranges of 40 % on doubles of which some are tested far more often than others (1 / rank).
- `wide`: five ranges of 40 % on five of 200 doubles.

All are made as columns (`workloads.Boxes`); a subscription with fewer predicates than another has open ones, which
every value satisfies. Doubles lie in [0, 1000) in steps of 1/64, as everywhere in the benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.workloads import STEP, TOP, Boxes, Events, Workload

__all__ = ["CLIFFS", "Cliff"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Cliff:
    """One workload: its shape, how wide a range is, and where ranges and events lie."""

    workload: Workload
    width: float
    fewest: int  # predicates of a subscription at least; `workload.tested` at most
    crowded: bool = False  # centres and events near zero
    ranked: bool = False  # attribute r is tested with weight 1 / (r + 1)

    def boxes(self, count: int, seed: int = 1) -> Boxes:
        """Make the subscriptions."""
        random = np.random.default_rng([seed, count])
        doubles, tested = self.workload.doubles, self.workload.tested
        attribute = np.empty((tested, count), np.uint8)
        weight = 1 / np.arange(1, doubles + 1) if self.ranked else np.ones(doubles)
        for first in range(0, count, 50_000):  # the lowest of exponential waits are a choice without repetition
            part = min(50_000, count - first)
            waits = random.exponential(size=(part, doubles)) / weight
            order = np.argsort(waits, axis=1)[:, :tested]
            attribute[:, first : first + part] = order.T
        wide = int(self.width * TOP)
        at = random.random((tested, count))
        lower = np.floor((at**3 if self.crowded else at) * (TOP - wide) * STEP) / STEP
        upper = lower + wide
        used = random.integers(self.fewest, tested + 1, count)
        unused = np.arange(tested)[:, None] >= used[None, :]
        lower[unused], upper[unused] = -np.inf, np.inf
        return Boxes(self.workload, np.empty((0, count), np.int64), attribute, lower, upper)

    def events(self, count: int, seed: int = 2) -> Events:
        """Make the events."""
        at = np.random.default_rng(seed).random((count, self.workload.doubles))
        doubles = np.floor((at**3 if self.crowded else at) * TOP * STEP) / STEP
        return Events(self.workload, np.empty((count, 0), np.int64), doubles)


CLIFFS = {
    one.workload.name: one
    for one in (
        Cliff(Workload("high", (), 20, 2, False), 0.28, 2),
        Cliff(Workload("skew", (), 20, 5, False), 0.25, 5, crowded=True),
        Cliff(Workload("stock", (), 20, 10, False), 0.4, 3, ranked=True),
        Cliff(Workload("wide", (), 200, 5, False), 0.4, 5),
    )
}
