"""Whatever the disk refuses, and at whatever octet, a log holds what it said it has, and nothing that it refused."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rookery.errors import LogError
from rookery.live.brokers.log import BrokerLog
from rookery.live.disk import FolderDisk

from .test_log import a_batch, described, write

#: A short life: parts that are kept (by number) and done with (minus the number), many of them the same part again.
#: A log that moves from so many octets on does so a few times.
LIFE = [(1, 2), (3,), (-1, -2), (4, 5), (-3,), (2,), (-4, -5), (6, -2), (7,), (-6, -7), (2,), (8,)]
MOVE_AT = 120


class Disk:
    """A disk that takes so many octets more, the last of them in a short write, and then refuses.

    A rigid one does not let what it took be cut off, the first time.
    """

    def __init__(self, room: int, *, refusals: int, rigid: bool = False) -> None:
        self.room = room
        self.refusals = refusals
        self.rigid = rigid
        self.taken = 0
        self._take = {"write": os.write, "pwrite": os.pwrite}
        self._cut = os.ftruncate

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(os, "write", lambda file, data: self._write("write", file, data))
        patch.setattr(os, "pwrite", lambda file, data, at: self._write("pwrite", file, data, at))
        patch.setattr(os, "ftruncate", self._truncate)

    def _truncate(self, file: int, size: int) -> None:
        if self.rigid:
            self.rigid = False
            raise OSError(errno.EIO, "Input/output error")
        self._cut(file, size)

    def _write(self, how: str, file: int, data: Any, *at: int) -> int:
        data = memoryview(data)
        if self.refusals and len(data) > self.room:
            if not self.room:
                self.refusals -= 1
                raise OSError(errno.ENOSPC, "No space left on device")
            data = data[: self.room]
        written = self._take[how](file, data, *at)
        self.taken += written
        self.room = max(0, self.room - written)
        return written


@dataclass
class Told:
    """What a log has answered."""

    kept: set[tuple[int, int]] = field(default_factory=set)
    #: Done with, although the disk did not take down that it is: it may be there again.
    unsure: set[tuple[int, int]] = field(default_factory=set)
    refused: int = 0
    moves: int = 0

    async def compare(self, folder: Path) -> None:
        log = BrokerLog(folder)
        found = described(log.entries)
        assert self.kept <= found.keys() <= self.kept | self.unsure
        for _, part in found:
            assert found[1, part] == described([(1, part, a_batch(part, 1))])[1, part]
        assert log.file.torn == 0
        await log.close()
        assert {path.name for path in folder.iterdir()} == {"lock", "log"}


async def live(log: BrokerLog, told: Told, life: list[tuple[int, ...]]) -> None:
    for step in life:
        kept = [(1, part, a_batch(part, 1)) for part in step if part > 0]
        done = tuple((1, -part) for part in step if part < 0)
        keys = {(1, part) for _, part, _ in kept}
        if await write(log, kept, done) is None:
            told.kept = (told.kept | keys) - set(done)
            told.unsure = (told.unsure - keys) | set(done) if told.refused else set()
        else:
            told.refused += 1
            told.kept -= set(done)
            told.unsure |= set(done)


async def lived(folder: Path, patch: pytest.MonkeyPatch, install: Callable[[pytest.MonkeyPatch], None]) -> Told:
    """Open a log, spoil the disk, live, let the disk be good again, and compare."""
    told = Told()
    log = BrokerLog(folder, compact_from=MOVE_AT)
    with patch.context() as spoiled:
        install(spoiled)
        await live(log, told, LIFE)
        await log.close()
    told.moves = log.file.moves
    await told.compare(folder)
    return told


@pytest.fixture
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing crashes here, so nothing is to be learned from the wait for a disk."""
    for sync in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, sync, lambda _: None)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    """New folders."""
    return (tmp_path / str(number) for number in range(1_000_000))


@pytest.mark.usefixtures("no_wait")
def test_refused_at_every_octet(folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that stops anywhere, be it of an append or of a move; once, or from then on."""

    async def scenario() -> None:
        whole = Disk(1 << 30, refusals=0)
        told = await lived(next(folders), monkeypatch, whole.install)
        assert not told.refused
        assert told.moves >= 2
        refused = 0
        for room in range(whole.taken):
            for refusals, rigid in ((1, room % 2 > 0), (1_000, False)):
                disk = Disk(room, refusals=refusals, rigid=rigid)
                told = await lived(next(folders), monkeypatch, disk.install)
                refused += told.refused
        assert refused > whole.taken

    asyncio.run(scenario())


def test_a_disk_that_takes_a_few_octets_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite
    few: Callable[..., int] = lambda file, data, at: real(file, memoryview(data)[:7], at)  # noqa: E731
    told = asyncio.run(lived(tmp_path, monkeypatch, lambda patch: patch.setattr(os, "pwrite", few)))
    assert told.moves >= 2
    assert not told.refused


CALLS = ("pwrite", "fdatasync", "ftruncate", "fsync", "rename", "open", "pread")


@pytest.mark.usefixtures("no_wait")
@pytest.mark.parametrize("second", [None, *CALLS])
@pytest.mark.parametrize("first", CALLS)
def test_any_call_may_fail(
    first: str, second: str | None, folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nth call of one kind fails, and with it the next of another kind: a refusal, or nothing that one sees."""
    refused = 0
    for nth in itertools.count():
        folder = next(folders)
        failed: list[str] = []

        def install(
            patch: pytest.MonkeyPatch, nth: int = nth, folder: Path = folder, failed: list[str] = failed
        ) -> None:
            count = 0

            def spoil(name: str) -> None:
                real = getattr(os, name)

                def call(*arguments: Any) -> Any:
                    nonlocal count
                    if name == "open" and not str(arguments[0]).startswith(str(folder)):
                        return real(*arguments)
                    if not failed and name == first:
                        count += 1
                        if count > nth:
                            failed.append(name)
                            raise OSError(errno.EIO, "Input/output error")
                    elif len(failed) == 1 and name == second:
                        failed.append(name)
                        raise OSError(errno.EIO, "Input/output error")
                    return real(*arguments)

                patch.setattr(os, name, call)

            for name in {first, second} - {None}:
                spoil(str(name))

        told = asyncio.run(lived(folder, monkeypatch, install))
        refused += told.refused
        if not failed:
            break
    if first in ("pwrite", "fdatasync"):
        assert refused
    elif second is None:
        assert not refused, "a move that fails is nobody's loss"


def test_what_is_left_of_a_refused_write_is_not_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two records, a sync that fails, no way to cut them off: one of the first's length would uncover the second."""

    async def scenario() -> None:
        log = BrokerLog(tmp_path)

        def fail(*_: object) -> None:
            raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as spoiled:
            spoiled.setattr(os, "fdatasync", fail)
            spoiled.setattr(os, "ftruncate", fail)
            spoiled.setattr(os, "rename", fail)
            assert await write(log, [(1, 1, a_batch(1)), (1, 2, a_batch(2))])
            spoiled.setattr(os, "fdatasync", lambda _: None)
            assert await write(log, [(1, 3, a_batch(3))]), "taken although what lies behind is not known"
        assert await write(log, [(1, 4, a_batch(4))]) is None
        await log.close()

    asyncio.run(scenario())
    log = BrokerLog(tmp_path)
    assert [part for _, part, _ in log.entries] == [4]
    asyncio.run(log.close())


def test_nothing_is_taken_before_a_refused_write_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        log = BrokerLog(tmp_path)
        with monkeypatch.context() as spoiled:
            disk = Disk(100, refusals=1, rigid=True)
            disk.install(spoiled)
            assert await write(log, [(1, part, a_batch(part, 1)) for part in range(1, 6)])
            assert (tmp_path / "log").stat().st_size > log.file.size
            disk.rigid = True
            assert await write(log, [(1, 6, a_batch(6, 1))]), "taken although more lies behind it"
            assert await write(log, [(1, 7, a_batch(7, 1))]) is None
        assert (tmp_path / "log").stat().st_size == log.file.size
        await log.close()

    asyncio.run(scenario())
    log = BrokerLog(tmp_path)
    assert [part for _, part, _ in log.entries] == [7]
    asyncio.run(log.close())


def test_what_is_done_with_on_a_full_disk_is_written_down_with_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And before it: one of the parts is kept again."""

    async def scenario() -> None:
        log = BrokerLog(tmp_path)
        assert await write(log, [(1, part, a_batch(part)) for part in (1, 2, 3)]) is None
        with monkeypatch.context() as spoiled:
            Disk(0, refusals=1).install(spoiled)
            assert await write(log, [], ((1, 1), (1, 2)))
            assert await write(log, [(1, 1, a_batch(1))]) is None
        await log.close()

    asyncio.run(scenario())
    log = BrokerLog(tmp_path)
    assert {part for _, part, _ in log.entries} == {1, 3}
    asyncio.run(log.close())


def test_nothing_is_taken_into_a_file_whose_name_is_not_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        log = BrokerLog(tmp_path, compact_from=MOVE_AT)
        assert await write(log, [(1, part, a_batch(part, 20)) for part in range(4)]) is None
        with monkeypatch.context() as spoiled:
            spoiled.setattr(FolderDisk, "sync", lambda _: os.stat("/nowhere/at/all"))
            assert await write(log, [], tuple((1, part) for part in range(3))) is None
            assert log.file.moves == 1
            assert await write(log, [(1, 4, a_batch(4))])
        assert await write(log, [(1, 5, a_batch(5))]) is None
        await log.close()

    asyncio.run(scenario())
    log = BrokerLog(tmp_path)
    assert {part for _, part, _ in log.entries} == {3, 5}
    asyncio.run(log.close())


def test_after_a_sync_that_failed_the_log_goes_on_in_a_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system holds of a file after that is unknown: a later sync that succeeds says nothing."""

    async def scenario() -> None:
        log = BrokerLog(tmp_path)
        assert await write(log, [(1, 1, a_batch(1))]) is None
        before = (tmp_path / "log").stat().st_ino
        with monkeypatch.context() as spoiled:
            spoiled.setattr(os, "fdatasync", lambda _: os.stat("/nowhere/at/all"))
            assert await write(log, [(1, 2, a_batch(2))])
        assert await write(log, [(1, 3, a_batch(3))]) is None
        assert (tmp_path / "log").stat().st_ino != before
        await log.close()

    asyncio.run(scenario())
    log = BrokerLog(tmp_path)
    assert [part for _, part, _ in log.entries] == [1, 3]
    asyncio.run(log.close())


def test_a_record_that_is_not_what_was_written_stays_behind_and_holds_up_no_move(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = BrokerLog(tmp_path, compact_from=MOVE_AT)
        assert await write(log, [(1, part, a_batch(part, 20)) for part in range(1, 5)]) is None
        end = log.file.size
        with (tmp_path / "log").open("r+b") as file:
            file.seek(end - 1)
            file.write(b"\xff")  # a flipped octet of the last one
        assert await write(log, [], ((1, 1), (1, 2), (1, 3))) is None
        assert (log.file.moves, log.file.moves_failed, log.file.damaged) == (1, 0, 1)
        assert log.file.size < end
        await log.close()

    asyncio.run(scenario())
    assert not (tmp_path / "log.new").exists()


def test_a_move_that_failed_is_not_tried_at_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        log = BrokerLog(tmp_path, compact_from=0)
        for part in range(64):
            assert await write(log, [(1, part, a_batch(part, 9))]) is None
        with monkeypatch.context() as spoiled:
            spoiled.setattr(os, "rename", lambda *_: os.stat("/nowhere/at/all"))
            for part in range(63):
                assert await write(log, [], ((1, part),)) is None
            assert 3 <= log.file.moves_failed <= 8  # as often as what is left is half as much, or the file is larger
            assert log.file.moves == 0
        before = log.file.size
        while not log.file.moves:
            assert log.file.size < 2 * before
            assert await write(log, [(1, 99, a_batch(99))], ()) is None
        assert log.file.size < before
        await log.close()

    asyncio.run(scenario())
    log = BrokerLog(tmp_path)
    assert {part for _, part, _ in log.entries} == {63, 99}
    asyncio.run(log.close())


def test_a_move_is_on_the_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    async def scenario() -> None:
        log = BrokerLog(tmp_path, compact_from=MOVE_AT)
        assert await write(log, [(1, part, a_batch(part, 20)) for part in range(4)]) is None
        with monkeypatch.context() as watched:
            for name in ("pwrite", "fdatasync", "fsync", "rename"):
                real = getattr(os, name)

                def call(*arguments: Any, name: str = name, real: Any = real) -> Any:
                    at = os.readlink(f"/proc/self/fd/{arguments[0]}") if name != "rename" else arguments[0]
                    done.append(f"{name} {Path(at).name}")
                    return real(*arguments)

                watched.setattr(os, name, call)
            assert await write(log, [], tuple((1, part) for part in range(3))) is None
        assert log.file.moves == 1
        await log.close()

    asyncio.run(scenario())
    new = "log.new"
    assert done == [
        "pwrite log",
        "fdatasync log",
        f"pwrite {new}",
        f"pwrite {new}",
        f"fdatasync {new}",
        f"rename {new}",
        f"fsync {tmp_path.name}",
    ]


def test_half_a_move_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "log.new").write_bytes(b"rookery log 2\n...")
    log = BrokerLog(tmp_path)
    assert not (tmp_path / "log.new").exists()
    asyncio.run(log.close())


# ---- a real disk that is full --------------------------------------------------------------------------------------

DISK = 512 << 10


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(tmp_path)]
    made = subprocess.run(mount, capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_move_on_a_disk_that_is_nearly_full(small_disk: Path) -> None:
    """Of 200 KB in the log 80 KB are live: there is room for some of them, for none, or for all."""
    moved = []
    for room in range(0, 48, 2):
        folder = small_disk / str(room)
        alive, moves = asyncio.run(fill_and_move(folder, room * 4096))
        log = BrokerLog(folder)
        found = described(log.entries)
        asyncio.run(log.close())
        shutil.rmtree(folder)
        assert {(1, part) for part in alive} <= found.keys(), f"acknowledged and gone, with room for {room} pages"
        assert found.keys() <= {(1, part) for part in (*alive, *range(60))}, "refused and there"
        moved.append(moves)
    assert moved[0] == 0
    assert moved[-1] > 0


async def fill_and_move(folder: Path, room: int) -> tuple[set[int], int]:
    """Return what was acknowledged and is not done with, and how often it was moved while there was so little room."""
    log = BrokerLog(folder, compact_from=100_000)
    ballast = folder / "ballast"
    alive = set(range(100))
    try:
        for part in alive:
            assert await write(log, [(1, part, a_batch(part, 60))]) is None
        assert log.file.size > 190_000
        space = os.statvfs(folder)
        ballast.write_bytes(bytes(space.f_bavail * space.f_frsize - room))
        for part in range(60):
            await write(log, [], ((1, part),))  # done with it is, also where there is no room to write that down
            alive.discard(part)
        taken = {part: await write(log, [(1, part, a_batch(part, 60))]) for part in range(100, 104)}
        alive |= {part for part, refusal in taken.items() if refusal is None}
        assert set(taken.values()) <= {None, "the broker's disk did not take it: No space left on device"}
        assert not (folder / "log.new").exists()
        moves = log.file.moves
        ballast.unlink()
        assert await write(log, [(1, 200, a_batch(200))]) is None
    finally:
        await log.close()
    return alive | {200}, moves


def test_a_log_that_cannot_begin_says_so(small_disk: Path) -> None:
    folder = small_disk / "broker"
    folder.mkdir()
    (folder / "lock").touch()
    space = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(space.f_bavail * space.f_frsize))
    with pytest.raises(LogError, match=r"cannot keep a log in .*: No space left on device"):
        BrokerLog(folder)
    (small_disk / "ballast").unlink()
    asyncio.run(BrokerLog(folder).close())
