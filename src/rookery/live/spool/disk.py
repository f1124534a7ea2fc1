"""The folder of a spool: a lock for one process, and a disk's refusals in words.

The lock is one that the kernel takes back when its process ends, however it ends: there is no stale lock to clear away.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rookery.errors import SpoolError

__all__ = ["explained", "take_lock"]

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
