"""Ids: which records have an id, by a table of hashes over the column of ids as it lies in memory.

An id is its bytes: a text's UTF-8, an integer's eight. The table holds four bytes for each place, at least twice as
many places as ids, and no Python object: a million ids are filed without one, and without the interpreter lock.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from rookery.matching.id_kernels import file_ids, find_id

__all__ = ["IdTable"]

Array = np.ndarray[Any, Any]
_POSITIVE = (1 << 62) - 1


class IdTable:
    """The ids of a column, those of some rows left out; never changed once made."""

    __slots__ = ("_data", "_seed", "_starts", "_table", "_width", "count")

    def __init__(self, column: pa.Array, kept: Array) -> None:
        """File the rows of a column of strings or int64s without nulls for which `kept` is set."""
        #: How many rows the column has.
        self.count = len(column)
        self._width = 0 if pa.types.is_string(column.type) else 8
        self._starts, self._data = np.zeros(1, np.int32), np.zeros(0, np.uint8)
        *_, data = column.buffers()
        if data is not None:
            self._data = np.frombuffer(data, np.uint8)
        if self._width:
            self._data = self._data[8 * column.offset :]
        elif self.count:
            self._starts = np.frombuffer(column.buffers()[1], np.int32)[column.offset :]
        self._seed = hash("ids") & _POSITIVE  # another in each process, so that nobody can choose ids of one place
        self._table = np.full(1 << max(1, (2 * self.count).bit_length()), -1, np.int32)
        file_ids(self._data, self._starts, self._width, kept[: self.count], self._seed, self._table)

    @property
    def nbytes(self) -> int:
        """The bytes beside the column itself."""
        return self._table.nbytes

    def find(self, subscription_id: str | int) -> list[int]:
        """Return the rows of an id, ascending."""
        if isinstance(subscription_id, int) != bool(self._width):
            return []
        try:
            if isinstance(subscription_id, int):
                sought = np.frombuffer(subscription_id.to_bytes(8, sys.byteorder, signed=True), np.uint8)
            else:
                sought = np.frombuffer(subscription_id.encode(), np.uint8)
        except (OverflowError, UnicodeEncodeError):
            return []  # no int64, or no Unicode: no set has such an id
        found = np.empty(4, np.int64)
        while True:
            count = find_id(self._data, self._starts, self._width, self._seed, self._table, sought, found)
            if count <= len(found):
                rows: list[int] = sorted(found[:count].tolist())
                return rows
            found = np.empty(count, np.int64)
