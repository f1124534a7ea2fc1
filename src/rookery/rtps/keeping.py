"""What the owner of a reader has of each writer: what was delivered to it, and what of that is safe.

A reader that acknowledges *when kept* acknowledges what is safe, not what has come. The account is the reader's and not
the pair's: a writer that is lost and found again goes on where it was, with what is not safe still unacknowledged and
nothing delivered twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from rookery.rtps.identity import Guid

__all__ = ["Keeping"]

#: Writers of which an account is kept; the one that was heard of longest ago is forgotten first.
_WRITERS = 65_536


class Keeping:
    """The account of one reader; `kept` is the last number that is safe of each writer from an earlier life."""

    def __init__(self, kept: Mapping[Guid, int]) -> None:
        self._delivered = dict(kept)
        self._unkept: dict[Guid, int] = {}

    def next_of(self, writer: Guid) -> int | None:
        """Return the number after the last one that the owner was given; None if it has nothing of this writer."""
        delivered = self._delivered.get(writer)
        return None if delivered is None else delivered + 1

    def deliver(self, writer: Guid, number: int) -> None:
        """Note that the owner was given a number."""
        self._delivered[writer] = number
        self._unkept.setdefault(writer, number)
        if len(self._delivered) > _WRITERS:
            oldest = next(iter(self._delivered))
            del self._delivered[oldest]
            self._unkept.pop(oldest, None)

    def keep(self, writer: Guid, through: int) -> bool:
        """Note that everything up to a number is safe; say whether that is news."""
        unkept = self._unkept.get(writer)
        if unkept is None or through < unkept:
            return False
        if through >= self._delivered[writer]:
            del self._unkept[writer]
        else:
            self._unkept[writer] = through + 1
        return True

    def waits(self, writer: Guid) -> bool:
        """Say whether something of the writer is delivered and not safe yet."""
        return writer in self._unkept

    def acknowledged(self, writer: Guid, following: int) -> int:
        """Return the number below which everything may be acknowledged; `following` is the next one expected."""
        return min(self._unkept.get(writer, following), following)
