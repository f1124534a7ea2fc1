"""Equations 1–6 of seed 000, with what the paper leaves out, and the other rates that tests compare with.

`m` bits, `k` hash functions, `n` elements, as in the paper; its "byte" is a bit (spec 1.1). Theorem 1 of the paper says
that β(A∪B) = β(A)∨β(B), which is true, and that β(A∩B) = β(A)∧β(B), which is false: only β(A∩B) ⊆ β(A)∧β(B) holds,
because different elements may set the same bit. So no rule of Rookery takes the AND of two filters for the filter of an
intersection. Equation 6 estimates the size of an intersection from counts of ones; it is 0 only when t∧·m = t1·t2
exactly, so it may order a search, but pruning by it loses elements.
"""

from __future__ import annotations

import math

__all__ = [
    "bloom_rate",
    "bloom_rate_approximate",
    "bloom_rate_minimal",
    "combined_rate",
    "counter_overflow_bound",
    "counter_overflow_bound_optimal",
    "counter_overflow_bound_tight",
    "counter_probability",
    "cuckoo_rate",
    "intersection_estimate",
    "optimal_bit_count",
    "optimal_hash_count",
    "optimal_rate_for_traffic",
]


def bloom_rate(*, n: int, m: int, k: int) -> float:
    """Equation 1, middle: FP = [1 − (1 − 1/m)^{kn}]^k."""
    return float((1 - (1 - 1 / m) ** (k * n)) ** k)


def bloom_rate_approximate(*, n: int, m: int, k: int) -> float:
    """Equation 1, right: FP ≈ (1 − e^{−kn/m})^k."""
    return float((1 - math.exp(-k * n / m)) ** k)


def optimal_hash_count(*, n: int, m: int) -> float:
    """k = (m/n)·ln 2, where equation 1 is smallest; a real number, to be rounded."""
    return m / n * math.log(2)


def bloom_rate_minimal(*, n: int, m: int) -> float:
    """FP_min = 2^{−(m/n)·ln 2}, the value of equation 1 at the optimal k."""
    return float(2 ** -(m / n * math.log(2)))


def optimal_bit_count(*, n: int, rate: float) -> int:
    """m = ⌈−n·ln(rate) / ln²2⌉: the bits that reach `rate` with the optimal k."""
    return max(1, math.ceil(-n * math.log(rate) / math.log(2) ** 2))


def counter_probability(*, j: int, n: int, m: int, k: int) -> float:
    """Equation 2: P(c(i) = j), a binomial of nk trials at 1/m."""
    trials = n * k
    if not 0 <= j <= trials:
        return 0.0
    if m == 1:
        return 1.0 if j == trials else 0.0
    log = math.lgamma(trials + 1) - math.lgamma(j + 1) - math.lgamma(trials - j + 1)
    return math.exp(log - j * math.log(m) + (trials - j) * math.log1p(-1 / m))


def counter_overflow_bound_tight(*, j: int, n: int, m: int, k: int) -> float:
    """Equation 3, middle: P(max c ≥ j) ≤ m·C(nk, j)·m^{−j}. The paper's text says "greater than"; it is "at least"."""
    return float(m * math.comb(n * k, j) / m**j)


def counter_overflow_bound(*, j: int, n: int, m: int, k: int) -> float:
    """Equation 3, right: P(max c ≥ j) ≤ m·(e·n·k / (j·m))^j."""
    return float(m * (math.e * n * k / (j * m)) ** j)


def counter_overflow_bound_optimal(*, j: int = 16, m: int) -> float:
    """Equation 4 at the optimal k: m·(e·ln 2 / j)^j; with j = 16, equation 5: 1.37·10⁻¹⁵·m."""
    return float(m * (math.e * math.log(2) / j) ** j)


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


def cuckoo_rate(*, load: float, fingerprint_bits: int = 7, slots: int = 4) -> float:
    """Return 1 − (1 − 2^{−f})^{slots·load}: the mean over tables, with f bits of fingerprint beside the flag."""
    return float(1 - (1 - 2.0**-fingerprint_bits) ** (slots * load))


def combined_rate(*rates: float) -> float:
    """Return 1 − ∏(1 − rate): a key matches when any part matches (rows of a node, two filters of one announcement)."""
    return 1 - math.prod(1 - rate for rate in rates)


def optimal_rate_for_traffic(
    *, sends: float, bits_per_halving: float, n: int, queried: int, match_bytes: float
) -> float:
    """ε* = A·c·n / (8·ln 2·q·s): where one more bit per key costs as much as the false matches it saves (spec 3.4)."""
    return sends * bits_per_halving * n / (8 * math.log(2) * queried * match_bytes)
