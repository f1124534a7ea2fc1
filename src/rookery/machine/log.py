"""The log of a machine: records by key on a disk, until they are done with.

Rule 1: a record is a mark, its length, a checksum over that and its bytes, and its bytes; whatever is read is checked.
A crash in the middle of a write leaves a tail that is too short; it was never promised to anybody, and is cut off when
the log is opened. Any other record that does not check is damage: those behind it are found by their marks and count,
and how many places are damaged is said (`damaged`), so that nobody takes what is left for all. A record that goes bad
later is said when it is read again or moved: it is not found, and its owner has it sent by who has the other copy.
Rule 2: what is written together is there whole or not at all (`AppendFile`). Where the disk does not let a refused one
be cut off, and where a sync has failed, nothing is taken until that is mended.
Rule 3: when more than half of a file is done with that is large, or larger than the room that is left on the disk, the
rest moves to a new one. The new file is whole, checked and on the disk before it takes the old one's name; where that
cannot be, the old one stays in force, and the move is tried again when there is half as much to move or the file has
grown by a quarter. What was written counts, whatever becomes of the move.
"""

from __future__ import annotations

import errno
import logging
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from rookery.errors import LogError
from rookery.machine.disk import AppendFile, Disk, write_all

__all__ = ["COMPACT_FROM", "Group", "Key", "RecordLog"]

#: Owner and part.
Key: TypeAlias = tuple[int, int]
Value = TypeVar("Value")

_LOG = logging.getLogger("rookery.machine")
_HEADER = struct.Struct("!4sII")
_LENGTH = struct.Struct("!I")
_MAGIC = b"rookery log 3\n"
#: Opens every record: where one is damaged the next is found by it.
_MARK = b"\xe7rk\x1e"
#: No record is longer; a length beyond it is damage.
LONGEST = 1 << 30
#: A log smaller than this is not worth moving while the disk has room; one smaller than that never is.
COMPACT_FROM, SMALLEST = 64 << 20, 64 << 10


class Kept(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """What is promised under a key."""

    owner: int
    part: int
    #: A view of the record that was read: nothing is copied.
    value: memoryview


class Done(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Keys of what need not be kept any more."""

    keys: tuple[Key, ...]


_DECODER: msgspec.msgpack.Decoder[Kept | Done] = msgspec.msgpack.Decoder(Kept | Done)
_encode = msgspec.msgpack.Encoder().encode


class Group(NamedTuple):
    """What is written together: entries as records, then what is done with."""

    records: tuple[tuple[Key, bytes], ...]
    done: tuple[Key, ...]
    done_record: bytes


class RecordLog(Generic[Value]):
    """The log in one file of a disk, and where in it everything lies that is not done with."""

    def __init__(
        self,
        disk: Disk,
        *,
        encode: Callable[[Value], bytes],
        decode: Callable[[memoryview], Value],
        name: str = "log",
        compact_from: int = COMPACT_FROM,
    ) -> None:
        """Open the log, or begin one; `torn` bytes were cut off its end, so many places in it are `damaged`."""
        self._disk = disk
        self._encode = encode
        self._decode = decode
        self._name, self._new = name, f"{name}.new"
        self._compact_from = compact_from
        self.torn = self.damaged = 0
        #: How often what is live was moved to a new file, and how often that could not be done.
        self.moves = self.moves_failed = 0
        self._live: dict[Key, tuple[int, int]] = {}
        self._live_bytes = 0
        self._syncs = 0
        #: Done with, and not written down because the disk did not take it.
        self._over: list[Key] = []
        #: Whether the file's name may not be on the disk.
        self._is_unnamed = False
        #: After a move that failed: below how many live bytes, or from which size, to try again.
        self._again: tuple[int, int] | None = None
        disk.remove(self._new)  # a move that did not come to its end
        file = disk.open(name)
        try:
            data = file.read(0, file.size())
            if data.startswith(_MAGIC) or _next_record(data, 0) is not None:
                self.damaged += not data.startswith(_MAGIC)
                end = self._scan(data)
            elif _MAGIC.startswith(data):
                end = 0
            else:
                raise LogError(f"{name} is no log of this version of Rookery: give another folder")
            self._file = AppendFile(file, end)
            if not end:
                self._file.append(_MAGIC, sync=True)
                disk.sync()
        except BaseException:
            file.close()
            raise

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return self._file.end

    @property
    def syncs(self) -> int:
        """How often it was forced to the disk."""
        return self._syncs + self._file.syncs

    def entries(self) -> list[tuple[int, int, Value]]:
        """Return what is kept, in the order in which it was written."""
        return [(owner, part, self._value(*place)) for (owner, part), place in self._live.items()]

    def read_all(self, keys: Iterable[Key]) -> dict[Key, Value]:
        """Return the records of some keys, without those that are not there or do not check any more."""
        found = {}
        for key in keys:
            try:
                found[key] = self._value(*self._live[key])
            except KeyError:
                continue  # done with meanwhile, or left behind by a move
            except OSError as error:
                _LOG.error("part %d of owner %d cannot be read from %s again: %s", *reversed(key), self._name, error)
        return found

    def _value(self, offset: int, length: int) -> Value:
        kept = _DECODER.decode(memoryview(self._record(offset, length))[_HEADER.size :])
        assert isinstance(kept, Kept)
        return self._decode(kept.value)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    # ---- writing -------------------------------------------------------------------------------------------------

    def group(self, entries: Iterable[tuple[int, int, Value]], done: tuple[Key, ...]) -> Group:
        """Make the records of entries, and one of all that is done with."""
        encode = self._encode
        records = tuple(
            ((owner, part), _framed(Kept(owner, part, memoryview(encode(value))))) for owner, part, value in entries
        )
        return Group(records, done, _framed(Done(done)) if done else b"")

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
            self._try_to_move()

    def _put(self, groups: Sequence[Group], *, sync: bool) -> None:
        if self._over:
            groups = [self.group((), tuple(self._over)), *groups]
        at = self._file.append(
            b"".join(
                [chunk for group in groups for chunk in (*(record for _, record in group.records), group.done_record)]
            ),
            sync=sync,
        )
        self._over.clear()
        for group in groups:
            for key, record in group.records:
                self._keep(key, at, len(record))
                at += len(record)
            self._finish(group.done)
            at += len(group.done_record)

    def _keep(self, key: Key, offset: int, length: int) -> None:
        self._finish((key,))
        self._live[key] = (offset, length)
        self._live_bytes += length

    def _finish(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._live_bytes -= self._live.pop(key, (0, 0))[1]

    def _mend(self) -> None:
        """Put right what a failure has left; raise where that fails too: then nothing can be promised."""
        if self._file.is_suspect:
            self._move()
        if self._is_unnamed:
            self._name_it()

    # ---- moving --------------------------------------------------------------------------------------------------

    def _is_worth_moving(self) -> bool:
        size = self._file.end
        if size <= min(self._compact_from, SMALLEST) or 2 * self._live_bytes >= size:
            return False
        if size <= self._compact_from and size <= self._disk.room():
            return False
        return self._again is None or self._live_bytes < self._again[0] or size >= self._again[1]

    def _try_to_move(self) -> None:
        """Move what is live if that is worth it; where the disk does not let it all stays as it is."""
        try:
            if self._is_worth_moving():
                self._move()
        except OSError as error:
            self.moves_failed += 1
            size = self._file.end
            self._again = ((self._live_bytes + 1) // 2, size + size // 4 + 1)
            _LOG.warning("%s cannot be made smaller now and stays as it is: %s", self._name, error.strerror)

    def _move(self) -> None:
        """Write what is live to a new file, which takes the place of the old one when it is on the disk."""
        moved: dict[Key, tuple[int, int]] = {}
        bad: list[Key] = []
        at = len(_MAGIC)
        file = self._disk.open(self._new)
        try:
            file.truncate(0)
            write_all(file, _MAGIC, 0)
            for key, (offset, length) in self._live.items():
                record = self._bytes(offset, length)
                if _payload_at(record, 0) is None:
                    bad.append(key)
                    continue
                write_all(file, record, at)
                moved[key] = (at, length)
                at += length
            file.sync()
            self._disk.rename(self._new, self._name)
        except BaseException:
            file.close()
            with suppress(OSError):
                self._disk.remove(self._new)
            raise
        self._file.file.close()
        self._syncs += self._file.syncs + 1
        self._file, self._live = AppendFile(file, at), moved
        self._live_bytes = at - len(_MAGIC)
        if bad:
            self.damaged += len(bad)
            _LOG.error(
                "%d records of %s have gone bad and stayed behind when it was made smaller", len(bad), self._name
            )
        self._over.clear()
        self._again = None
        self._is_unnamed = True
        self.moves += 1
        with suppress(OSError):  # if not now, then before the next write
            self._name_it()

    def _name_it(self) -> None:
        """Force the file's name to the disk: without that a crash brings the old one back."""
        self._disk.sync()
        self._is_unnamed = False

    def _bytes(self, offset: int, length: int) -> bytes:
        record = self._file.file.read(offset, length)
        if len(record) < length:
            raise OSError(errno.EIO, "the disk does not give it")
        return record

    def _record(self, offset: int, length: int) -> bytes:
        record = self._bytes(offset, length)
        if _payload_at(record, 0) is None:
            raise OSError(errno.EIO, "it is not what was written")
        return record

    # ---- reading -------------------------------------------------------------------------------------------------

    def _scan(self, data: bytes) -> int:
        """Learn where everything lies; return the end of what counts."""
        at = end = len(_MAGIC)
        while at < len(data):
            record = _record_at(data, at)
            if record is None:
                following = _next_record(data, at + 1)
                if following is not None or _is_whole(data, at):
                    self.damaged += 1
                if following is None:
                    break
                at = following
                continue
            size = _HEADER.size + _length_at(data, at)
            if isinstance(record, Kept):
                self._keep((record.owner, record.part), at, size)
            else:
                self._finish(record.keys)
            at = end = at + size
        self.torn = len(data) - end
        return end


def _framed(record: Kept | Done) -> bytes:
    payload = _encode(record)
    length = _LENGTH.pack(len(payload))
    return _HEADER.pack(_MARK, len(payload), zlib.crc32(payload, zlib.crc32(length))) + payload


def _length_at(data: bytes, at: int) -> int:
    """Return how long the record at a place says that it is."""
    found = data[at + len(_MARK) : at + len(_MARK) + _LENGTH.size]
    return int(_LENGTH.unpack(found)[0]) if len(found) == _LENGTH.size else LONGEST


def _is_whole(data: bytes, at: int) -> bool:
    """Tell a record that was written whole and is wrong now from the beginning of one."""
    return data.startswith(_MARK, at) and _length_at(data, at) <= len(data) - at - _HEADER.size


def _next_record(data: bytes, at: int) -> int | None:
    """Return where the next record begins that checks."""
    at = data.find(_MARK, at)
    while at >= 0 and _record_at(data, at) is None:
        at = data.find(_MARK, at + 1)
    return at if at >= 0 else None


def _payload_at(data: bytes, at: int) -> memoryview | None:
    """Return the bytes of the record at a place; None where there is none that checks."""
    if len(data) - at < _HEADER.size:
        return None
    mark, length, checksum = _HEADER.unpack_from(data, at)
    payload = memoryview(data)[at + _HEADER.size : at + _HEADER.size + length]
    if mark != _MARK or length > LONGEST or len(payload) < length:
        return None
    return payload if zlib.crc32(payload, zlib.crc32(_LENGTH.pack(length))) == checksum else None


def _record_at(data: bytes, at: int) -> Kept | Done | None:
    payload = _payload_at(data, at)
    if payload is None:
        return None
    try:
        return _DECODER.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
