"""Is an Arrow buffer plain, that is, what it holds no larger than itself?

Arrow unpacks compressed buffers as it reads them, and two kilobytes can say to hold fifty megabytes or a terabyte. A
compiled set is never compressed, since it is mapped; so one that is, or that has dictionaries, is refused before Arrow
reads it. The few fields that tell are read from the messages' own tables (FlatBuffers: a table begins with the distance
back to its list of fields, and that list gives where each field is, zero for absent).
"""

from __future__ import annotations

import struct

import pyarrow as pa

__all__ = ["require_plain_file", "require_plain_stream"]

_MAGIC = b"ARROW1"
#: Places of fields, by Arrow's Message.fbs and File.fbs.
_MESSAGE_KIND, _MESSAGE_HEADER, _BATCH_COMPRESSION, _FOOTER_DICTIONARIES, _FOOTER_BATCHES = 1, 2, 3, 2, 3
_SCHEMA, _RECORD_BATCH = 1, 3


def require_plain_stream(buffer: pa.Buffer) -> None:
    """Raise ValueError unless a stream is a schema and batches without compression."""
    for message in pa.ipc.MessageReader.open_stream(buffer):
        _require_plain(bytes(message.metadata))


def require_plain_file(buffer: pa.Buffer) -> None:
    """Raise ValueError unless a file is a schema and batches without compression."""
    end = buffer.size - len(_MAGIC)
    try:
        if end < 16 or buffer.slice(end).to_pybytes() != _MAGIC:
            raise ValueError("it does not end as an Arrow file")
        (size,) = struct.unpack("<i", buffer.slice(end - 4, 4).to_pybytes())
        if not 0 < size <= end - 4:
            raise ValueError("its footer is outside")
        footer = buffer.slice(end - 4 - size, size).to_pybytes()
        root = _follow(footer, 0)
        if _items(footer, _field(footer, root, _FOOTER_DICTIONARIES)):
            raise ValueError("it has dictionaries")
        batches = _field(footer, root, _FOOTER_BATCHES)
        for place in range(_items(footer, batches)):
            at, length = struct.unpack_from("<qi", footer, _follow(footer, batches) + 4 + 24 * place)
            if not 0 <= at <= at + length <= end or length < 8:
                raise ValueError("a batch is outside")
            _require_plain(buffer.slice(at + 8, length - 8).to_pybytes())  # after the mark and the length
    except struct.error as error:
        raise ValueError(f"it is cut short: {error}") from None


def _require_plain(message: bytes) -> None:
    try:
        root = _follow(message, 0)
        kind = _field(message, root, _MESSAGE_KIND)
        if not kind or message[kind] not in (_SCHEMA, _RECORD_BATCH):
            raise ValueError("it holds other than batches")
        header = _field(message, root, _MESSAGE_HEADER)
        if message[kind] == _RECORD_BATCH and _field(message, _follow(message, header), _BATCH_COMPRESSION):
            raise ValueError("it is compressed")
    except (struct.error, IndexError) as error:
        raise ValueError(f"it is cut short: {error}") from None


def _follow(data: bytes, at: int) -> int:
    """Return where the offset at a place leads."""
    (distance,) = struct.unpack_from("<I", data, at)
    return at + int(distance)


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a table is, 0 where it is absent."""
    (back,) = struct.unpack_from("<i", data, table)
    fields = table - int(back)
    if fields < 0:
        raise ValueError("a table's fields are outside")
    (size,) = struct.unpack_from("<H", data, fields)
    entry = 4 + 2 * number
    distance = struct.unpack_from("<H", data, fields + entry)[0] if entry < size else 0
    return table + int(distance) if distance else 0


def _items(data: bytes, field: int) -> int:
    """Return the length of the list that a field leads to."""
    return int(struct.unpack_from("<I", data, _follow(data, field))[0]) if field else 0
