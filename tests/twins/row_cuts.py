"""What the kernels of `rookery.brokers.row_kernels` do together, in plain Python; `rows.py` says what a twin is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

__all__ = ["cut_rows"]


def cut_rows(columns: bytes, rows: Sequence[int], count: int) -> bytes | None:
    """Return the columns of some rows; None where they are no columns of so many values."""
    try:
        read: Any = msgspec.msgpack.decode(columns)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if not isinstance(read, dict) or not read:
        return None
    if not all(isinstance(column, list) and len(column) == count for column in read.values()):
        return None
    return msgspec.msgpack.encode({name: [column[row] for row in rows] for name, column in read.items()})
