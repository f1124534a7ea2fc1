"""The layered ribbon filter: the default summary, within a few percent of the fewest bits possible (spec 3.3).

Rule 1: the wire is a snapshot (a solved ribbon) and the additions since, as Golomb-coded hash prefixes. A key that was
added is in one of the two.
Rule 2: removal waits for the next snapshot, which the owner solves anew from its keys when it encodes; until then a
removed key is only one more false positive. A list of exclusions would make false negatives, so there is none.
Rule 3: any prefix of layers is a valid filter with a higher rate; `to_bytes(size_limit=…)` sends as many layers as fit.
A ribbon cannot be filled up: whatever its bits, a random key passes a layer with probability one half, so the only
refusal is zero layers.

Container (magic 0xD1): the shared twelve bytes with the number of layers as the small parameter and flag bit 2 = delta
only, then `<I m, B ribbon seed, B delta bits, H delta count>`, then m·layers bits, column by column, little-endian bit
order, zero padding to a byte, then the delta: Rice-coded gaps of sorted prefixes of `delta bits` bits, MSB first, Rice
parameter = delta bits − ⌈log2 delta count⌉. A delta alone carries no columns, and its m is the snapshot's identity.
"""

from __future__ import annotations

import math
import struct
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rookery.arrays import distinct
from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.container import RIBBON, read_prefix, write_prefix
from rookery.filters.equations import combined_rate
from rookery.filters.golomb.codec import decode_values, encode_values
from rookery.filters.hashing import DomainKey, KeyHasher, Keys, string_buffers
from rookery.filters.protocol import require_owner
from rookery.filters.ribbon import kernels
from rookery.filters.ribbon.snapshot import MAXIMAL_LAYERS, RibbonSnapshot

__all__ = ["DELTA_ONLY", "HEADER_BYTES", "RibbonFilter"]

DELTA_ONLY = 0x04
HEADER_BYTES = 20
_PARAMETERS = struct.Struct("<IBBH")
_LONGEST_DELTA = 0xFFFF


class RibbonFilter:
    """A static filter of `layers` bits per key that its owner extends by deltas and rebuilds to delete."""

    __slots__ = (
        "_counts",
        "_delta",
        "_delta_bits",
        "_held",
        "_owned",
        "_snapshot",
        "_stale",
        "base",
        "epoch",
        "hasher",
        "layers",
    )

    def __init__(self, *, layers: int = 7, seed: int = 0, domain_key: DomainKey | None = None, epoch: int = 0) -> None:
        if not 1 <= layers <= MAXIMAL_LAYERS:
            raise FilterError(f"layers is {layers}; it lies between 1 and {MAXIMAL_LAYERS}")
        self.layers = layers
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch
        self.base: int | None = None
        self._counts: dict[int, int] = {}
        self._held: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)  # hashes in the snapshot, sorted
        self._snapshot = RibbonSnapshot.build(self._held, layers=layers)
        self._delta: set[int] = set()  # as owner: whole hashes; as receiver: prefixes
        self._delta_bits = 64
        self._stale = 0  # hashes in the snapshot that were removed since
        self._owned = True

    @classmethod
    def sized_for(
        cls,
        capacity: int,
        false_positive_rate: float = 0.01,
        *,
        seed: int = 0,
        domain_key: DomainKey | None = None,
        epoch: int = 0,
    ) -> Self:
        """Make a filter with enough layers for `false_positive_rate`; the capacity is whatever is added."""
        if capacity < 0 or not 0 < false_positive_rate < 1:
            raise FilterError("capacity is at least 0 and the false-positive rate lies between 0 and 1")
        layers = min(MAXIMAL_LAYERS, max(1, math.ceil(-math.log2(false_positive_rate))))
        return cls(layers=layers, seed=seed, domain_key=domain_key, epoch=epoch)

    @property
    def snapshot(self) -> RibbonSnapshot:
        """The solved ribbon."""
        return self._snapshot

    @property
    def delta_count(self) -> int:
        """Keys added since the snapshot."""
        return len(self._delta)

    def _are_held(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        if not self._held.size:
            return np.zeros(hashes.size, dtype=np.bool_)
        places = np.minimum(self._held.searchsorted(hashes), self._held.size - 1)
        return np.asarray(self._held[places] == hashes, dtype=np.bool_)

    def add(self, key: str) -> None:
        """Add one key, or one more reference to it; it goes into the delta."""
        require_owner(self._owned)
        self._count_in(np.array([self.hasher(key)], dtype=np.uint64))

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings)."""
        require_owner(self._owned)
        self._count_in(self.hasher.many(keys))

    def _count_in(self, hashes: NDArray[np.uint64]) -> None:
        for value, held in zip(hashes.tolist(), self._are_held(hashes).tolist(), strict=True):
            count = self._counts.get(value, 0)
            self._counts[value] = count + 1
            if not count:
                if held:
                    self._stale -= 1  # removed and back again: the snapshot never let it go
                else:
                    self._delta.add(value)

    def remove(self, key: str) -> None:
        """Drop one reference; the key leaves the wire with the next snapshot."""
        require_owner(self._owned)
        value = self.hasher(key)
        count = self._counts.get(value, 0)
        if not count:
            raise UnknownKeyError(f"{key!r} is not in this filter; only keys that were added can be removed")
        if count > 1:
            self._counts[value] = count - 1
            return
        del self._counts[value]
        if value in self._delta:
            self._delta.remove(value)
        else:
            self._stale += 1

    def rebuild(self) -> None:
        """Solve a new snapshot from the keys held: nothing stale, no delta."""
        require_owner(self._owned)
        self._held = np.sort(np.fromiter(self._counts, dtype=np.uint64, count=len(self._counts)))
        self._snapshot = RibbonSnapshot.build(self._held, layers=self.layers)
        self._delta, self._stale = set(), 0

    def _refresh(self) -> None:
        """Rebuild before encoding, when removals wait or the delta has outgrown an eighth of the snapshot."""
        if self._owned and (self._stale or len(self._delta) > min(_LONGEST_DELTA, self._held.size // 8)):
            self.rebuild()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.contains_hash(self.hasher(key))

    def contains_hash(self, value: int) -> bool:
        """Ask the delta, then the snapshot."""
        return value >> (64 - self._delta_bits) in self._delta or self._snapshot.contains_hash(value)

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        snapshot, hasher, parts = self._snapshot, self.hasher, []
        if self._delta:
            hashes = hasher.many(keys)
            added = np.fromiter(self._delta, dtype=np.uint64, count=len(self._delta))
            return snapshot.contains_hashes(hashes) | np.isin(hashes >> np.uint64(64 - self._delta_bits), added)
        for offsets, data in string_buffers(keys):
            found = np.zeros(offsets.size - 1, dtype=np.bool_)
            if snapshot.columns:
                kernels.contains_strings(
                    offsets, data, hasher.secret, hasher.salt,
                    snapshot.seed, snapshot.columns, snapshot.words, snapshot.layers, found,
                )  # fmt: skip
            parts.append(found)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.bool_)

    def _encoded_delta(self, layers: int) -> tuple[int, int, int, bytes]:
        """Return (prefix bits, count, bits, bytes); the prefix keeps the rate of the delta below that of the layers."""
        if not self._delta:
            return 0, 0, 0, b""
        bits = self._delta_bits
        if self._owned:
            bits = min(64, max(1, self._held.size - 1).bit_length() + layers)
        values = np.fromiter(self._delta, dtype=np.uint64, count=len(self._delta))
        values = distinct(values >> np.uint64(self._delta_bits - bits))
        rice = _delta_rice(bits, int(values.size))
        length, payload = encode_values(values, drop=0, rice=rice)
        return bits, int(values.size), length, payload

    def _fitting_layers(self, layers: int | None, size_limit: int | None) -> int:
        if layers is not None and not 1 <= layers <= self.layers:
            raise FilterError(f"this filter has {self.layers} layers; ask for 1 to that many")
        chosen = layers or self.layers
        if size_limit is None:
            return chosen
        while (
            HEADER_BYTES + (chosen * self._snapshot.columns + 7) // 8 + len(self._encoded_delta(chosen)[3]) > size_limit
        ):
            chosen -= 1
            if not chosen:
                raise FilterError(
                    f"not even one layer fits into {size_limit} bytes; announce epoch, size and hash instead"
                )
        return chosen

    def to_bytes(self, *, layers: int | None = None, size_limit: int | None = None) -> bytes:
        """Encode; with `layers` or `size_limit`, only the first layers, or as many as fit."""
        if self.base is not None:
            return self.delta_to_bytes()
        self._refresh()
        sent = self._fitting_layers(layers, size_limit)
        bits, count, _, delta = self._encoded_delta(sent)
        prefix = write_prefix(magic=RIBBON, flags=0, parameter=sent, epoch=self.epoch, hasher=self.hasher)
        parameters = _PARAMETERS.pack(self._snapshot.columns, self._snapshot.seed, bits, count)
        return prefix + parameters + self._snapshot.to_bits(sent) + delta

    def delta_to_bytes(self) -> bytes:
        """Encode only the additions since the snapshot, for peers that hold the snapshot."""
        bits, count, _, delta = self._encoded_delta(self.layers)
        if len(self._delta) > _LONGEST_DELTA:
            raise FilterError("too many additions for a delta; send a snapshot with to_bytes()")
        prefix = write_prefix(
            magic=RIBBON, flags=DELTA_ONLY, parameter=self.layers, epoch=self.epoch, hasher=self.hasher
        )
        identity = self._snapshot.identity if self.base is None else self.base
        return prefix + _PARAMETERS.pack(identity, 0, bits, count) + delta

    def announce(self, *, size_limit: int | None = None) -> bytes:
        """Advance the epoch and encode."""
        require_owner(self._owned)
        self.epoch = self.epoch + 1 & 0xFFFFFFFF
        return self.to_bytes(size_limit=size_limit)

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode a container of magic 0xD1; a delta alone answers for its own keys until `with_delta` joins it."""
        prefix = read_prefix(data, magic=RIBBON, size=HEADER_BYTES, allowed=DELTA_ONLY, domain_key=domain_key)
        columns, seed, bits, count = _PARAMETERS.unpack_from(data, HEADER_BYTES - _PARAMETERS.size)
        layers, base = prefix.parameter, None
        if not 1 <= layers <= MAXIMAL_LAYERS or bits > 64 or bool(bits) != bool(count):
            raise FilterError(f"bad header: {layers} layers, {count} additions of {bits} bits")
        if prefix.flags & DELTA_ONLY:
            columns, base = 0, columns
        end = HEADER_BYTES + (columns * layers + 7) // 8
        if end > len(data):
            raise FilterError(f"truncated: the columns end at byte {end} of {len(data)}")
        if columns * layers & 7 and data[end - 1] >> (columns * layers & 7):
            raise FilterError("non-zero padding")
        values, _ = decode_values(data[end:], count=count, value_bits=bits, drop=0, rice=_delta_rice(bits, count))
        decoded = cls.__new__(cls)
        decoded._snapshot = RibbonSnapshot.from_bits(data[HEADER_BYTES:end], columns=columns, seed=seed, layers=layers)
        decoded.layers, decoded.hasher, decoded.epoch, decoded.base = layers, prefix.hasher, prefix.epoch, base
        decoded._delta, decoded._delta_bits = set(values.tolist()), bits or 64
        decoded._counts, decoded._held, decoded._stale = {}, np.empty(0, dtype=np.uint64), 0
        decoded._owned = False
        return decoded

    def with_delta(self, delta: RibbonFilter) -> RibbonFilter:
        """As a receiver: return this snapshot with the additions of a later delta (which replace earlier ones)."""
        if delta.base is None or delta.base != self._snapshot.identity or delta.hasher != self.hasher:
            raise FilterError("this delta belongs to another snapshot; wait for the next one or ask for it")
        joined = RibbonFilter.__new__(RibbonFilter)
        joined._snapshot, joined.layers, joined.hasher = self._snapshot, self.layers, self.hasher
        joined.epoch, joined.base = delta.epoch, None
        joined._delta, joined._delta_bits = set(delta._delta), delta._delta_bits
        joined._counts, joined._held, joined._stale, joined._owned = {}, self._held, 0, False
        return joined

    @property
    def size_in_bits(self) -> int:
        """m·layers and the bits of the delta."""
        self._refresh()
        return self._snapshot.columns * self.layers + self._encoded_delta(self.layers)[2]

    @property
    def expected_false_positive_rate(self) -> float:
        """1 − (1 − 2^−layers)(1 − additions / 2^bits)."""
        return combined_rate(self._snapshot.false_positive_rate, len(self._delta) / 2.0**self._delta_bits)


def _delta_rice(bits: int, count: int) -> int:
    """Return the Rice parameter of a delta; a delta that fills its range is refused."""
    rice = bits - max(0, count - 1).bit_length()
    if rice < 0 or (count and rice == 0):
        raise FilterError(f"over the fill cap: {count} additions of {bits} bits")
    return rice
