"""Equation 6: is it 0 exactly where a query and a node have nothing in common?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.figures import charts, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(asked=[1, 3, 10, 50], n=16, m=117, k=5, pairs=2000, runs=10)
QUICK = grid(asked=[1, 3, 10, 50], n=16, m=117, k=5, pairs=150, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Compare queries with nodes that hold nothing of them, and with nodes that hold one key of them."""
    asked, n, m, k, pairs = (parameters[name] for name in ("asked", "n", "m", "k", "pairs"))
    apart_zero = apart_exact = common_zero = common_below = 0
    for pair in range(pairs):
        held = endpoint_keys(n, seed=seed, owner=f"node{pair}-")
        others = absent_keys(asked, seed=1_000_000 * seed + pair)
        node = _filter(held, m, k)
        apart_zero += _estimate(node, _filter(others, m, k)) == 0
        apart_exact += not any(key in node for key in others)
        estimate = _estimate(node, _filter([held[0], *others[1:]], m, k))
        common_zero += estimate == 0
        common_below += estimate <= 0
    return [
        {
            "pruned_if_zero": apart_zero / pairs,
            "pruned_by_bits": apart_exact / pairs,
            "lost_if_zero": common_zero / pairs,
            "lost_if_not_positive": common_below / pairs,
        }
    ]


def _filter(keys: list[str], m: int, k: int) -> BloomFilter:
    made = BloomFilter(bit_count=m, hash_count=k)
    made.add_many(keys)
    return made


def _estimate(one: BloomFilter, other: BloomFilter) -> float:
    first, second, both = (int(np.bitwise_count(bits).sum()) for bits in (one.bits, other.bits, one.bits & other.bits))
    return equations.intersection_estimate(t1=first, t2=second, t_and=both, m=one.bit_count, k=one.hash_count)


def plot(table: Table) -> Any:
    """Draw what is pruned rightly, and what is lost."""
    figure, (left, right) = charts(
        ("keys asked for at once", "disjoint nodes that are left out"),
        ("keys asked for at once", "nodes with a common key that are left out"),
    )
    lines(left, table, x="asked", y="pruned_if_zero", label="equation 6 = 0")
    lines(left, table, x="asked", y="pruned_by_bits", label="bits of each key", first=2)
    lines(right, table, x="asked", y="lost_if_zero", label="equation 6 = 0")
    lines(right, table, x="asked", y="lost_if_not_positive", label="equation 6 ≤ 0", first=1)
    left.set_xscale("log")
    right.set_xscale("log")
    return figure


def check(table: Table) -> Judgment:
    """It should leave out every disjoint node and none that shares a key."""
    ten = table.where(asked=10)
    holds = table.least("pruned_if_zero") > 0.99 and table.most("lost_if_zero") == 0
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"= 0 for {ten.mean('pruned_if_zero'):.1%} of disjoint pairs, and for {ten.mean('lost_if_zero'):.1%} of pairs "
        "with a common key",
        "Equation 6 is 0 only where t∧·m = t1·t2 exactly. For ten keys it is 0 for "
        f"{ten.mean('pruned_if_zero'):.1%} of the disjoint nodes, so it prunes next to nothing, and for "
        f"{ten.mean('lost_if_zero'):.1%} of the nodes that hold a key, which are then lost. Read as “≤ 0” it loses "
        f"{ten.mean('lost_if_not_positive'):.0%} of them. Testing the bits of each key loses none and prunes "
        f"{ten.mean('pruned_by_bits'):.0%}; that is what Rookery does.",
    )
