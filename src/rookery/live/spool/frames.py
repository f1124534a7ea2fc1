"""What a spool is made of on disk: frames, and the mark that says how far they count.

A *frame* is one group of records that became durable together: a header, the last sequence number of each DDS writer
that the group moved on, and the records as one Arrow record batch, all under one checksum (XXH3, 64 bits). A *segment*
is a file of frames; its first frame holds no records but the numbers of all writers, so the newest segment alone says
where every writer stands. All parts begin at multiples of 64 bytes, so a batch can be used where it lies in the file.

The *mark* is the truth: a file with two slots that are written in turn, each with the end of what counts. A frame is
forced to the disk before the mark names it, and the mark is forced to the disk before anyone is told. Whatever lies
behind the mark was never seen by a reader and never acknowledged to a writer: it is cut off, and nothing has to be
guessed. If a crash tears one slot, the other is valid and older by one group that nobody was told of.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import xxhash

from rookery.errors import SpoolError

__all__ = [
    "ALIGNMENT",
    "MARK_BYTES",
    "Frame",
    "Mark",
    "best_mark",
    "encode_frame",
    "frames",
    "read_commit_time",
    "segment_name",
]

ALIGNMENT = 64
_FRAME = struct.Struct("<4sIQQQqQ16x")
_FRAME_MAGIC = b"RKF1"
_CHECKSUM_AT = 40
_MARK = struct.Struct("<4s4xQQQQQ16x")
_MARK_MAGIC = b"RKM1"
#: Two slots.
MARK_BYTES = 2 * _MARK.size


def segment_name(first: int) -> str:
    """Return the name of the segment that begins with an offset; names sort as the offsets do."""
    return f"{first:020d}.frames"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame where it lies: `whole` are all its bytes, `writers` and `batch` its two parts."""

    position: int
    first: int
    rows: int
    committed: int
    """When it was written, in microseconds since 1970."""
    whole: memoryview
    writers: memoryview
    batch: memoryview

    @property
    def last(self) -> int:
        """The offset after its last record."""
        return self.first + self.rows

    @property
    def end(self) -> int:
        """The position after it."""
        return self.position + len(self.whole)

    def verify(self) -> None:
        """Raise unless every octet is as it was written."""
        digest = xxhash.xxh3_64(self.whole[:_CHECKSUM_AT])
        digest.update(bytes(8))
        digest.update(self.whole[_CHECKSUM_AT + 8 :])
        if digest.intdigest() != int.from_bytes(self.whole[_CHECKSUM_AT : _CHECKSUM_AT + 8], "little"):
            raise SpoolError(f"the frame at octet {self.position} is damaged")

    def writer_numbers(self) -> dict[str, int]:
        """Return the last sequence number of each writer that the frame names."""
        return {str(guid): int(number) for guid, number in json.loads(bytes(self.writers)).items()}


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a spool counts: in the segment that begins with `segment`, so many bytes, up to the offset `end`."""

    turn: int
    segment: int
    size_bytes: int
    end: int

    @property
    def slot(self) -> int:
        """Where in the file this mark belongs: the slots take turns."""
        return self.turn % 2 * _MARK.size

    def encode(self) -> bytes:
        """Return the bytes of a slot."""
        return _MARK.pack(_MARK_MAGIC, *self._fields(), _checksum(_packed(*self._fields())))

    def _fields(self) -> tuple[int, int, int, int]:
        return self.turn, self.segment, self.size_bytes, self.end


def best_mark(data: bytes) -> Mark | None:
    """Return the newer of the two slots that are whole; None when neither is."""
    found: Mark | None = None
    for place in range(0, len(data) - _MARK.size + 1, _MARK.size):
        magic, turn, segment, size, end, checksum = _MARK.unpack_from(data, place)
        whole = magic == _MARK_MAGIC and checksum == _checksum(_packed(turn, segment, size, end))
        if whole and (found is None or turn > found.turn):
            found = Mark(turn, segment, size, end)
    return found


def encode_frame(*, first: int, rows: int, committed: int, writers: Mapping[str, int], batch: bytes) -> bytes:
    """Return the bytes of a frame."""
    names = json.dumps(writers, separators=(",", ":")).encode()
    body = _padded(names) + _padded(batch)
    header = _FRAME.pack(_FRAME_MAGIC, len(names), len(batch), first, rows, committed, 0)
    checksum = _checksum(header + body)
    return header[:_CHECKSUM_AT] + checksum.to_bytes(8, "little") + header[_CHECKSUM_AT + 8 :] + body


def frames(data: memoryview, *, start: int) -> Iterator[Frame]:
    """Walk the frames of a segment by their headers, up to the end of `data`; raise where they do not join.

    `start` is the segment's first offset. A frame that is passed over is not verified, but its offsets must follow.
    """
    position, offset = 0, start
    while position < len(data):
        if len(data) - position < _FRAME.size:
            raise SpoolError(f"the frame at octet {position} is cut short")
        magic, names, size, first, rows, committed, _ = _FRAME.unpack_from(data, position)
        body = position + _FRAME.size
        batch = body + _aligned(names)
        end = batch + _aligned(size)
        if magic != _FRAME_MAGIC or end > len(data) or first != offset:
            raise SpoolError(f"there is no frame of offset {offset} at octet {position}")
        writers, records = data[body : body + names], data[batch : batch + size]
        yield Frame(position, first, rows, committed, data[position:end], writers, records)
        position, offset = end, first + rows


def read_commit_time(header: bytes) -> int:
    """Return when a segment was begun, in microseconds since 1970, by its first bytes."""
    if len(header) < _FRAME.size or header[:4] != _FRAME_MAGIC:
        raise SpoolError("a segment that does not begin with a frame")
    return int(_FRAME.unpack_from(header)[5])


def _checksum(data: bytes) -> int:
    return int(xxhash.xxh3_64_intdigest(data))


def _packed(*fields: int) -> bytes:
    return struct.pack("<4Q", *fields)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _padded(data: bytes) -> bytes:
    return data + bytes(_aligned(len(data)) - len(data))
