"""Frames that have begun and not ended, over all links of a process: what they hold is bounded together.

Rule: when there is too much, the link that holds most is let go, a client's before a broker's. So one that finishes its
frames is not the one to suffer from many that do not.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["UnfinishedFrames"]


class FrameHolder(Protocol):
    """A link with a frame that has begun."""

    @property
    def is_trusted(self) -> bool:
        """Whether the other end is an equal of this one, and has proven it."""

    def let_go(self, reason: str) -> None:
        """Close because of what the other end did."""


class UnfinishedFrames:
    """how many bytes each link holds of a frame that has not ended."""

    __slots__ = ("_held", "total")

    def __init__(self) -> None:
        self._held: dict[FrameHolder, int] = {}
        self.total = 0

    def hold(self, holder: FrameHolder, size_bytes: int, *, most: int) -> None:
        """Note what a link holds now; let links go until all hold no more than `most`."""
        self._set(holder, size_bytes)
        while self.total > most:
            largest = max(self._held, key=lambda one: (not one.is_trusted, self._held[one]))
            self.release(largest)
            largest.let_go("unfinished frames")

    def release(self, holder: FrameHolder) -> None:
        """A link holds nothing any more."""
        self._set(holder, 0)

    def _set(self, holder: FrameHolder, size_bytes: int) -> None:
        self.total += size_bytes - self._held.pop(holder, 0)
        if size_bytes:
            self._held[holder] = size_bytes
