"""The equations of seed 000 that filters are sized and searched by; `papers.seed_000.equations` has the others.

`m` bits, `k` hash functions, `n` elements, as in the paper; its "byte" is a bit (spec 1.1). Theorem 1 of the paper says
that β(A∪B) = β(A)∨β(B), which is true, and that β(A∩B) = β(A)∧β(B), which is false: only β(A∩B) ⊆ β(A)∧β(B) holds,
because different elements may set the same bit. So no rule of Rookery takes the AND of two filters for the filter of an
intersection. Equation 6 estimates the size of an intersection from counts of ones; it is 0 only when t∧·m = t1·t2
exactly, so it may order a search, but pruning by it loses elements.
"""

from __future__ import annotations

import math

__all__ = [
    "combined_rate",
    "intersection_estimate",
    "optimal_bit_count",
    "optimal_hash_count",
    "optimal_rate_for_traffic",
]


def optimal_hash_count(*, n: int, m: int) -> float:
    """k = (m/n)·ln 2, where equation 1 is smallest; a real number, to be rounded."""
    return m / n * math.log(2)


def optimal_bit_count(*, n: int, rate: float) -> int:
    """m = ⌈−n·ln(rate) / ln²2⌉: the bits that reach `rate` with the optimal k."""
    return max(1, math.ceil(-n * math.log(rate) / math.log(2) ** 2))


def intersection_estimate(*, t1: int, t2: int, t_and: int, m: int, k: int) -> float:
    """Equation 6: the estimated size of an intersection from the ones of β1, β2 and β1∧β2.

    Where the formula has no value (m − t1 − t2 + t∧ ≤ 0, or a logarithm of nothing) the answer is +∞: intersecting.
    """
    denominator = m - t1 - t2 + t_and
    if denominator <= 0:
        return math.inf
    argument = m - (t_and * m - t1 * t2) / denominator
    if argument <= 0:
        return math.inf
    return (math.log(argument) - math.log(m)) / (k * math.log(1 - 1 / m))


def combined_rate(*rates: float) -> float:
    """Return 1 − ∏(1 − rate): a key matches when any part matches (rows of a node, two filters of one announcement)."""
    return 1 - math.prod(1 - rate for rate in rates)


def optimal_rate_for_traffic(
    *, sends: float, bits_per_halving: float, n: int, queried: int, match_bytes: float
) -> float:
    """ε* = A·c·n / (8·ln 2·q·s): where one more bit per key costs as much as the false matches it saves (spec 3.4)."""
    return sends * bits_per_halving * n / (8 * math.log(2) * queried * match_bytes)
