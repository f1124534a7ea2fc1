"""A disk as a log sees it: files that take what they are given or say why not, and keep what was forced out.

Rule 1: a write may take fewer bytes than it was given and say so only by its result; on a full disk that is how it
begins. Whatever must be whole goes through `write_all`.
Rule 2: a file's bytes and its name reach the disk apart, so both are forced: `sync` of the file, a rename, `sync` of
the disk (`put_file`).
Rule 3: every failure is an `OSError`. After a failed `sync` nobody knows what the disk has of that file.

Live it is a folder (`live/disk.py`), in a world it is one in memory, with faults (`simulated/disks.py`).
"""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Protocol

__all__ = ["AppendFile", "Disk", "File", "put_file", "read_file", "write_all"]


class File(Protocol):
    """An open file."""

    def size(self) -> int:
        """Return how many bytes there are."""

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes from a place on; fewer where the file ends."""

    def write(self, data: bytes | memoryview, offset: int) -> int:
        """Write at a place; return how many bytes the disk took."""

    def truncate(self, size: int) -> None:
        """Cut the file off."""

    def sync(self) -> None:
        """Force what was written to the disk."""

    def close(self) -> None:
        """Let go of it."""


class Disk(Protocol):
    """A folder of files that belongs to one process."""

    def open(self, name: str) -> File:
        """Open a file, and make it if there is none."""

    def names(self) -> list[str]:
        """Return the names of the files, sorted."""

    def rename(self, before: str, after: str) -> None:
        """Give a file another name; one that had it is gone."""

    def remove(self, name: str) -> None:
        """Delete a file, if there is one."""

    def sync(self) -> None:
        """Force the names to the disk."""

    def room(self) -> int:
        """Return how many bytes more it would take, as far as it knows."""


def write_all(file: File, data: bytes | memoryview, offset: int) -> None:
    """Write everything at a place, or raise; the disk may take less at a time."""
    view = memoryview(data)
    while view:
        written = file.write(view, offset)
        if written <= 0:
            raise OSError(errno.EIO, "the disk takes nothing and does not say why")
        view, offset = view[written:], offset + written


def read_file(disk: Disk, name: str) -> bytes | None:
    """Return what a file holds; None if there is none."""
    if name not in disk.names():
        return None
    file = disk.open(name)
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def put_file(disk: Disk, name: str, data: bytes) -> None:
    """Make a file appear whole, and for good; where that fails the one of before stays, and nothing else."""
    fresh = f".{name}.new"
    try:
        file = disk.open(fresh)
        try:
            file.truncate(0)
            write_all(file, data, 0)
            file.sync()
        finally:
            file.close()
        disk.rename(fresh, name)
    except BaseException:
        with suppress(OSError):
            disk.remove(fresh)
        raise
    disk.sync()


class AppendFile:
    """A file that grows at its end: what is appended counts whole or not at all.

    What the disk did not take whole is cut off again, at the latest before anything else is appended. `is_suspect` says
    that a sync has failed: what the disk holds of the file is unknown, and no more should be promised on it.
    """

    def __init__(self, file: File, end: int) -> None:
        """Go on behind `end`; what lies there never counted."""
        self.file = file
        self.end = end
        self.syncs = 0
        self.is_suspect = False
        self._has_tail = file.size() > end
        if self._has_tail:
            self._cut()
            file.sync()

    def append(self, data: bytes, *, sync: bool) -> int:
        """Put data at the end and return where it begins; raise `OSError` where the disk does not take it."""
        if self._has_tail:
            self._cut()
        self._has_tail = True
        try:
            write_all(self.file, data, self.end)
            if sync:
                self.sync()
        except OSError:
            with suppress(OSError):  # if not now, then before the next write
                self._cut()
            raise
        self._has_tail = False
        begin, self.end = self.end, self.end + len(data)
        return begin

    def sync(self) -> None:
        """Force what was appended to the disk."""
        self.syncs += 1
        try:
            self.file.sync()
        except OSError:
            self.is_suspect = True
            raise

    def close(self) -> None:
        """Let go of the file, without what was refused."""
        with suppress(OSError):
            if self._has_tail:
                self._cut()
        self.file.close()

    def _cut(self) -> None:
        self.file.truncate(self.end)
        self._has_tail = False
