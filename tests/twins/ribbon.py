"""The layered ribbon in plain Python: an equation is one big integer, elimination is schoolbook.

Rule: no band, no order, no words. A row is an integer whose bit c is the coefficient of column c; the solution with
free variables 0 is unique, so this twin and the kernels must give the same columns.
"""

from __future__ import annotations

from rookery.filters.hashing.plain import fmix64

__all__ = ["contains", "equation", "solve"]

_ALL = (1 << 64) - 1


def equation(value: int, *, seed: int, columns: int) -> tuple[int, int, int]:
    """Return (start, coefficients, right-hand bits) of a hash."""
    width = min(64, columns)
    mixed = fmix64(value ^ fmix64(seed + 1))
    start = (mixed >> 32) * (columns - width + 1) >> 32
    coefficients = (fmix64(mixed + 0x9E3779B97F4A7C15 & _ALL) | 1) & (1 << width) - 1
    return start, coefficients, fmix64(mixed ^ 0xABCDEF)


def solve(hashes: list[int], *, seed: int, columns: int, layers: int) -> list[int] | None:
    """Return one integer per layer, bit c = column c; None if the system has no solution."""
    pivots: dict[int, tuple[int, int]] = {}
    for value in hashes:
        start, coefficients, wanted = equation(value, seed=seed, columns=columns)
        row = coefficients << start
        while row:
            pivot = (row & -row).bit_length() - 1
            if pivot not in pivots:
                pivots[pivot] = (row, wanted)
                break
            row, wanted = row ^ pivots[pivot][0], wanted ^ pivots[pivot][1]
        else:
            if wanted:
                return None
    solution = [0] * layers
    for pivot in sorted(pivots, reverse=True):
        row, wanted = pivots[pivot]
        for layer in range(layers):
            parity = (row & solution[layer]).bit_count() ^ wanted >> layer
            solution[layer] |= (parity & 1) << pivot
    return solution


def contains(solution: list[int], value: int, *, seed: int, columns: int) -> bool:
    """Return whether every layer's parity is the key's right-hand bit."""
    start, coefficients, wanted = equation(value, seed=seed, columns=columns)
    return all(
        ((column >> start & coefficients).bit_count() ^ wanted >> layer) & 1 == 0
        for layer, column in enumerate(solution)
    )
