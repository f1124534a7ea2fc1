"""Named arrays and a header as one buffer: the wire form of a compiled set.

The buffer is an Arrow IPC file with one row per array (name, type, shape, bytes) and the header, as JSON, in the
schema's metadata. Reading it makes views: nothing is copied. Whoever can read Arrow can look into it.

Rule: a buffer is foreign until proved ours. What is truncated, of another format or not made of plain integers is a
CompiledSetError; where its offsets lead is for the caller to check (`checks.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from rookery.errors import CompiledSetError, RookeryError
from rookery.matching.plain_ipc import require_plain_file

__all__ = ["FORMAT_VERSION", "UNREADABLE", "content_hash_of", "pack", "unpack"]

Array = np.ndarray[Any, Any]

FORMAT_VERSION = 4
_KEY = b"rookery"
_SCHEMA = pa.schema(
    [("name", pa.string()), ("type", pa.string()), ("shape", pa.list_(pa.int64())), ("data", pa.large_binary())]
)
_ALIGNMENT, _WORD = 64, 8
#: The types that an array may have; nothing else is handed to NumPy.
_TYPES = frozenset(np.dtype(kind).str for kind in (np.int64, np.int32, np.uint16, np.uint64, np.uint8))
#: What a damaged buffer makes Arrow, JSON and NumPy say; all of it is one answer to the caller.
UNREADABLE = (
    pa.ArrowException,
    RookeryError,
    OSError,
    LookupError,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    MemoryError,
)


def content_hash_of(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return a hash of the header and of every array: name, type, shape and bytes."""
    plain = {key: value for key, value in header.items() if key != "hash"}
    digest = xxhash.xxh3_128(json.dumps(plain, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
        if array.size:
            digest.update(np.ascontiguousarray(array).data.cast("B"))
    return digest.hexdigest()


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> pa.Buffer:
    """Return a header and named arrays as one buffer."""
    buffer = _write(header, arrays, 0)
    # Lines of 512 bits are read fastest where they do not straddle: pad once so that the data begins on a line.
    offset = _data_offset(buffer)
    return _write(header, arrays, -offset % _ALIGNMENT) if offset % _ALIGNMENT else buffer


def _write(header: Mapping[str, Any], arrays: Mapping[str, Array], pad: int) -> pa.Buffer:
    names = ["pad", *arrays]
    values = [np.zeros(pad, np.uint8), *arrays.values()]
    offsets, pieces, at = [0], [], 0
    for value in values:
        data = np.ascontiguousarray(value).view(np.uint8).reshape(-1) if value.size else np.empty(0, np.uint8)
        pieces.append(data)
        filler = -len(data) % _ALIGNMENT if len(offsets) > 1 else 0
        if filler:
            pieces.append(np.zeros(filler, np.uint8))
        at += len(data) + filler
        offsets.append(at)
    data = np.concatenate(pieces)
    column = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(values), [None, pa.py_buffer(np.array(offsets, np.int64)), pa.py_buffer(data)]
    )
    batch = pa.record_batch(
        [
            pa.array(names),
            pa.array([value.dtype.str for value in values]),
            pa.array([list(value.shape) for value in values], pa.list_(pa.int64())),
            column,
        ],
        schema=_SCHEMA.with_metadata({_KEY: json.dumps(header)}),
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _data_offset(buffer: pa.Buffer) -> int:
    data = pa.ipc.open_file(buffer).get_batch(0).column("data").buffers()[2]
    return int(data.address - buffer.address)


def unpack(buffer: pa.Buffer) -> tuple[dict[str, Any], dict[str, Array]]:
    """Undo `pack` without copying: views into the buffer. CompiledSetError says what is wrong with it."""
    if buffer.address % _WORD:
        buffer = pa.py_buffer(buffer.to_pybytes())  # a part of a longer message; kernels read whole words
    try:
        require_plain_file(buffer)
        reader = pa.ipc.open_file(buffer)
        header = json.loads((reader.schema.metadata or {})[_KEY])
        if not isinstance(header, dict):
            raise TypeError("the header is no object")
    except UNREADABLE as error:
        raise CompiledSetError(f"not a compiled set, or a truncated one: {error}") from None
    if header.get("format") != FORMAT_VERSION:
        raise CompiledSetError(
            f"the compiled set has format {header.get('format')}, this Rookery reads {FORMAT_VERSION}: compile it again"
        )
    try:
        if reader.num_record_batches != 1 or not reader.schema.equals(_SCHEMA):
            raise TypeError("the columns are not those of a compiled set")
        batch = reader.get_batch(0)
        batch.validate(full=True)
        names, kinds = batch.column("name").to_pylist(), batch.column("type").to_pylist()
        shapes, data = batch.column("shape").to_pylist(), batch.column("data")
        arrays: dict[str, Array] = {}
        for place, (name, kind, shape) in enumerate(zip(names, kinds, shapes, strict=True)):
            if name in arrays:
                raise ValueError(f"the array {name} stands twice")
            if name != "pad":
                arrays[name] = _array(data[place].as_buffer(), kind, shape)
    except UNREADABLE as error:
        raise CompiledSetError(f"the compiled set is damaged: {error}") from None
    return header, arrays


def _array(buffer: pa.Buffer, kind: str, shape: list[int]) -> Array:
    if kind not in _TYPES or any(not isinstance(size, int) or size < 0 for size in shape):
        raise ValueError(f"an array of type {kind} and shape {shape}")
    dtype = np.dtype(kind)
    count = 1
    for size in shape:
        count *= size
    if count * dtype.itemsize > buffer.size:
        raise ValueError(f"an array of {count} items has only {buffer.size} bytes")
    array = np.frombuffer(buffer, dtype, count).reshape(shape)
    if not array.flags.aligned:
        raise ValueError("an array does not begin on a word")
    return array
