"""The durable log of a broker: what it promised to keep, on a disk, until that is done with.

Rule 1: `append` calls back only when everything given to it is on the disk (fdatasync). All that comes while a sync is
under way goes into the next one: a busy broker syncs no more often than an idle one, only more at a time.
Rule 2: a record is its length, its checksum and its octets. A crash in the middle of a write leaves a tail that does
not check; it was never promised to anybody, and is cut off when the log is opened.
Rule 3: what the disk does not take is refused with the reason, and the log is as it was.
Rule 4: when more than half of a large log is done with, the rest moves to a new file.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import msgspec

from rookery.errors import LogError
from rookery.routing.brokers.parcels import MALFORMED, Parcel

__all__ = ["BrokerLog", "Key"]

#: Owner and part.
Key: TypeAlias = tuple[int, int]

_HEADER = struct.Struct("!II")
_MAGIC = b"rookery broker log 1\n"
#: A log smaller than this is not worth moving.
COMPACT_FROM = 64 << 20
#: No record is longer; a length beyond it is damage.
LONGEST = 1 << 30


class Kept(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A parcel that is promised."""

    owner: int
    part: int
    parcel: Parcel


class Done(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Parcels that need not be kept any more."""

    keys: tuple[Key, ...]


_DECODER: msgspec.msgpack.Decoder[Kept | Done] = msgspec.msgpack.Decoder(Kept | Done)
_encode = msgspec.msgpack.Encoder().encode


def _framed(record: Kept | Done) -> bytes:
    payload = _encode(record)
    return _HEADER.pack(len(payload), zlib.crc32(payload)) + payload


class BrokerLog:
    """The log in one folder; only one process may have it."""

    def __init__(self, folder: Path, *, compact_from: int = COMPACT_FROM) -> None:
        """Open the log, or begin one; `entries` are what it holds, `torn` the octets that were cut off its end."""
        self.folder = folder
        self.torn = 0
        self._compact_from = compact_from
        #: Where each entry that is not done with lies in the file: offset and length.
        self._live: dict[Key, tuple[int, int]] = {}
        self._size = 0
        self._waiting: list[tuple[Callable[[str | None], None] | None, list[bytes], list[Key], tuple[Key, ...]]] = []
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="broker log")
        self.syncs = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / "lock").open("w")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                self._lock.close()
                raise LogError(f"{folder} belongs to a broker that is running: give another --data") from error
            self._path = folder / "log"
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                self.entries = self._read()
            except BaseException:
                os.close(self._file)
                self._lock.close()
                raise
        except LogError:
            raise
        except OSError as error:
            raise LogError(f"cannot keep a log in {folder}: {error.strerror}") from error

    @property
    def size(self) -> int:
        """The octets of the file."""
        return self._size

    def incarnation(self) -> int:
        """Return how often this log was opened, this time included: it makes the broker's id another one."""
        path = self.folder / "incarnation"
        try:
            count = int(path.read_text()) + 1
        except (OSError, ValueError):
            count = 1
        _replace(path, str(count).encode())
        return count

    def append(
        self,
        entries: Iterable[tuple[int, int, Parcel]],
        done: tuple[Key, ...],
        then: Callable[[str | None], None] | None,
    ) -> None:
        """Write entries, and what is done with; `then` gets None when they are on the disk, or why they are not."""
        records, keys = [], []
        for owner, part, parcel in entries:
            records.append(_framed(Kept(owner, part, parcel)))
            keys.append((owner, part))
        self._waiting.append((then, records, keys, done))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._commit())

    async def close(self) -> None:
        """Write what waits, and let go of the folder."""
        while self._task is not None:
            await self._task
        self._thread.shutdown()
        os.close(self._file)
        self._lock.close()

    # ---- writing -------------------------------------------------------------------------------------------------

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
                for then, _, _, _ in waiting:
                    if then is not None:
                        then(reason)
        finally:
            self._task = None

    def _write(
        self, waiting: list[tuple[Callable[[str | None], None] | None, list[bytes], list[Key], tuple[Key, ...]]]
    ) -> None:
        """Put records at the end of the file, all or none of them. Runs in the log's own thread."""
        chunks: list[bytes] = []
        at = self._size
        found: dict[Key, tuple[int, int]] = {}
        over: list[Key] = []
        for _, records, keys, done in waiting:
            for key, record in zip(keys, records, strict=True):
                found[key] = (at, len(record))
                chunks.append(record)
                at += len(record)
            over += done
        if over:
            chunks.append(_framed(Done(tuple(over))))
            at += len(chunks[-1])
        data = memoryview(b"".join(chunks))
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._file, data[written:], self._size + written)
            if any(then is not None for then, _, _, _ in waiting):
                self.syncs += 1
                os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size = at
        self._live.update(found)
        for key in over:
            self._live.pop(key, None)
        if self._size > self._compact_from and 2 * sum(length for _, length in self._live.values()) < self._size:
            self._compact()

    def _compact(self) -> None:
        """Move what is live to a new file, which takes the place of the old one when it is on the disk."""
        path = self.folder / "log.new"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(file, _MAGIC)
                at = len(_MAGIC)
                moved: dict[Key, tuple[int, int]] = {}
                for key, (offset, length) in self._live.items():
                    os.write(file, os.pread(self._file, length, offset))
                    moved[key] = (at, length)
                    at += length
                os.fsync(file)
                path.replace(self._path)
            except OSError:
                os.close(file)
                raise
        except OSError:
            self._compact_from *= 2  # no room to move: go on as it is
            return
        _sync_folder(self.folder)
        os.close(self._file)
        self._file, self._size, self._live = file, at, moved

    # ---- reading -------------------------------------------------------------------------------------------------

    def _read(self) -> list[tuple[int, int, Parcel]]:
        data = self._path.read_bytes()
        if not data.startswith(_MAGIC):
            if data and not _MAGIC.startswith(data):
                raise LogError(f"{self._path} is no broker's log")
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, _MAGIC, 0)
            os.fsync(self._file)
            _sync_folder(self.folder)
            self._size = len(_MAGIC)
            return []
        at, found = len(_MAGIC), dict[Key, Parcel]()
        while at + _HEADER.size <= len(data):
            length, checksum = _HEADER.unpack_from(data, at)
            payload = data[at + _HEADER.size : at + _HEADER.size + length]
            if length > LONGEST or len(payload) < length or zlib.crc32(payload) != checksum:
                break
            try:
                record = _DECODER.decode(payload)
            except MALFORMED:
                break
            size = _HEADER.size + length
            if isinstance(record, Kept):
                key = (record.owner, record.part)
                found[key] = record.parcel
                self._live[key] = (at, size)
            else:
                for key in record.keys:
                    found.pop(key, None)
                    self._live.pop(key, None)
            at += size
        self.torn = len(data) - at
        if self.torn:
            os.ftruncate(self._file, at)
            os.fsync(self._file)
        self._size = at
        return [(owner, part, parcel) for (owner, part), parcel in found.items()]


def _replace(path: Path, data: bytes) -> None:
    """Write a small file so that it is either the old or the new one, whatever happens."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
