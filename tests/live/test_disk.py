"""A folder is a disk as `machine/disk.py` says: what is written is whole, or an error; one process has it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery.live.disk import FolderDisk
from rookery.machine.disk import put_file, read_file, write_all


def spoil(patch: pytest.MonkeyPatch, *, room: int, each: int = 3) -> None:
    """Let a write take a few bytes at a time, and so many in all."""
    real, left = os.pwrite, [room]

    def pwrite(file: int, data: Any, at: int) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(file, memoryview(data)[: min(each, left[0])], at)
        left[0] -= written
        return written

    patch.setattr(os, "pwrite", pwrite)


def test_short_writes_are_continued_and_short_reads_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, room=1_000)
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda file, length, at: real(file, min(length, 7), at))
    file = FolderDisk(tmp_path).open("file")
    write_all(file, b"a" * 50, 0)
    write_all(file, memoryview(b"0123456789"), 45)
    assert (file.read(0, 100), file.size()) == (b"a" * 45 + b"0123456789", 55)
    assert (file.read(40, 10), file.read(60, 5)) == (b"a" * 5 + b"01234", b"")
    file.close()


def test_a_disk_that_takes_nothing_and_says_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)
    file = FolderDisk(tmp_path).open("file")
    with pytest.raises(OSError, match="takes nothing"):
        write_all(file, b"a", 0)
    file.close()


@pytest.mark.parametrize("room", range(20))
def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    disk = FolderDisk(tmp_path)
    put_file(disk, "file", b"the old one")
    spoil(monkeypatch, room=room)
    if room < 11:
        with pytest.raises(OSError, match="No space left"):
            put_file(disk, "file", b"the new one")
    else:
        put_file(disk, "file", b"the new one")
    assert read_file(disk, "file") == (b"the old one" if room < 11 else b"the new one")
    assert disk.names() == ["file"]


def test_files_are_renamed_and_removed(tmp_path: Path) -> None:
    disk = FolderDisk(tmp_path / "made" / "here")
    put_file(disk, "a", b"1")
    put_file(disk, "b", b"2")
    disk.rename("a", "b")
    assert (disk.names(), read_file(disk, "b"), read_file(disk, "a")) == (["b"], b"1", None)
    disk.remove("b")
    disk.remove("b")
    assert disk.names() == []


def test_a_folder_belongs_to_one_process_and_whose_it_is_can_be_read(tmp_path: Path) -> None:
    disk, other = FolderDisk(tmp_path), FolderDisk(tmp_path)
    assert disk.lock() is None
    assert other.lock() == f"process {os.getpid()}"
    disk.unlock()
    assert other.lock() is None
    other.unlock()
    program = (
        "import pathlib, sys; from rookery.live import disk; print(disk.FolderDisk(pathlib.Path(sys.argv[1])).lock())"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
    assert disk.lock() is None, "the process has ended, and its lock with it"
    disk.unlock()
