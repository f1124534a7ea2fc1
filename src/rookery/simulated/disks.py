"""The disk of a process: it outlives the process, takes its time, and may be slow or full."""

from __future__ import annotations

from typing import Any

from rookery.machine import Write

__all__ = ["Disk"]

#: Microseconds that a write with a sync takes, if nothing is said.
WRITE_TIME = 3_000
FULL = "the disk is full"


class Disk:
    """What one process has written and is not done with, by owner and part."""

    def __init__(self) -> None:
        self.entries: dict[tuple[int, int], Any] = {}
        self.is_full = False
        #: Microseconds that a write takes.
        self.write_time = WRITE_TIME

    def write(self, write: Write) -> str | None:
        """Keep what a `Write` says; return why not, or None. What is done with is noted even where nothing fits."""
        failure = FULL if self.is_full and write.token is not None else None
        if failure is None:
            self.entries.update({(owner, part): kept for owner, part, kept in write.entries})
        for key in write.done:
            self.entries.pop(key, None)
        return failure

    def records(self) -> list[tuple[int, int, Any]]:
        """Return what a process finds when it comes back."""
        return [(owner, part, kept) for (owner, part), kept in self.entries.items()]
