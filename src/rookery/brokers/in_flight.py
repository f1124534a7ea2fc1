"""A batch at its owner: from its arrival until nobody waits for it.

What `deliveries.py` knows of each: where it came from, who still has to acknowledge which of its events, whether it is
on both disks, and which of its rows have been sent on because their zone went elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.brokers.batch_matches import BatchMatches
from rookery.brokers.batches import EventBatch, emptied
from rookery.brokers.owned_zone import OwnedZone

__all__ = ["InFlightBatch"]


@dataclass(slots=True)
class InFlightBatch:
    """A batch, or the part of one that lies in own zones, from its arrival until nobody waits for it."""

    number: int
    batch: EventBatch
    origins: set[int]
    #: What clients have not acknowledged: by number of the delivery, their broker and their matches.
    deliveries: dict[int, tuple[int, BatchMatches]]
    #: The zone that it was matched in.
    zone: OwnedZone
    #: When the grace period of its zone ends, 0 if there is none; until then all matches that were delivered.
    grace_until: int = 0
    delivered: set[tuple[int, str]] = field(default_factory=set)
    #: Whether its owner held the lease of the zone when it was matched, or has held it since (`leases.py`).
    assured: bool = False
    stored: bool = False
    replicated: bool = False
    accepted: bool = False
    #: Rows sent on to their present owners, and whether these have not accepted them yet.
    gone: frozenset[int] = frozenset()
    moving: bool = False

    def empty(self) -> None:
        """Let the events go: from here on the batch is remembered by its numbers only."""
        self.batch = emptied(self.batch)

    def numbers(self) -> list[int]:
        """Return which events of the batch are this broker's affair."""
        return [number for row, number in enumerate(self.batch.numbers()) if row not in self.gone]
