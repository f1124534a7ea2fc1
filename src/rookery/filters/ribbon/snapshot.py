"""One solved ribbon: r independent columns of m bits each; column j alone halves the false-positive rate (spec 3.3).

Rule: smallest m, then smallest seed. Up to 256 keys, m = n, n + 1, … with 256 seeds each; beyond, the last half percent
is not worth the time: m grows in steps of n/128, with 64 seeds each up to 4,096 keys and 16 above.
A system that solves for all 64 right-hand bits solves for any number of layers: any prefix of layers is valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from rookery.filters.ribbon import kernels

__all__ = ["MAXIMAL_LAYERS", "RibbonSnapshot"]

MAXIMAL_LAYERS = 32
_TIGHT, _LARGE = 256, 4096


@dataclass(frozen=True, slots=True, eq=False)
class RibbonSnapshot:
    """`layers` columns of `columns` bits, as words [word][layer] with one word of margin."""

    columns: int
    seed: int
    layers: int
    words: NDArray[np.uint64]

    @classmethod
    def build(cls, hashes: NDArray[np.uint64], *, layers: int) -> Self:
        """Solve for distinct hashes."""
        count = int(hashes.size)
        if not count:
            return cls(0, 0, layers, np.zeros(0, dtype=np.uint64))
        step, seeds = (1, 256) if count <= _TIGHT else (count >> 7, 64 if count <= _LARGE else 16)
        columns = count
        while (seed := int(kernels.find_seed(hashes, columns, seeds))) < 0:
            columns += step
        words = np.zeros(((columns + 63) // 64 + 1) * layers, dtype=np.uint64)
        kernels.solve(hashes, seed, columns, words, layers)
        return cls(columns, seed, layers, words)

    @classmethod
    def from_bits(cls, payload: bytes, *, columns: int, seed: int, layers: int) -> Self:
        """Read `layers` columns of `columns` bits, little-endian bit order, one after the other."""
        bits = np.unpackbits(np.frombuffer(payload, dtype=np.uint8), count=columns * layers, bitorder="little")
        word_count = (columns + 63) // 64 + 1
        padded = np.zeros((layers, 64 * word_count), dtype=np.uint8)
        padded[:, :columns] = bits.reshape(layers, columns)
        words = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        return cls(columns, seed, layers, np.ascontiguousarray(words.T).ravel())

    def column_bits(self, layers: int) -> NDArray[np.uint8]:
        """Return the first `layers` columns, one bit per item, one column after the other."""
        by_layer = np.ascontiguousarray(self.words.reshape(-1, self.layers).T[:layers]).astype("<u8")
        bits = np.unpackbits(by_layer.view(np.uint8).reshape(layers, -1), axis=1, bitorder="little")
        return np.asarray(bits[:, : self.columns].ravel(), dtype=np.uint8)

    def to_bits(self, layers: int) -> bytes:
        """Return the first `layers` columns as they go on the wire."""
        if not self.columns:
            return b""
        return np.packbits(self.column_bits(layers), bitorder="little").tobytes()

    def contains_hash(self, value: int) -> bool:
        """Return whether every layer's parity is right; an empty ribbon holds nothing."""
        if not self.columns:
            return False
        return bool(self.contains_hashes(np.array([value], dtype=np.uint64))[0])

    def contains_hashes(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Ask for an array of hashes."""
        found = np.zeros(hashes.size, dtype=np.bool_)
        if self.columns:
            kernels.contains_hashes(hashes, self.seed, self.columns, self.words, self.layers, found)
        return found

    @property
    def identity(self) -> int:
        """32 bits that a delta names its snapshot by; the same for every prefix of layers."""
        head = self.columns.to_bytes(4, "little") + bytes([self.seed])
        return int(xxhash.xxh3_64_intdigest(head + self.to_bits(1))) & 0xFFFFFFFF

    @property
    def false_positive_rate(self) -> float:
        """2^−layers; 0 for an empty ribbon."""
        return 2.0**-self.layers if self.columns else 0.0
