"""The one writer of a spool: it appends groups of records, and a group counts when the disk has it.

The order of a commit is the whole of it: the frame is written and forced to the disk, then the mark is written and
forced to the disk, then the caller is told. A new segment and its name in the folder are forced out before the mark can
name them. On opening, everything behind the mark is cut off: it was never counted. After a failure of the disk the
writer refuses to go on, because what the system holds of a file after a failed `fsync` is unknown; opening again is
safe.

One writer at a time. Old segments go when the spool is larger, or they are older, than it may be; the newest stays.
"""

from __future__ import annotations

import errno
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from rookery.errors import SpoolError
from rookery.live.disk import FolderDisk
from rookery.live.spool.disk import explained
from rookery.live.spool.folder import (
    DESCRIPTION_FILE,
    MARK_FILE,
    Description,
    mark_of,
    record_schema,
    starts_among,
)
from rookery.live.spool.frames import ALIGNMENT, Mark, encode_frame, frames, read_commit_time, segment_name
from rookery.machine.disk import AppendFile, Disk, File, put_file, read_file, write_all

__all__ = ["Retention", "SpoolWriter"]

SEGMENT_BYTES = 64 << 20
#: A segment is walked from its start to find an offset: this bounds the walk where groups are small.
SEGMENT_FRAMES = 4_096
#: Writers whose numbers are remembered, the latest ones: a program that restarts is a new writer each time.
REMEMBERED_WRITERS = 65_536


@dataclass(frozen=True, slots=True)
class Retention:
    """How much is kept; None means everything."""

    size_bytes: int | None = None
    microseconds: int | None = None


class SpoolWriter:
    """A spool to append to; close it, or use `with`."""

    def __init__(
        self,
        folder: str | Path,
        description: Description,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        retention: Retention | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000,
        disk: Disk | None = None,
    ) -> None:
        """Open the spool in a folder, or begin one; another `disk` than the folder is for those who try faults."""
        self.folder = Path(folder)
        self._segment_bytes = segment_bytes
        self._retention = retention or Retention()
        self._clock = clock
        self.schema = record_schema(description.schema, endings=description.endings)
        self._writers: dict[str, int] = {}
        self._broken = False
        self._mark: Mark | None = None
        self._segment = self._frames = self._opened = 0
        self._file: AppendFile | None = None
        self._mark_file: File | None = None
        self._locked: FolderDisk | None = None
        try:
            with self._explained():
                self._disk = disk or self._take_folder()
                self.description = self._agree(description)
                mark = read_file(self._disk, MARK_FILE)
                if mark is None:
                    mark = self._create()
                self._recover(mark_of(mark, self.folder))
                self._retire()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SpoolWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def end(self) -> int:
        """The offset that the next record will have."""
        return 0 if self._mark is None else self._mark.end

    @property
    def writers(self) -> Mapping[str, int]:
        """The last sequence number of each DDS writer that counts here."""
        return self._writers

    def append(self, batch: pa.RecordBatch, writers: Mapping[str, int]) -> range:
        """Make a group of records durable, with how far it brings each DDS writer; return their offsets.

        When this raises, nothing of the group counts, and the spool must be opened again.
        """
        if self._broken or self._mark is None:
            raise SpoolError(f"{self.folder} is closed or has failed: open it again")
        if batch.schema != self.schema:
            raise SpoolError(f"these records do not have the columns of {self.folder}")
        first, time_now = self.end, self._clock()
        records = batch.serialize().to_pybytes()
        frame = encode_frame(first=first, rows=batch.num_rows, committed=time_now, writers=writers, batch=records)
        with self._explained():
            self._broken = True
            begins = self._is_full(len(frame))
            if begins:
                self._begin_segment(first)
            assert self._file is not None
            assert self._mark_file is not None
            self._file.append(frame, sync=True)
            mark = Mark(self._mark.turn + 1, self._segment, self._file.end, first + batch.num_rows)
            write_all(self._mark_file, mark.encode(), mark.slot)
            self._mark_file.sync()
            self._mark, self._broken = mark, False
            self._frames += 1
            self._note(writers)
            if begins:
                self._retire()
        return range(first, mark.end)

    def close(self) -> None:
        """Let others write."""
        for file in (self._file, self._mark_file):
            if file is not None:
                file.close()
        self._file = self._mark_file = None
        if self._locked is not None:
            self._locked.unlock()
        self._broken = True

    # Opening.

    def _take_folder(self) -> FolderDisk:
        disk = FolderDisk(self.folder)
        if (holder := disk.lock()) is not None:
            raise SpoolError(errno.EWOULDBLOCK, f"{self.folder} is being written by {holder}: end that one first")
        self._locked = disk
        return disk

    def _agree(self, asked: Description) -> Description:
        """Write the description, or compare it with the one that is there."""
        written = read_file(self._disk, DESCRIPTION_FILE)
        if written is None:
            if self._starts():
                raise SpoolError(f"{self.folder} has segments and no {DESCRIPTION_FILE}: choose an empty folder")
            made = replace(asked, spool_id=uuid.uuid4().hex)
            put_file(self._disk, DESCRIPTION_FILE, made.to_text())
            return made
        try:
            found = Description.from_text(written)
        except ValueError as error:
            raise SpoolError(f"{self.folder / DESCRIPTION_FILE}: {error}") from error
        if replace(asked, spool_id=found.spool_id) != found:
            there, here = found.document(), asked.document()
            differing = [name for name in there if name != "spool_id" and there[name] != here[name]]
            if differing == ["endings"]:
                wanted = "--endings" if found.endings else "no --endings"
                raise SpoolError(f"{self.folder} was begun with {wanted}: go on so, or choose another folder")
            told = ", ".join(f"{name} {there[name]!r}" for name in differing)
            raise SpoolError(f"{self.folder} is the spool of another topic or type ({told}): choose another folder")
        return found

    def _create(self) -> bytes:
        """Make the first segment and the mark. Without a mark nothing was ever counted, whatever else is there."""
        for start in self._starts():
            self._disk.remove(segment_name(start))
        opening = encode_frame(first=0, rows=0, committed=self._clock(), writers={}, batch=b"")
        put_file(self._disk, segment_name(0), opening)
        mark = Mark(0, 0, len(opening), 0)
        slots = mark.encode() + replace(mark, turn=1).encode()
        put_file(self._disk, MARK_FILE, slots)
        return slots

    def _recover(self, mark: Mark) -> None:
        """Cut off what does not count, and learn where every writer stands."""
        for start in self._starts():
            if start > mark.segment:
                self._disk.remove(segment_name(start))
        path = self.folder / segment_name(mark.segment)
        self._mark_file = self._disk.open(MARK_FILE)
        file = self._disk.open(segment_name(mark.segment))
        self._segment = mark.segment
        if file.size() < mark.size_bytes:
            file.close()
            raise SpoolError(f"{path} has lost bytes that were counted: restore it, or choose another folder")
        self._file = AppendFile(file, mark.size_bytes)
        self._disk.sync()
        self._frames = 0
        try:
            for frame in frames(memoryview(file.read(0, mark.size_bytes)), start=mark.segment):
                frame.verify()
                if self._frames == 0:
                    self._opened = frame.committed
                self._note(frame.writer_numbers())
                self._frames += 1
        except SpoolError as error:
            raise SpoolError(f"{path}: {error}: restore it, or choose another folder") from error
        self._mark = mark

    # Writing.

    def _is_full(self, size: int) -> bool:
        if self._frames <= 1 or self._file is None:
            return False
        age = self._retention.microseconds
        return (
            self._file.end + size > self._segment_bytes
            or self._frames >= SEGMENT_FRAMES
            # Only whole segments are deleted, so none may span more than a part of what is kept.
            or (age is not None and self._clock() - self._opened > age // 4)
        )

    def _begin_segment(self, first: int) -> None:
        opening = encode_frame(first=first, rows=0, committed=self._clock(), writers=self._writers, batch=b"")
        put_file(self._disk, segment_name(first), opening)
        assert self._file is not None
        self._file.close()
        self._file = AppendFile(self._disk.open(segment_name(first)), len(opening))
        self._segment, self._frames, self._opened = first, 1, self._clock()

    def _note(self, writers: Mapping[str, int]) -> None:
        for guid, number in writers.items():
            self._writers.pop(guid, None)  # the latest stand last
            self._writers[guid] = number
        while len(self._writers) > REMEMBERED_WRITERS:
            del self._writers[next(iter(self._writers))]

    def _retire(self) -> None:
        """Delete the oldest segments, as long as there is too much or they are too old."""
        starts = self._starts()
        sizes = {start: self._size(start) for start in starts}
        limit, age = self._retention.size_bytes, self._retention.microseconds
        for start, following in pairwise(starts):
            too_much = limit is not None and sum(sizes.values()) > limit
            # The last record of a segment is older than the segment that follows.
            if not too_much and (age is None or self._clock() - self._opening_time(following) <= age):
                return
            self._disk.remove(segment_name(start))
            del sizes[start]

    def _starts(self) -> list[int]:
        return starts_among(self._disk.names())

    def _size(self, start: int) -> int:
        file = self._disk.open(segment_name(start))
        try:
            return file.size()
        finally:
            file.close()

    def _opening_time(self, start: int) -> int:
        file = self._disk.open(segment_name(start))
        try:
            return read_commit_time(file.read(0, ALIGNMENT))
        finally:
            file.close()

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.folder, lambda: f"What was counted is safe: {self.end} records.")
