"""The false-positive rate of a Bloom filter given its bits, with double hashing taken at its word.

A key takes the positions ⌊m·frac(α + iβ)⌋ for i = 0 … k − 1, with α and β uniform: an arithmetic progression, not k
independent draws. In a small or sparse filter that matters: a progression near a stored one hits all its bits, and the
rate is several times (ones/m)^k: eight times for 4 keys in 117 bits. With α = (p + u)/m and β = (q + v)/m position i is
p + iq + ⌊u + iv⌋ mod m. The floors form finitely many patterns; between neighboring fractions of denominator < k the
order of their breaks is fixed, so each pattern's area in the unit square is a trapezoid. The rate is the sum over
patterns of area · #{(p, q): all positions set} / m².

That sum takes about ones·m·k³/3 steps. Where it would take too many, m is large, and (ones/m)^k is right to a percent.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rookery.filters.bloom import kernels
from rookery.filters.equations import combined_rate

__all__ = ["exact_rate", "floor_patterns"]

#: Steps of the sum that are worth it; a few tenths of a second.
_STEPS = 1 << 26


@lru_cache(maxsize=128)
def floor_patterns(hash_count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the patterns (⌊u + iv⌋ for i < k) and their areas in the unit square of (u, v)."""
    fractions = sorted({Fraction(top, low) for low in range(1, max(2, hash_count)) for top in range(low + 1)})
    shifts, areas = [], []
    for left, right in pairwise(fractions):
        middle = (left + right) / 2
        breaks = sorted({Fraction(0), Fraction(1), *(1 - index * middle % 1 for index in range(1, hash_count))})
        for low, high in pairwise(breaks):
            inside = (low + high) / 2
            shifts.append([math.floor(inside + index * middle) for index in range(hash_count)])
            areas.append(float((right - left) * (high - low)))
    return np.array(shifts, dtype=np.int64), np.array(areas, dtype=np.float64)


def exact_rate(rows: NDArray[np.bool_], *, hash_count: int) -> float:
    """Return the chance that a random hash has all its positions in one of `rows` (one boolean per bit)."""
    if not rows.size:
        return 0.0
    ones = np.count_nonzero(rows, axis=1)
    size = rows.shape[1]
    if hash_count <= 16:
        shifts, areas = floor_patterns(hash_count)
        if int(ones.sum()) * size * areas.size <= _STEPS:
            return float(kernels.matching_area(np.ascontiguousarray(rows), shifts, areas, hash_count))
    return combined_rate(*(float((count / size) ** hash_count) for count in ones.tolist()))
