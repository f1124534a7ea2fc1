"""Files that are there for good: written whole, forced to the disk, with their names; and a lock for one process.

A file's octets and its name in the folder reach the disk apart, so both are forced: `fsync` of the file, a rename, and
`fsync` of the folder. The lock is one that the kernel takes back when its process ends, however it ends: there is no
stale lock to clear away.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rookery.errors import SpoolError

__all__ = ["explained", "put_file", "sync_folder", "take_lock", "write_all"]

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def take_lock(path: Path) -> int:
    """Lock a file for this process and return its descriptor; raise if another process holds it, and say which."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(lock, 64, 0).decode("ascii", "replace").strip()
        os.close(lock)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        who = holder or "another process"
        raise SpoolError(error.errno, f"{path.parent} is being written by {who}: end that one first") from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()}\n".encode(), 0)
    return lock


def put_file(path: Path, octets: bytes) -> None:
    """Make a file appear whole, and for good."""
    fresh = path.with_name(f".{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        write_all(descriptor, octets, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(fresh, path)
    sync_folder(path.parent)


def write_all(descriptor: int, octets: bytes, position: int) -> None:
    """Write everything at a position; the system may take less at a time."""
    view = memoryview(octets)
    while view:
        written = os.pwrite(descriptor, view, position)
        view, position = view[written:], position + written


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def explained(folder: Path, safe: Callable[[], str]) -> Iterator[None]:
    """Say what to do about a full disk or a forbidden folder, and what is `safe` nevertheless."""
    try:
        yield
    except SpoolError:
        raise
    except OSError as error:
        if error.errno in _NO_ROOM:
            why = "there is no room for more; free some and start again"
        else:
            why = error.strerror or str(error)
        raise SpoolError(error.errno, f"cannot write {folder}: {why}. {safe()}") from error
