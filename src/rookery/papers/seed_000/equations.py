"""Equations 1 to 5 of seed 000: `m` bits, `k` hash functions, `n` elements; the paper's "byte" is a bit."""

from __future__ import annotations

import math

__all__ = [
    "bloom_rate",
    "bloom_rate_approximate",
    "bloom_rate_minimal",
    "counter_overflow_bound",
    "counter_overflow_bound_optimal",
    "counter_overflow_bound_tight",
    "counter_probability",
]


def bloom_rate(*, n: int, m: int, k: int) -> float:
    """Equation 1, middle: FP = [1 − (1 − 1/m)^{kn}]^k."""
    return float((1 - (1 - 1 / m) ** (k * n)) ** k)


def bloom_rate_approximate(*, n: int, m: int, k: int) -> float:
    """Equation 1, right: FP ≈ (1 − e^{−kn/m})^k."""
    return float((1 - math.exp(-k * n / m)) ** k)


def bloom_rate_minimal(*, n: int, m: int) -> float:
    """FP_min = 2^{−(m/n)·ln 2}, the value of equation 1 at the optimal k."""
    return float(2 ** -(m / n * math.log(2)))


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
