"""The durable log of a broker: what it promised to keep, on a disk, until that is done with.

Rule 1: `append` calls back only when everything given to it is on the disk (fdatasync). All that comes while a sync is
under way goes into the next one: a busy broker syncs no more often than an idle one, only more at a time.
Rule 2: what the disk does not take is refused with the reason, and the log is as it was (`machine/log.py`).
Rule 3: a log belongs to one process, and a broker that opens it again has another id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

from rookery.brokers.batches import EventBatch
from rookery.brokers.records import open_records
from rookery.errors import LogError
from rookery.live.disk import FolderDisk
from rookery.machine.disk import put_file, read_file
from rookery.machine.log import COMPACT_FROM, Key

__all__ = ["BrokerLog"]

#: Entries, what is done with, and who wants to know.
_Waiting: TypeAlias = tuple[
    tuple[tuple[int, int, EventBatch], ...], tuple[Key, ...], Callable[[str | None], None] | None
]


class BrokerLog:
    """The log in one folder; only one process may have it."""

    def __init__(self, folder: Path, *, compact_from: int = COMPACT_FROM) -> None:
        """Open the log, or begin one."""
        self.folder = folder
        #: What is to be written, as it is held: its records are made when its turn comes.
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._reads: set[asyncio.Task[None]] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="broker log")
        try:
            self._disk = FolderDisk(folder, mode=0o600)
            if (holder := self._disk.lock()) is not None:
                raise LogError(f"{folder} belongs to a broker that is running ({holder}): give another --data")
            try:
                #: What is on the disk; its thread writes, everyone may read its counts.
                self.file = open_records(self._disk, compact_from=compact_from)
                #: What the log held when it was opened.
                self.entries = self.file.entries()
            except BaseException:
                self._disk.unlock()
                raise
        except LogError:
            raise
        except OSError as error:
            raise LogError(f"cannot keep a log in {folder}: {error.strerror}") from error

    def incarnation(self) -> int:
        """Return how often this log was opened, this time included: it makes the broker's id another one."""
        try:
            written = read_file(self._disk, "incarnation") or b""
            count = int(written) + 1 if written.strip().isdigit() else 1
            put_file(self._disk, "incarnation", str(count).encode())
        except OSError as error:
            raise LogError(f"cannot keep a log in {self.folder}: {error.strerror}") from error
        return count

    def append(
        self,
        entries: Iterable[tuple[int, int, EventBatch]],
        done: tuple[Key, ...],
        then: Callable[[str | None], None] | None,
    ) -> None:
        """Write entries, and what is done with; `then` gets None when they are on the disk, or why they are not."""
        self._waiting.append((tuple(entries), done, then))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._commit())

    def read(self, keys: tuple[Key, ...], then: Callable[[dict[Key, EventBatch]], None]) -> None:
        """Read batches again, after all that is being written; `then` gets those that are there and whole."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._read(keys, then))
        self._reads.add(task)
        task.add_done_callback(self._reads.discard)

    async def _read(self, keys: tuple[Key, ...], then: Callable[[dict[Key, EventBatch]], None]) -> None:
        then(await asyncio.get_running_loop().run_in_executor(self._thread, self.file.read_all, keys))

    async def close(self) -> None:
        """Write what waits, and let go of the folder."""
        while self._task is not None:
            await self._task
        await asyncio.gather(*self._reads, return_exceptions=True)
        self._thread.shutdown()
        self.file.close()
        self._disk.unlock()

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                reason: str | None = None
                try:
                    await loop.run_in_executor(self._thread, self._write, waiting)
                except OSError as error:
                    reason = f"the broker's disk did not take it: {error.strerror}"
                for _, _, then in waiting:
                    if then is not None:
                        then(reason)
        finally:
            self._task = None

    def _write(self, waiting: list[_Waiting]) -> None:
        """Write what waits with one sync, none if nobody wants to know. Runs in the log's own thread."""
        groups = [self.file.group(entries, done) for entries, done, _ in waiting]
        self.file.append(groups, sync=any(then is not None for _, _, then in waiting))
