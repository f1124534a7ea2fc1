"""The compressed cuckoo filter as its owner holds it: reference counts, doubling, progressive rehash (spec 2.2, 2.4).

Rule 1: a key is in the table once, however often it was added; the filter counts references, inserts on 0 → 1 and
deletes on 1 → 0.
Rule 2: 80 % load, or a failed insertion, begins a table of twice the size. New keys go there. Each announcement moves
some fingerprints over, *in before out*, and carries both tables, the new one first; at no instant is a key in neither.
Rule 3: no clock here. Whoever sends calls `announce()`, or `settle()` and `to_bytes()`, each time; the pointer of the
transfer is plain state (`pointer`).
Rule 4: when the new table overflows while the old one drains, everything is rebuilt at once at twice the size, from the
shadow hashes; the key being inserted is not among them yet, so it goes in once.
Two tables alternate: the drained one is the spare for the next resizing. It has a quarter of the length that the next
doubling needs (and just the length for halving), so the object is used again and gets another length.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.cuckoo import codec, kernels
from rookery.filters.cuckoo.table import MAXIMAL_LOG2_BUCKETS, CuckooTable
from rookery.filters.equations import combined_rate
from rookery.filters.hashing import DomainKey, KeyHasher, Keys, string_buffers
from rookery.filters.protocol import require_owner

__all__ = ["DISCOVERY_SLOT_BITS", "CuckooFilter"]

#: The default for discovery: 11 bits of fingerprint and the flag; the patent's 8 leave 2.5 % false matches when full.
DISCOVERY_SLOT_BITS = 12
#: Below a fifth of the slots for this many announcements, the table is halved (an extension; the patent has none).
_IDLE_ANNOUNCEMENTS = 16


class CuckooFilter:
    """A deletable filter that grows, with the compressed wire form of seed 001."""

    __slots__ = (
        "_counts",
        "_current",
        "_idle",
        "_least",
        "_old",
        "_owned",
        "_shrinks",
        "_spare",
        "alternate_order",
        "epoch",
        "hasher",
        "moves_per_announcement",
        "pointer",
    )

    def __init__(
        self,
        *,
        log2_buckets: int = 3,
        least_log2_buckets: int = 1,
        slot_bits: int = DISCOVERY_SLOT_BITS,
        moves_per_announcement: int | None = None,
        alternate_order: bool = True,
        shrinks: bool = True,
        seed: int = 0,
        domain_key: DomainKey | None = None,
        epoch: int = 0,
    ) -> None:
        if not 1 <= log2_buckets <= MAXIMAL_LOG2_BUCKETS or not 8 <= slot_bits <= 16:
            raise FilterError(f"1 ≤ log2_buckets ≤ {MAXIMAL_LOG2_BUCKETS} and 8 ≤ slot_bits ≤ 16")
        self._current = CuckooTable(log2_buckets=log2_buckets, width=slot_bits)
        self._old: CuckooTable | None = None
        self._spare: CuckooTable | None = None
        self._counts: dict[int, int] = {}
        self._owned, self._idle, self._shrinks, self._least = True, 0, shrinks, least_log2_buckets
        self.pointer = 0
        self.moves_per_announcement = moves_per_announcement
        self.alternate_order = alternate_order
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch

    @classmethod
    def patent(cls, *, log2_buckets: int = 3, seed: int = 0) -> Self:
        """Make the filter of seed 001 as written: 8-bit slots, one fingerprint per announcement, slots in order."""
        return cls(
            log2_buckets=log2_buckets,
            slot_bits=8,
            moves_per_announcement=1,
            alternate_order=False,
            shrinks=False,
            seed=seed,
        )

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
        """Make the smallest table below 80 % load for `capacity` keys, with slots wide enough for the rate."""
        if capacity < 0 or not 0 < false_positive_rate < 1:
            raise FilterError("capacity is at least 0 and the false-positive rate lies between 0 and 1")
        log2_buckets = _log2_for(capacity)
        load = max(1, capacity) / (2 << log2_buckets)
        fingerprint = math.ceil(math.log2(4 * load / false_positive_rate))
        slot_bits = min(16, max(8, fingerprint + 1))
        return cls(log2_buckets=log2_buckets, slot_bits=slot_bits, seed=seed, domain_key=domain_key, epoch=epoch)

    def __len__(self) -> int:
        return sum(table.count for table in self.tables)

    @property
    def tables(self) -> tuple[CuckooTable, ...]:
        """The tables, the newer first: two while a transfer is under way."""
        return (self._current,) if self._old is None else (self._current, self._old)

    @property
    def is_migrating(self) -> bool:
        """Whether an old table is being drained."""
        return self._old is not None

    def add(self, key: str) -> None:
        """Add one key, or one more reference to it."""
        require_owner(self._owned)
        value = self.hasher(key)
        count = self._counts.get(value, 0)
        if not count:
            self._insert(value)
        self._counts[value] = count + 1

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings); a large batch is built at its final size at once."""
        require_owner(self._owned)
        counts: dict[int, int] = {}
        fresh: list[int] = []
        for value in self.hasher.many(keys).tolist():
            count = counts.get(value) or self._counts.get(value, 0)
            if not count:
                fresh.append(value)
            counts[value] = count + 1
        hashes = np.array(fresh, dtype=np.uint64)
        if 5 * (len(self) + len(fresh)) >= 8 * self._current.bucket_count:
            self._rebuild(max(self._current.log2_buckets, _log2_for(len(self) + len(fresh))), hashes)
        else:
            done = self._current.insert_many(hashes)
            if done < hashes.size:
                self._rebuild(self._current.log2_buckets + 1, hashes[done:])
        self._counts.update(counts)

    def _insert(self, value: int) -> None:
        if self._current.insert(value):
            if self._old is None and self._current.is_saturated:
                self._resize(self._current.log2_buckets + 1)
        elif self._old is None:
            self._resize(self._current.log2_buckets + 1)
            self._current.insert(value)  # an empty table takes any key
        else:
            self._rebuild(self._current.log2_buckets + 1, np.array([value], dtype=np.uint64))

    def _resize(self, log2_buckets: int) -> None:
        """Begin a transfer into a table of another size; the spare object is used again."""
        _check_size(log2_buckets)
        fresh = self._spare or CuckooTable(log2_buckets=log2_buckets, width=self._current.width)
        fresh.reset(log2_buckets)
        self._old, self._current, self._spare = self._current, fresh, None
        self.pointer = self._idle = 0
        self._finish_if_drained()

    def _rebuild(self, log2_buckets: int, extra: NDArray[np.uint64]) -> None:
        """Put everything into one table at once, of at least this size."""
        hashes = np.concatenate([table.hashes() for table in self.tables] + [extra])
        while True:
            _check_size(log2_buckets)
            table = CuckooTable(log2_buckets=log2_buckets, width=self._current.width)
            if table.insert_many(hashes) == hashes.size:
                break
            log2_buckets += 1
        self._current, self._old, self.pointer = table, None, 0

    def _finish_if_drained(self) -> None:
        if self._old is not None and self._old.count == 0:
            self._spare, self._old = self._old, None
            if self._current.is_saturated:  # the trigger may have come true while the old table drained
                self._resize(self._current.log2_buckets + 1)

    def migrate(self, moves: int) -> None:
        """Move up to `moves` fingerprints from the old table to the new one: in before out."""
        require_owner(self._owned)
        for _ in range(moves):
            old = self._old
            if old is None:
                return
            slot = old.next_occupied(self.pointer)
            if not self._current.insert(int(old.shadow[slot])):
                self._rebuild(self._current.log2_buckets + 1, np.empty(0, dtype=np.uint64))
                return
            old.clear_slot(slot)
            self.pointer = slot + 1
            self._finish_if_drained()

    def settle(self) -> bool:
        """Do the work of one announcement: move fingerprints, and halve what was long nearly empty.

        Say whether that has changed what is to be sent.
        """
        was_migrating, moves = self.is_migrating, self.moves_per_announcement
        self.migrate(max(1, math.ceil(len(self) / 16)) if moves is None else moves)
        if self._shrinks and self._old is None and 5 * len(self) < 2 * self._current.bucket_count:
            self._idle += 1
            if self._idle >= _IDLE_ANNOUNCEMENTS and self._current.log2_buckets > self._least:
                self._resize(self._current.log2_buckets - 1)
                return True
        else:
            self._idle = 0
        return was_migrating

    def announce(self) -> bytes:
        """Do one period's work and return what to send: move fingerprints, advance the epoch, encode."""
        self.settle()
        self.epoch = self.epoch + 1 & 0xFFFFFFFF
        return self.to_bytes()

    def remove(self, key: str) -> None:
        """Drop one reference; the last one empties the slot whose shadow hash is the key's."""
        require_owner(self._owned)
        value = self.hasher(key)
        count = self._counts.get(value, 0)
        if not count:
            raise UnknownKeyError(f"{key!r} is not in this filter; only keys that were added can be removed")
        if count > 1:
            self._counts[value] = count - 1
            return
        del self._counts[value]
        for table in self.tables:
            if table.delete(value):
                break
        self._finish_if_drained()

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.contains_hash(self.hasher(key))

    def contains_hash(self, value: int) -> bool:
        """Ask the newer table, then the older (seed 001: the new one first)."""
        return any(table.contains_hash(value) for table in self.tables)

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        parts = []
        for offsets, data in string_buffers(keys):
            found = np.zeros(offsets.size - 1, dtype=np.bool_)
            for table in self.tables:
                kernels.contains_strings(
                    offsets, data, self.hasher.secret, self.hasher.salt, table.slots, table.width, found
                )
            parts.append(found)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.bool_)

    def to_bytes(self) -> bytes:
        """Encode one table, or both while a transfer is under way."""
        return codec.encode(list(self.tables), hasher=self.hasher, epoch=self.epoch, alternate=self.alternate_order)

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode a container of magic 0xCF with one filter or two."""
        tables, hasher, epoch = codec.decode(data, domain_key=domain_key)
        decoded = cls.__new__(cls)
        decoded._current, decoded._old = tables[0], tables[1] if len(tables) == 2 else None
        decoded._spare, decoded._counts, decoded._owned = None, {}, False
        decoded._idle, decoded._shrinks, decoded._least, decoded.pointer = 0, False, 1, 0
        decoded.moves_per_announcement, decoded.alternate_order = 0, False
        decoded.hasher, decoded.epoch = hasher, epoch
        return decoded

    @property
    def size_in_bits(self) -> int:
        """The bits of the payloads, as they would be sent now."""
        data, at, bits = self.to_bytes(), codec.HEADER_BYTES, 0
        for _ in self.tables:
            payload = int.from_bytes(data[at + 4 : at + 8], "little")
            bits += payload
            at += codec.SECTION_BYTES + (payload + 7) // 8
        return bits

    @property
    def expected_false_positive_rate(self) -> float:
        """1 − (1 − new)(1 − old), each the exact share of matching (fingerprint, bucket) pairs."""
        return combined_rate(*(table.expected_false_positive_rate for table in self.tables))


def _log2_for(count: int) -> int:
    """Return the smallest table that `count` keys leave below 80 %."""
    return max(1, math.ceil(math.log2(max(1, 5 * count + 1) / 8)))


def _check_size(log2_buckets: int) -> None:
    if log2_buckets > MAXIMAL_LOG2_BUCKETS:
        raise FilterError(f"more than 2^{MAXIMAL_LOG2_BUCKETS} buckets; split the keys over several filters")
