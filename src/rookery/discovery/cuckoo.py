"""The summary of `cuckoo`: the compressed cuckoo filter of seed 001, and how it is set.

Rule 1 (claim 5): fingerprints move as often as the participant sends its endpoints. Every announcement with new content
does one share of the work, whether a change caused it or the period; so a transfer ends under any churn.
Rule 2: a setting is text behind a colon, `cuckoo:patent` or `cuckoo:patent,buckets=2` or `cuckoo:bits=9,moves=4`:

| | default | `patent` |
|---|---|---|
| `buckets`, of two entries, at first | 8 | 8: the seed names none |
| `bits` of an entry, its flag included | 12 | 8 |
| `moves` of fingerprints with an announcement | a sixteenth | 1 |
| entries of a bucket in an order that makes longer runs | yes | no: as they lie |
| halves when four fifths stay empty for 16 announcements, never below its first size | yes | no |

Both double at a load of 80 %, or when an insertion fails. The receiver needs no setting: a container says what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rookery.errors import TopicError

if TYPE_CHECKING:
    from rookery.filters import CuckooFilter, DomainKey

__all__ = ["CuckooSetting", "CuckooSummary"]

_LARGEST_BUCKETS = 1 << 16


@dataclass(frozen=True, slots=True)
class CuckooSetting:
    """What a participant may choose about its cuckoo filter."""

    buckets: int = 8
    bits: int = 12
    moves: int | None = None
    """Fingerprints with each announcement; None for a sixteenth of them."""
    reorders: bool = True
    shrinks: bool = True

    def __post_init__(self) -> None:
        if not 2 <= self.buckets <= _LARGEST_BUCKETS or self.buckets & self.buckets - 1:
            raise TopicError(f"cuckoo:buckets={self.buckets}: give a power of two from 2 to {_LARGEST_BUCKETS:,}")
        if not 8 <= self.bits <= 16:
            raise TopicError(f"cuckoo:bits={self.bits}: an entry has 8 to 16 bits, its flag included")
        if self.moves is not None and self.moves < 1:
            raise TopicError(f"cuckoo:moves={self.moves}: with less than 1 a transfer never ends")

    @classmethod
    def patent(cls) -> CuckooSetting:
        """Return the setting that seed 001 describes."""
        return cls(bits=8, moves=1, reorders=False, shrinks=False)

    @classmethod
    def parse(cls, text: str) -> CuckooSetting:
        """Read a setting: `patent`, `buckets=`, `bits=`, `moves=`, with commas between them."""
        made = cls()
        for part in text.split(","):
            name, _, value = part.strip().partition("=")
            if name == "patent" and not value:
                made = cls.patent()
            elif name == "buckets" and value.isdecimal():
                made = replace(made, buckets=int(value))
            elif name == "bits" and value.isdecimal():
                made = replace(made, bits=int(value))
            elif name == "moves" and value.isdecimal():
                made = replace(made, moves=int(value))
            else:
                raise TopicError(f"cuckoo:{part}: give patent, buckets=8, bits=12 or moves=1, with commas between them")
        return made

    def filter(self, domain_key: DomainKey | None = None) -> CuckooFilter:
        """Make an empty filter."""
        from rookery.filters import CuckooFilter

        first = self.buckets.bit_length() - 1
        return CuckooFilter(
            log2_buckets=first,
            least_log2_buckets=first,
            slot_bits=self.bits,
            moves_per_announcement=self.moves,
            alternate_order=self.reorders,
            shrinks=self.shrinks,
            domain_key=domain_key,
        )


class CuckooSummary:
    """The CCF of seed 001 in a participant, with its progressive rehash."""

    def __init__(self, domain_key: DomainKey | None, setting: CuckooSetting | None = None) -> None:
        self._filter = (setting or CuckooSetting()).filter(domain_key)

    def add(self, key: str) -> None:
        """Take in a key that is not in it yet."""
        self._filter.add(key)

    def remove(self, key: str) -> None:
        """Take out a key that is in it."""
        self._filter.remove(key)

    def encode(self, *, epoch: int, room: int, rate: float | None = None) -> bytes:
        """Return the container; its size is what it is, and so is its rate."""
        self._filter.epoch = epoch
        return self._filter.to_bytes()

    def settle(self) -> bool:
        """Move an announcement's share of fingerprints, or halve what has long been empty; say if that changed it."""
        return self._filter.settle()
