"""What comes from a writer before its announcement does: the first number is remembered, nothing else.

A remote writer knows of our reader as soon as our announcement has reached it, and pushes samples from then on; its own
announcement may reach us later. What it pushed until then is dropped, since nobody here knows what it is. A volatile
reader of a transient-local writer must begin somewhere, and what was pushed to it is what it is entitled to: so the
lowest number pushed, or the one after the end of the first HEARTBEAT, is kept for a few seconds, and the reader begins
there. The writer still has those samples and sends them again.
"""

from __future__ import annotations

from rookery.rtps.identity import Guid

__all__ = ["EarlyNumbers"]

#: Announcements are repeated within this time; what is older belongs to a reader that is gone.
_SECONDS = 5_000_000
_WRITERS = 256


class EarlyNumbers:
    """The first numbers of writers that are not known yet; bounded, since anyone can send anything."""

    def __init__(self) -> None:
        self._numbers: dict[Guid, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def note(self, writer: Guid, number: int, now: int) -> None:
        """Remember that a writer pushed a number to us."""
        known = self._numbers.get(writer)
        if known is not None and now - known[1] <= _SECONDS:
            self._numbers[writer] = (min(known[0], number), known[1])
            return
        self._numbers.pop(writer, None)
        self._numbers[writer] = (number, now)
        if len(self._numbers) > _WRITERS:
            del self._numbers[next(iter(self._numbers))]

    def of(self, writer: Guid, now: int) -> int | None:
        """Return the lowest number that a writer pushed lately."""
        known = self._numbers.get(writer)
        return known[0] if known is not None and now - known[1] <= _SECONDS else None
