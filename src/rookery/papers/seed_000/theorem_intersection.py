"""Theorem 1, second half: is the AND of two filters the filter of the intersection?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(shared=[0, 1, 10, 50, 90, 99, 100], keys=100, bits=960, hashes=7, pairs=200, runs=10)
QUICK = grid(shared=[0, 50, 99, 100], keys=100, bits=960, hashes=7, pairs=30, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Count the pairs of sets for which the theorem holds, for unions and for intersections."""
    keys, shared, pairs = parameters["keys"], parameters["shared"], parameters["pairs"]
    union = intersection = extra = 0
    for pair in range(pairs):
        names = endpoint_keys(2 * keys - shared, seed=seed, owner=f"pair{pair}-")
        one, other = names[:keys], names[keys - shared :]
        first, second = (_bits(part, parameters) for part in (one, other))
        union += bool((_bits(names, parameters) == (first | second)).all())
        common = _bits(names[keys - shared : keys], parameters)
        surplus = int(np.bitwise_count((first & second) & ~common).sum())
        assert not (common & ~(first & second)).any()  # ⊆ always holds
        intersection += surplus == 0
        extra += surplus
    return [{"union_holds": union, "intersection_holds": intersection, "surplus_ones": extra / pairs}]


def _bits(keys: list[str], parameters: Mapping[str, Any]) -> Any:
    made = BloomFilter(bit_count=parameters["bits"], hash_count=parameters["hashes"])
    made.add_many(keys)
    return made.bits


def plot(table: Table) -> Any:
    """Draw the ones that the AND has too many."""
    figure, axes = chart("keys that A and B (100 each) share", "ones of β(A)∧β(B) that are not in β(A∩B)")
    lines(axes, table, x="shared", y="surplus_ones", label="measured")
    return figure


def check(table: Table) -> Judgment:
    """Equality must hold for every pair; it holds where A = B."""
    apart = Table([row for row in table if row["shared"] != row["keys"]])
    holds, of = apart.total("intersection_holds"), apart.total("pairs")
    surplus = apart.where(shared=0).mean("surplus_ones")
    return Judgment(
        Verdict.REPRODUCED if holds == of else Verdict.CONTRADICTED,
        f"holds for {holds:,} of {of:,} pairs of different sets",
        f"β(A∩B) is contained in β(A)∧β(B), and equal to it for {holds:,} of {of:,} pairs of different sets: two "
        "elements that are not shared can set the same bit. For disjoint sets of 100 keys the filter of the "
        f"intersection is empty while the AND has {surplus:.0f} ones on average. Nothing in Rookery takes the AND for "
        "an intersection.",
    )
