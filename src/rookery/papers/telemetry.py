"""Subscriptions to telemetry under one topic, for the claims about matching.

Eight measured values from 0 to 999; a subscription has one to five predicates, each a limit or a range on one of them.
Limits come from a catalog of twenty values for each attribute (`shared`, as operators set them), or each is its own
(`distinct`). Everything is in the engines' own form: rows of predicates over codes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rookery.matching.baselines import Counting, PredicateIndex, PredicateMatrix
from rookery.matching.baselines.predicates import Domains
from rookery.matching.kernels import scan_rows
from rookery.matching.rows import Rows
from rookery.papers.interpreted import PlainCounting, PlainIndex, PlainMatrix, PlainScan

__all__ = ["COMPILED", "DOMAINS", "INTERPRETED", "alive", "box_rows", "events", "nanoseconds_each", "subscriptions"]

Array = np.ndarray[Any, Any]
ATTRIBUTES = 8
TOP = 1000
#: Codes from 0 to TOP on every attribute, all under one topic.
DOMAINS = Domains.uniform(ATTRIBUTES, 0, TOP)


class _CompiledScan:
    """The compiled scan over all rows."""

    def __init__(self, rows: Rows, domains: Domains) -> None:
        self._rows = rows

    def probe(self, codes: Array, living: Array) -> Array:
        rows = self._rows
        found: Array = scan_rows(
            codes, 0, len(rows), rows.slot, living, rows.start, rows.attribute, rows.bounds, rows.pool
        )
        return found


#: Each algorithm, compiled and interpreted.
COMPILED: dict[str, Any] = {
    "matrix": PredicateMatrix,
    "counting": Counting,
    "index": PredicateIndex,
    "scan": _CompiledScan,
}
INTERPRETED: dict[str, Any] = {
    "matrix": PlainMatrix,
    "counting": PlainCounting,
    "index": PlainIndex,
    "scan": PlainScan,
}


def subscriptions(count: int, seed: int, *, limits: str = "shared") -> Rows:
    """Draw subscriptions."""
    dice = np.random.default_rng([seed, count])
    catalog = np.sort(dice.integers(0, TOP, size=(ATTRIBUTES, 20)), axis=1)
    attribute, bounds, start = [], [], [0]
    for _ in range(count):
        for number in np.sort(dice.choice(ATTRIBUTES, size=int(dice.integers(1, 6)), replace=False)).tolist():
            one, other = (
                dice.choice(catalog[number], size=2) if limits == "shared" else dice.integers(0, TOP, size=2)
            ).tolist()
            kind = int(dice.integers(3))
            attribute.append(number)
            bounds.append([(one, TOP), (0, one), (min(one, other), max(one, other))][kind])
        start.append(len(attribute))
    return Rows(
        np.arange(count, dtype=np.int32),
        np.array(start, np.int64),
        np.array(attribute, np.uint16),
        np.array(bounds, np.int64),
        np.empty((0, 2), np.int64),
    )


def box_rows(slots: Array, low: Array, high: Array) -> Rows:
    """Return boxes as rows: one range on every attribute."""
    count, dimensions = low.shape
    return Rows(
        slots.astype(np.int32),
        np.arange(0, (count + 1) * dimensions, dimensions),
        np.tile(np.arange(dimensions, dtype=np.uint16), count),
        np.stack([low, high], axis=2).reshape(-1, 2),
        np.empty((0, 2), np.int64),
    )


def events(count: int, seed: int) -> Array:
    """Draw events, as codes."""
    return np.random.default_rng([seed, 77]).integers(0, TOP, size=(count, ATTRIBUTES))


def alive(rows: Rows) -> Array:
    """Nobody is dead."""
    return np.ones(len(rows), np.uint8)


def nanoseconds_each(probes: Mapping[str, Callable[[], Any]], *, events: int, rounds: int) -> dict[str, float]:
    """Time several in turn, `rounds` times; return the least nanoseconds of CPU per event of each."""
    best = dict.fromkeys(probes, float("inf"))
    for probe in probes.values():
        probe()
    for _ in range(rounds):
        for name, probe in probes.items():
            began = time.process_time_ns()
            probe()
            best[name] = min(best[name], (time.process_time_ns() - began) / events)
    return best
