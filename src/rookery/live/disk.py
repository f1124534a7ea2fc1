"""Files that are there for good: written whole, forced to the disk, with their names.

A write may take fewer octets than it was given and say so only by its result; on a full disk that is how it begins. So
whatever must be whole goes through `write_all`. A file's octets and its name in the folder reach the disk apart, so
both are forced: `fsync` of the file, a rename, and `fsync` of the folder.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["put_file", "sync_folder", "write_all"]


def write_all(descriptor: int, octets: bytes | memoryview, position: int) -> None:
    """Write everything at a position, or raise; the system may take less at a time."""
    view = memoryview(octets)
    while view:
        written = os.pwrite(descriptor, view, position)
        if written <= 0:
            raise OSError(errno.EIO, "the disk takes nothing and does not say why")
        view, position = view[written:], position + written


def put_file(path: Path, octets: bytes) -> None:
    """Make a file appear whole, and for good; where that fails the one of before stays, and nothing else."""
    fresh = path.with_name(f".{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        try:
            write_all(descriptor, octets, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(fresh, path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
