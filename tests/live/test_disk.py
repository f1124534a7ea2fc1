"""What is written is whole, or an error; a file is the one of before, or the new one."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from rookery.live.disk import put_file, write_all


def spoil(patch: pytest.MonkeyPatch, *, room: int, each: int = 3) -> None:
    """Let a write take a few octets at a time, and so many in all."""
    real, left = os.pwrite, [room]

    def pwrite(file: int, data: Any, at: int) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(file, memoryview(data)[: min(each, left[0])], at)
        left[0] -= written
        return written

    patch.setattr(os, "pwrite", pwrite)


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, room=1_000)
    with (tmp_path / "file").open("w+b") as file:
        write_all(file.fileno(), b"a" * 50, 0)
        write_all(file.fileno(), memoryview(b"0123456789"), 45)
    assert (tmp_path / "file").read_bytes() == b"a" * 45 + b"0123456789"


def test_a_disk_that_takes_nothing_and_says_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match="takes nothing"):
        write_all(file.fileno(), b"a", 0)


@pytest.mark.parametrize("room", range(20))
def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    path = tmp_path / "file"
    put_file(path, b"the old one")
    spoil(monkeypatch, room=room)
    if room < 11:
        with pytest.raises(OSError, match="No space left"):
            put_file(path, b"the new one")
    else:
        put_file(path, b"the new one")
    assert path.read_bytes() == (b"the old one" if room < 11 else b"the new one")
    assert [found.name for found in tmp_path.iterdir()] == ["file"]
