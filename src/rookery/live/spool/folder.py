"""A spool: the samples of a DDS topic on disk, each at an offset of its own that never changes.

Offsets are 0, 1, 2 … without a hole, in the order in which the records became durable. A spool is a folder: its
description (`spool.json`), segments of frames and a mark (`frames` says how). `SpoolWriter` writes it, one at a
time; any number of `Spool`s read it meanwhile, in any process that sees the folder. A reader sees what the mark names
and nothing else, so what it has seen once it sees again, after any crash.

A record has the attributes of the topic's events and four columns before them: `_offset`; `_writer` and `_sequence`,
which together name the sample in the whole DDS domain; and `_written`, the writer's own time, where it told one. A
spool with endings also records ends of instances: `_state` says which record is what, and an end has its keys alone.
"""

from __future__ import annotations

import json
import mmap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rookery.errors import SchemaError, SpoolError
from rookery.live.spool.frames import MARK_BYTES, Frame, Mark, best_mark, frames, segment_name
from rookery.model import Schema

__all__ = ["ALIVE", "RECORD_COLUMNS", "STATE", "Description", "Spool", "record_schema"]

DESCRIPTION_FILE = "spool.json"
MARK_FILE = "mark"
FORMAT = 1
OFFSET = pa.field("_offset", pa.int64(), nullable=False)
#: What is stored of each record before its attributes; its offset follows from its place.
RECORD_COLUMNS = (
    pa.field("_writer", pa.string(), nullable=False),
    pa.field("_sequence", pa.int64(), nullable=False),
    pa.field("_written", pa.timestamp("us", tz="UTC")),
)
#: In a spool with endings: `alive`, `disposed` or `unregistered`.
STATE = pa.field("_state", pa.string(), nullable=False)
ALIVE = "alive"


@dataclass(frozen=True, slots=True)
class Description:
    """What a spool holds: the topic, its type and the filter. It is written once; only the filter may change later."""

    topic: str
    domain_id: int
    type_name: str
    schema: Schema
    key: tuple[str, ...] = ()
    spool_id: str = ""
    endings: bool = False

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "format": FORMAT,
            "spool_id": self.spool_id,
            "topic": self.topic,
            "domain_id": self.domain_id,
            "type_name": self.type_name,
            "key": list(self.key),
            "schema": self.schema.to_dict(),
            "endings": self.endings,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Description:
        """Read plain data; raise `SpoolError` for what is none, or of another format."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise SpoolError(f"this is no spool of format {FORMAT}")
        try:
            return cls(
                str(document["topic"]),
                int(document["domain_id"]),
                str(document["type_name"]),
                Schema.from_dict(document["schema"]),
                tuple(document["key"]),
                str(document["spool_id"]),
                bool(document.get("endings", False)),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SpoolError(f"the description of the spool is damaged: {error}") from error

    @classmethod
    def read(cls, folder: Path) -> Description:
        """Read the description of a folder."""
        path = folder / DESCRIPTION_FILE
        try:
            return cls.from_text(path.read_bytes())
        except FileNotFoundError:
            raise SpoolError(f"{folder} is no spool: it has no {DESCRIPTION_FILE}") from None
        except (OSError, ValueError) as error:
            raise SpoolError(f"{path}: {error}") from error

    @classmethod
    def from_text(cls, text: bytes) -> Description:
        """Read the description from what its file holds."""
        return cls.from_document(json.loads(text.decode("utf-8")))

    def to_text(self) -> bytes:
        """Return what its file holds."""
        return (json.dumps(self.document(), indent=2, ensure_ascii=False) + "\n").encode()


def record_schema(schema: Schema, *, endings: bool = False) -> pa.Schema:
    """Return the columns of a stored record; raise for an attribute that has the name of one of ours."""
    columns = (*RECORD_COLUMNS, STATE) if endings else RECORD_COLUMNS
    taken = {OFFSET.name, *(column.name for column in columns)} & set(schema)
    if taken:
        raise SchemaError(f"a spool has columns of its own named {sorted(taken)}: rename the attributes")
    return pa.schema([*columns, *schema.to_arrow()])


def read_mark(folder: Path) -> Mark:
    """Return how far a spool counts."""
    try:
        data = (folder / MARK_FILE).read_bytes()
    except FileNotFoundError:
        raise SpoolError(f"{folder} is no finished spool: start `rookery spool` on it again") from None
    return mark_of(data, folder)


def mark_of(data: bytes, folder: Path) -> Mark:
    """Return how far a spool counts by what its mark's file holds."""
    # A slot that is being written while we read looks torn; then the other one is the truth.
    mark = best_mark(data[:MARK_BYTES])
    if mark is None:
        raise SpoolError(f"{folder / MARK_FILE} is damaged: neither of its slots is whole")
    return mark


def segment_starts(folder: Path) -> list[int]:
    """Return the first offsets of the segments of a folder, in order."""
    return starts_among(path.name for path in folder.glob("*.frames"))


def starts_among(names: Iterable[str]) -> list[int]:
    """Return the first offsets of the segments among files, in order."""
    stems = (name.removesuffix(".frames") for name in names if name.endswith(".frames"))
    return sorted(int(stem) for stem in stems if stem.isdigit())


class Spool:
    """A spool to read from."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.description = Description.read(self.folder)
        self._stored = record_schema(self.description.schema, endings=self.description.endings)

    @property
    def schema(self) -> pa.Schema:
        """The columns of a record."""
        return pa.schema([OFFSET, *self._stored])

    @property
    def first(self) -> int:
        """The oldest offset that is still there."""
        starts = segment_starts(self.folder)
        return starts[0] if starts else self.end

    @property
    def end(self) -> int:
        """The offset after the newest record that counts."""
        return read_mark(self.folder).end

    def read(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Read the records from `first` up to `last`; raise if one of them is gone, not there yet, or damaged."""
        mark = read_mark(self.folder)
        if not 0 <= first <= last <= mark.end:
            raise SpoolError(f"{self.folder} has records up to {mark.end}: there is no range {first} to {last}")
        starts = [start for start in segment_starts(self.folder) if start <= mark.segment]
        if first < last and (not starts or first < starts[0]):
            raise SpoolError(
                f"the records {first} to {last - 1} of {self.folder} are not all there any more, because old ones are "
                f"deleted (--retain-bytes, --retain-hours): the oldest is {starts[0] if starts else mark.end}"
            )
        reached = first
        for start in starts[max(0, bisect_right(starts, first) - 1) :]:
            if start >= last:
                break
            for batch in self._read_segment(start, mark, first, last):
                reached += batch.num_rows
                yield batch
        if reached != last:
            raise SpoolError(f"{self.folder} has lost records from {reached} on: restore the segment that held them")

    def _read_segment(self, start: int, mark: Mark, first: int, last: int) -> Iterator[pa.RecordBatch]:
        path = self.folder / segment_name(start)
        try:
            with path.open("rb") as file:
                length = mark.size_bytes if start == mark.segment else 0
                mapped = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise SpoolError(f"{path} cannot be read: {error}") from error
        try:
            for frame in frames(memoryview(mapped), start=start):
                if frame.first >= last:
                    return
                if frame.last <= first or not frame.rows:
                    continue
                frame.verify()
                batch = _records(frame, self._stored)
                low = max(first - frame.first, 0)
                yield self._numbered(batch.slice(low, min(last, frame.last) - frame.first - low), frame.first + low)
        except SpoolError as error:
            raise SpoolError(f"{path}: {error}: restore the file, or read what lies before and behind it") from error

    def _numbered(self, batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        # From a buffer: the first `pa.array` of a process imports pandas.
        numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
        offsets = pa.Array.from_buffers(pa.int64(), batch.num_rows, [None, pa.py_buffer(numbers)])
        return pa.record_batch([offsets, *batch.columns], schema=self.schema)


def _records(frame: Frame, schema: pa.Schema) -> pa.RecordBatch:
    """Return the records of a frame; raise where they are not what the frame says, whoever wrote it.

    A checksum says that nothing has changed since, not that it was right: lengths and offsets inside are checked too.
    """
    try:
        batch = pa.ipc.read_record_batch(pa.py_buffer(frame.batch), schema)
        batch.validate(full=True)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise SpoolError(f"the frame at octet {frame.position} holds no records of this spool: {error}") from error
    if batch.num_rows != frame.rows:
        raise SpoolError(f"the frame at octet {frame.position} says {frame.rows} records and has {batch.num_rows}")
    return batch
