"""The file of a broker's log: records at its end, all of a group or none, and a move to a new file now and then.

Rule 1: a record is its length, its checksum and its octets. A crash in the middle of a write leaves a tail that does
not check; it was never promised to anybody, and is cut off when the file is opened.
Rule 2: what the disk does not take is cut off again before anything else is appended. Where that fails too, and where a
sync has failed (what the system holds of a file after that is unknown), nothing is taken until it is mended.
Rule 3: when more than half of a large file is done with, the rest moves to a new one. The new file is whole, checked
and on the disk before it takes the old one's name; where that cannot be, the old one stays in force, and the move is
tried again when there is half as much to move or the file has grown by a quarter.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from rookery.brokers.batches import MALFORMED
from rookery.brokers.batches import EventBatch as Parcel
from rookery.errors import LogError
from rookery.live.disk import sync_folder, write_all

__all__ = ["Group", "Key", "LogFile"]

#: Owner and part.
Key: TypeAlias = tuple[int, int]

_LOG = logging.getLogger("rookery.live")
_HEADER = struct.Struct("!II")
_MAGIC = b"rookery broker log 1\n"
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


class Group(NamedTuple):
    """What is written together: entries as records, then what is done with."""

    records: tuple[tuple[Key, bytes], ...]
    done: tuple[Key, ...]
    done_record: bytes

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int, Parcel]], done: tuple[Key, ...]) -> Group:
        """Make the records of entries, and one of all that is done with."""
        records = tuple(((owner, part), _framed(Kept(owner, part, parcel))) for owner, part, parcel in entries)
        return cls(records, done, _framed(Done(done)) if done else b"")


class LogFile:
    """One file, and where in it everything lies that is not done with."""

    def __init__(self, path: Path, *, compact_from: int) -> None:
        """Open the file, or begin one; `entries` are what it holds, `torn` the octets that were cut off its end."""
        self._path = path
        self._new = path.with_suffix(".new")
        self._compact_from = compact_from
        self.size = 0
        self.torn = 0
        self.syncs = 0
        #: How often what is live was moved to a new file, and how often that could not be done.
        self.moves = self.moves_failed = 0
        self._live: dict[Key, tuple[int, int]] = {}
        self._live_octets = 0
        #: Done with, and not written down because the disk did not take it.
        self._over: list[Key] = []
        #: Whether there is something behind the end, a sync has failed, the name may not be on the disk.
        self._has_tail = self._is_suspect = self._is_unnamed = False
        #: After a move that failed: below how many live octets, or from which size, to try again.
        self._again: tuple[int, int] | None = None
        self._new.unlink(missing_ok=True)  # a move that did not come to its end
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self.entries = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def close(self) -> None:
        """Let go of the file, without what was refused."""
        with suppress(OSError):
            if self._has_tail:
                self._cut()
        os.close(self._file)

    # ---- writing -------------------------------------------------------------------------------------------------

    def append(self, groups: Sequence[Group], *, sync: bool) -> None:
        """Put groups at the end in their order, all or none; raise `OSError` where the disk does not take them."""
        try:
            self._mend()
            self._put(groups, sync=sync)
        except OSError:
            for group in groups:  # done with it is, whatever the disk says; it is written down with what comes next
                self._finish(group.done)
                self._over += group.done
            raise
        finally:
            if self._is_worth_moving():
                self._try_to_move()

    def _put(self, groups: Sequence[Group], *, sync: bool) -> None:
        if self._over:
            groups = [Group.of((), tuple(self._over)), *groups]
        octets = b"".join(
            chunk for group in groups for chunk in (*(record for _, record in group.records), group.done_record)
        )
        self._has_tail = True
        try:
            write_all(self._file, octets, self.size)
            if sync:
                self._sync()
        except OSError:
            with suppress(OSError):  # if not now, then before the next write
                self._cut()
            raise
        self._has_tail = False
        self._over.clear()
        for group in groups:
            for key, record in group.records:
                self._keep(key, len(record))
            self._finish(group.done)
            self.size += len(group.done_record)

    def _sync(self) -> None:
        self.syncs += 1
        try:
            os.fdatasync(self._file)
        except OSError:
            self._is_suspect = True
            raise

    def _keep(self, key: Key, length: int) -> None:
        """Note that a record of an entry begins where the file ended so far."""
        self._finish((key,))
        self._live[key] = (self.size, length)
        self._live_octets += length
        self.size += length

    def _finish(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._live_octets -= self._live.pop(key, (0, 0))[1]

    def _cut(self) -> None:
        os.ftruncate(self._file, self.size)
        self._has_tail = False

    def _mend(self) -> None:
        """Put right what a failure has left; raise where that fails too: then nothing can be promised."""
        if self._is_suspect:
            self._move()
        if self._has_tail:
            self._cut()
        if self._is_unnamed:
            self._name()

    # ---- moving --------------------------------------------------------------------------------------------------

    def _is_worth_moving(self) -> bool:
        if self.size <= self._compact_from or 2 * self._live_octets >= self.size:
            return False
        return self._again is None or self._live_octets < self._again[0] or self.size >= self._again[1]

    def _try_to_move(self) -> None:
        try:
            self._move()
        except OSError as error:
            self.moves_failed += 1
            self._again = ((self._live_octets + 1) // 2, self.size + self.size // 4 + 1)
            _LOG.warning("%s cannot be made smaller now and stays as it is: %s", self._path, error.strerror)

    def _move(self) -> None:
        """Write what is live to a new file, which takes the place of the old one when it is on the disk."""
        file = os.open(self._new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        moved: dict[Key, tuple[int, int]] = {}
        at = len(_MAGIC)
        try:
            write_all(file, _MAGIC, 0)
            for key, (offset, length) in self._live.items():
                write_all(file, self._record(offset, length), at)
                moved[key] = (at, length)
                at += length
            os.fsync(file)
            os.rename(self._new, self._path)
        except BaseException:
            os.close(file)
            with suppress(OSError):
                self._new.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self.size, self._live = file, at, moved
        self._over.clear()
        self._has_tail = self._is_suspect = False
        self._again = None
        self._is_unnamed = True
        self.moves += 1
        with suppress(OSError):  # if not now, then before the next write
            self._name()

    def _name(self) -> None:
        """Force the file's name to the disk: without that a crash brings the old one back."""
        sync_folder(self._path.parent)
        self._is_unnamed = False

    def _record(self, offset: int, length: int) -> bytes:
        record = os.pread(self._file, length, offset)
        if len(record) < length or zlib.crc32(record[_HEADER.size :]) != _HEADER.unpack_from(record)[1]:
            raise OSError(errno.EIO, "a record cannot be read again")
        return record

    # ---- reading -------------------------------------------------------------------------------------------------

    def _read(self) -> list[tuple[int, int, Parcel]]:
        data = self._path.read_bytes()
        if not data.startswith(_MAGIC):
            if data and not _MAGIC.startswith(data):
                raise LogError(f"{self._path} is no broker's log")
            self._begin()
            return []
        found: dict[Key, Parcel] = {}
        self.size = len(_MAGIC)
        for record, end in _records(data, self.size):
            if isinstance(record, Kept):
                key = (record.owner, record.part)
                found[key] = record.parcel
                self._keep(key, end - self.size)
            else:
                for key in record.keys:
                    found.pop(key, None)
                self._finish(record.keys)
                self.size = end
        self.torn = len(data) - self.size
        if self.torn:
            os.ftruncate(self._file, self.size)
            os.fsync(self._file)
        return [(owner, part, parcel) for (owner, part), parcel in found.items()]

    def _begin(self) -> None:
        os.ftruncate(self._file, 0)
        write_all(self._file, _MAGIC, 0)
        os.fsync(self._file)
        sync_folder(self._path.parent)
        self.size = len(_MAGIC)


def _framed(record: Kept | Done) -> bytes:
    payload = _encode(record)
    return _HEADER.pack(len(payload), zlib.crc32(payload)) + payload


def _records(data: bytes, at: int) -> Iterator[tuple[Kept | Done, int]]:
    """Walk over whole records, each with where it ends; a tail that does not check ends the walk."""
    while at + _HEADER.size <= len(data):
        length, checksum = _HEADER.unpack_from(data, at)
        payload = data[at + _HEADER.size : at + _HEADER.size + length]
        if length > LONGEST or len(payload) < length or zlib.crc32(payload) != checksum:
            return
        try:
            record = _DECODER.decode(payload)
        except MALFORMED:
            return
        at += _HEADER.size + length
        yield record, at
