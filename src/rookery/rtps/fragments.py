"""Samples that arrive in pieces: kept until whole, within a budget.

A first fragment can claim a sample of 4 GiB; nothing is reserved by claims. Pieces are kept as they come and charged
with their size and the cost of keeping them, against one budget for the whole participant. When the budget or the
count per writer is exceeded, the oldest unfinished sample of the same writer goes; if it has none, the new piece does.
A reliable writer will be asked again for what was dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.errors import WireFormatError
from rookery.rtps.context import ParticipantContext
from rookery.rtps.sequences import SET_BITS, NumberSet
from rookery.rtps.submessages import DataFragment

__all__ = ["Reassembly"]

#: What a kept piece costs beside its bytes: a dictionary entry and an object, rounded up.
_PIECE_COST = 160


@dataclass(slots=True)
class _Partial:
    sample_size: int
    fragment_size: int
    pieces: dict[int, bytes] = field(default_factory=dict)
    charged: int = 0

    @property
    def count(self) -> int:
        return -(-self.sample_size // self.fragment_size)


class Reassembly:
    """The unfinished samples of one writer."""

    def __init__(self, context: ParticipantContext) -> None:
        self._context = context
        self._partials: dict[int, _Partial] = {}

    def __len__(self) -> int:
        return len(self._partials)

    def __contains__(self, sequence: int) -> bool:
        return sequence in self._partials

    def add(self, message: DataFragment) -> bytes | None:
        """Take fragments in; return the sample when it is whole."""
        if message.sample_size > self._context.limits.sample_bytes:
            self._context.counters["sample_bytes"] += 1
            raise WireFormatError(
                f"a sample of {message.sample_size} bytes; the limit is {self._context.limits.sample_bytes}"
            )
        partial = self._partials.get(message.sequence)
        if partial is None:
            partial = _Partial(message.sample_size, message.fragment_size)
            while len(self._partials) >= self._context.limits.fragmented_samples:
                self._context.counters["fragmented_samples"] += 1
                self.discard(next(iter(self._partials)))
            self._partials[message.sequence] = partial
        elif (partial.sample_size, partial.fragment_size) != (message.sample_size, message.fragment_size):
            raise WireFormatError(f"fragments of sample {message.sequence} that disagree about its size")
        size = message.fragment_size
        for offset in range(min(message.count, partial.count - message.first + 1)):
            number = message.first + offset
            if number in partial.pieces:
                self._context.counters["duplicate_fragment"] += 1
                continue
            piece = message.payload[offset * size : (offset + 1) * size]
            if not self._charge(message.sequence, partial, len(piece) + _PIECE_COST):
                return None
            partial.pieces[number] = piece
        if len(partial.pieces) < partial.count:
            return None
        self.discard(message.sequence)
        return b"".join(partial.pieces[number] for number in range(1, partial.count + 1))

    def missing(self, sequence: int) -> NumberSet:
        """Return the first fragments of an unfinished sample that are not here, as many as one request holds."""
        partial = self._partials[sequence]
        base = 1
        while base in partial.pieces:
            base += 1
        window = range(base, min(base + SET_BITS, partial.count + 1))
        return NumberSet.of((number for number in window if number not in partial.pieces), base=base)

    def discard(self, sequence: int) -> None:
        """Forget an unfinished sample."""
        partial = self._partials.pop(sequence, None)
        if partial is not None:
            self._context.fragment_bytes -= partial.charged

    def discard_below(self, sequence: int) -> None:
        """Forget every unfinished sample before `sequence`."""
        for number in [number for number in self._partials if number < sequence]:
            self.discard(number)

    def clear(self) -> None:
        """Forget everything."""
        for number in tuple(self._partials):
            self.discard(number)

    def _charge(self, sequence: int, partial: _Partial, size_bytes: int) -> bool:
        while self._context.fragment_bytes + size_bytes > self._context.limits.fragment_bytes:
            self._context.counters["fragment_bytes"] += 1
            oldest = next(iter(self._partials))
            self.discard(oldest)
            if oldest == sequence:
                return False
        partial.charged += size_bytes
        self._context.fragment_bytes += size_bytes
        return True
