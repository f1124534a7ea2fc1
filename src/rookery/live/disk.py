"""A folder as a disk (`machine/disk.py`): files on a real one, and a lock for one process.

The lock is one that the kernel takes back when its process ends, however it ends: there is no stale lock to clear away.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["FolderDisk", "FolderFile"]


class FolderFile:
    """An open file of a folder."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def size(self) -> int:
        """Return how many bytes there are."""
        return os.fstat(self._descriptor).st_size

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes from a place on; fewer where the file ends."""
        chunks = []
        while length > 0 and (chunk := os.pread(self._descriptor, length, offset)):
            chunks.append(chunk)
            offset, length = offset + len(chunk), length - len(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def write(self, data: bytes | memoryview, offset: int) -> int:
        """Write at a place; return how many bytes the disk took."""
        return os.pwrite(self._descriptor, data, offset)

    def truncate(self, size: int) -> None:
        """Cut the file off."""
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        """Force what was written to the disk."""
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._descriptor)


class FolderDisk:
    """The files of one folder, which is made if there is none."""

    def __init__(self, folder: Path, *, mode: int = 0o644) -> None:
        self.folder = folder
        self._mode = mode
        self._lock = -1
        folder.mkdir(parents=True, exist_ok=True)

    def lock(self) -> str | None:
        """Take the folder for this process; return who has it, or None where this process has it now."""
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(lock, 64, 0).decode("ascii", "replace").strip()
            os.close(lock)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            return holder or "another process"
        self._lock = lock
        with suppress(OSError):  # a full disk: then nobody can read who has it
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"process {os.getpid()}\n".encode(), 0)
        return None

    def unlock(self) -> None:
        """Let others have the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def open(self, name: str) -> FolderFile:
        """Open a file, and make it if there is none."""
        return FolderFile(os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, self._mode))

    def names(self) -> list[str]:
        """Return the names of the files, sorted."""
        return sorted(entry.name for entry in os.scandir(self.folder) if entry.is_file())

    def rename(self, before: str, after: str) -> None:
        """Give a file another name; one that had it is gone."""
        os.rename(self.folder / before, self.folder / after)

    def remove(self, name: str) -> None:
        """Delete a file, if there is one."""
        (self.folder / name).unlink(missing_ok=True)

    def sync(self) -> None:
        """Force the names to the disk."""
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def room(self) -> int:
        """Return how many bytes more it would take, as far as it knows."""
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize
