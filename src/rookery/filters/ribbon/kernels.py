"""Ribbon kernels: banded elimination over GF(2), back substitution, and the layered probe (spec 3.3).

A key owns one equation: 64 coefficient bits beginning at column `start`, and one right-hand bit for each layer.
Equations are taken in order of `start`, so a system without solution is noticed where it breaks and not at its end.
Solutions are kept as words [word][layer]: one probe reads neighbors. The plain twin is `tests.twins.ribbon`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from rookery.filters.hashing.kernels import BLOCK, fmix64, hash_block, intrinsic, prefetch
from rookery.kernels import kernel

__all__ = ["contains_hash", "contains_hashes", "contains_strings", "find_seed", "solve"]

_0, _1, _32, _63, _64 = (np.uint64(n) for n in (0, 1, 32, 63, 64))
_6 = np.uint64(6)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_RIGHT = np.uint64(0xABCDEF)


@intrinsic
def _ones(typing_context: Any, value: Any) -> Any:
    """Count the ones of a word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def _trailing_zeros(typing_context: Any, value: Any) -> Any:
    """Count the zeros below the lowest one of a word that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@kernel
def _equation(value: np.uint64, salt: np.uint64, columns: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return (start, coefficients, right-hand bits) of a hash; `salt` is fmix64(ribbon seed + 1)."""
    width = min(_64, columns)
    mixed = fmix64(value ^ salt)
    start = (mixed >> _32) * (columns - width + _1) >> _32
    coefficients = fmix64(mixed + _GOLDEN) | _1
    if width < _64:
        coefficients &= (_1 << width) - _1
    return start, coefficients, fmix64(mixed ^ _RIGHT)


@kernel
def _eliminate(
    hashes: NDArray[np.uint64],
    seed: int,
    columns: int,
    rows: NDArray[np.uint64],
    right: NDArray[np.uint64],
    first: NDArray[np.int32],
    order: NDArray[np.int32],
) -> bool:
    """Bring the system into echelon form; False if some equation contradicts the others."""
    salt, size = fmix64(np.uint64(seed) + _1), np.uint64(columns)
    first[: columns + 1] = 0
    rows[:columns] = _0
    for key in range(np.uint64(hashes.size)):
        first[_equation(hashes[key], salt, size)[0] + _1] += 1
    for column in range(columns):
        first[column + 1] += first[column]
    for key in range(np.uint64(hashes.size)):
        start = _equation(hashes[key], salt, size)[0]
        order[first[start]] = key
        first[start] += 1
    for place in range(np.uint64(hashes.size)):
        at, coefficients, wanted = _equation(hashes[np.uint64(order[place])], salt, size)
        while True:
            if rows[at] == _0:
                rows[at] = coefficients
                right[at] = wanted
                break
            coefficients ^= rows[at]
            wanted ^= right[at]
            if coefficients == _0:
                if wanted != _0:
                    return False
                break
            zeros = _trailing_zeros(coefficients)
            at += zeros
            coefficients >>= zeros
    return True


@kernel
def find_seed(hashes: NDArray[np.uint64], columns: int, seeds: int) -> int:
    """Return the smallest ribbon seed below `seeds` whose system has a solution, or −1."""
    rows, right = np.empty(columns, dtype=np.uint64), np.empty(columns, dtype=np.uint64)
    first, order = np.empty(columns + 2, dtype=np.int32), np.empty(hashes.size, dtype=np.int32)
    for seed in range(seeds):
        if _eliminate(hashes, seed, columns, rows, right, first, order):
            return seed
    return -1


@kernel
def solve(hashes: NDArray[np.uint64], seed: int, columns: int, words: NDArray[np.uint64], layers: int) -> None:
    """Write the solution into the zeroed `words`, [word][layer]; free variables are 0."""
    rows, right = np.empty(columns, dtype=np.uint64), np.empty(columns, dtype=np.uint64)
    first, order = np.empty(columns + 2, dtype=np.int32), np.empty(hashes.size, dtype=np.int32)
    _eliminate(hashes, seed, columns, rows, right, first, order)
    behind = np.zeros(layers, dtype=np.uint64)  # per layer, the solution of the next 64 columns
    for column in range(columns - 1, -1, -1):
        coefficients = rows[column]
        for layer in range(layers):
            bit = _0
            if coefficients != _0:
                known = _ones((coefficients >> _1) & behind[layer])
                bit = (known ^ (right[column] >> np.uint64(layer))) & _1
            behind[layer] = behind[layer] << _1 | bit
            words[(column >> 6) * layers + layer] |= bit << np.uint64(column & 63)


@kernel
def contains_hash(
    value: np.uint64, salt: np.uint64, columns: np.uint64, words: NDArray[np.uint64], offset: int, layers: int
) -> bool:
    """Return whether every layer's parity is the key's right-hand bit; all layers at once, no early exit.

    The solution begins at word `offset`, so that many ribbons can lie in one array.
    """
    start, coefficients, wanted = _equation(value, salt, columns)
    shift = start & _63
    base = np.uint64(offset) + (start >> _6) * np.uint64(layers)
    upper = base + np.uint64(layers)
    wrong = _0
    for layer in range(np.uint64(layers)):
        window = words[base + layer] >> shift | words[upper + layer] << _1 << (_63 - shift)
        wrong |= (_ones(window & coefficients) ^ (wanted >> layer)) & _1
    return bool(wrong == _0)


@kernel
def contains_hashes(
    hashes: NDArray[np.uint64],
    seed: int,
    columns: int,
    words: NDArray[np.uint64],
    layers: int,
    found: NDArray[np.bool_],
) -> None:
    """Ask for an array of hashes."""
    salt = fmix64(np.uint64(seed) + _1)
    for key in range(np.uint64(hashes.size)):
        found[key] = contains_hash(hashes[key], salt, np.uint64(columns), words, 0, layers)


@kernel
def contains_strings(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    secret: NDArray[np.uint8],
    hash_salt: np.uint64,
    seed: int,
    columns: int,
    words: NDArray[np.uint64],
    layers: int,
    found: NDArray[np.bool_],
) -> None:
    """Ask for every key of an Arrow string array."""
    hashes = np.empty(BLOCK, dtype=np.uint64)
    count, size, salt = offsets.size - 1, np.uint64(columns), fmix64(np.uint64(seed) + _1)
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        hash_block(offsets, data, first, last, secret, hash_salt, hashes)
        for key in range(np.uint64(last - first)):
            start = _equation(hashes[key], salt, size)[0]
            prefetch(words, int((start >> _6) * np.uint64(layers)))
        for key in range(np.uint64(last - first)):
            found[np.uint64(first) + key] = contains_hash(hashes[key], salt, size, words, 0, layers)
