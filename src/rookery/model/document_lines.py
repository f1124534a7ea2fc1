"""Documents in lines of JSON as columns: what `documents.py` says of them, by kernels that read the bytes.

Rule 1: the columns are those that `laid_out(documents_of(lines), schema)` gives, and the same errors are raised; of a
document with arrays that are chosen from, the rows may come in another order, and two may be equal.
Rule 2: a document of which the kernels do not decide (`document_kernels.py`) is read by the twin, in its place.
Rule 3: only the bytes of wanted values are looked at again; a column that no document of the lines has is all NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from rookery.model.arrow_types import type_to_arrow
from rookery.model.choices import ABSENT, LEAF, TEXT, VALUE, asked_paths
from rookery.model.document_column_kernels import (
    ANY_TEXT,
    EVERYTHING,
    LEAF_KIND,
    ONLY_TEXT,
    entries_by_slot,
    number_columns,
    text_columns,
)
from rookery.model.document_kernels import read_documents
from rookery.model.document_paths import path_table
from rookery.model.documents import EVERY_VALUE, document_of, fitting, laid_out, other_field, text_of
from rookery.model.json_kernels import FALSE, NESTED, NUMBER, TRUE
from rookery.model.json_kernels import TEXT as TEXT_KIND
from rookery.model.schema import Schema
from rookery.model.types import BooleanType, StructType, Type

__all__ = ["DocumentLines"]

#: Bytes of lines that are read at once: offsets are of 32 bits.
_MOST_BYTES = 1 << 30
#: Fewer lines than this are read sooner by the twin, which makes no arrays of its own for each.
_FEW = 4
_CONSTANTS = (b"text", b"number", b"true", b"false", b"null")
_POWERS = np.array([float(10**power) for power in range(23)])


class DocumentLines:
    """What reads documents in the columns of one schema; made once, called for each batch of lines."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._asked = asked_paths(schema)
        #: Columns by how they are made: of each the slot, and how.
        self._texts: dict[str, tuple[int, int]] = {}
        self._numbers: dict[str, tuple[int, bool]] = {}
        self._truths: dict[str, int] = {}
        self._absent: dict[str, int] = {}
        self._others: dict[str, tuple[int, Type]] = {}
        self._arrow = {name: type_to_arrow(kind) for name, kind in schema.types.items()}
        chosen = {path + suffix: (path, suffix) for path, suffixes in self._asked.items() for suffix in suffixes}
        plain = {name: other_field(name) for name in schema if name not in chosen and name != EVERY_VALUE}
        table = None
        if not any(isinstance(kind, StructType) for kind in schema.types.values()):
            table = path_table(plain.values(), self._asked, everything=EVERY_VALUE in schema)
        self._table = table
        if table is None:
            return
        for name, kind in schema.types.items():
            if name == EVERY_VALUE:
                self._texts[name] = table.slots - 1, EVERYTHING
            elif name in chosen:
                path, suffix = chosen[name]
                self._choose(name, suffix, table.chosen[path])
            else:
                self._plain(name, kind, table.plain[plain[name]])

    def _choose(self, name: str, suffix: str, slot: int) -> None:
        if suffix == VALUE:
            self._numbers[name] = slot, False
        elif suffix == ABSENT:
            self._absent[name] = slot
        else:
            self._texts[name] = slot, {TEXT: ONLY_TEXT, LEAF: LEAF_KIND}[suffix]

    def _plain(self, name: str, kind: Type, slot: int) -> None:
        if self._arrow[name] == pa.string():
            self._texts[name] = slot, ANY_TEXT
        elif self._arrow[name] == pa.float64():
            self._numbers[name] = slot, True
        elif isinstance(kind, BooleanType):
            self._truths[name] = slot
        else:
            self._others[name] = slot, kind

    def __call__(self, lines: Sequence[bytes]) -> tuple[pa.Table, list[int] | None]:
        """Return the documents of lines as a table, and the document of each row where one may have several."""
        lengths = np.fromiter(map(len, lines), np.int64, len(lines))
        if self._table is None or len(lines) < _FEW or int(lengths.sum()) > _MOST_BYTES:
            return self._by_twin(lines)
        data = b"".join((*lines, *_CONSTANTS))
        stops = np.cumsum(lengths)
        starts = stops - lengths
        if not data.isascii():
            _leave_out(lines, starts, stops)
        entries, counts = read_documents(
            np.frombuffer(data, np.uint8), starts, stops, self._table.table, self._table.slots
        )
        origins = np.repeat(np.arange(len(lines)), counts)
        table = self._columns(data, entries, origins)
        left = np.flatnonzero(counts == 0)
        if len(left):
            table, origins = self._with_left(lines, table, origins, left)
        return table, origins.tolist() if self._asked else None

    def _by_twin(self, lines: Sequence[bytes]) -> tuple[pa.Table, list[int] | None]:
        found = (document_of(line, number) for number, line in enumerate(lines, 1))
        return laid_out([one for one in found if one is not None], self.schema)

    def _with_left(
        self, lines: Sequence[bytes], table: pa.Table, origins: np.ndarray[Any, Any], left: np.ndarray[Any, Any]
    ) -> tuple[pa.Table, np.ndarray[Any, Any]]:
        """Return a table with the documents that the twin reads, in their places; blank lines are none."""
        read = [(number, document_of(lines[number], number + 1)) for number in left.tolist()]
        documents = {number: one for number, one in read if one is not None}
        more, rows = laid_out(list(documents.values()), self.schema)
        places = np.array(list(documents), np.int64)
        every = np.concatenate((origins, places if rows is None else places[rows]))
        order = np.argsort(every, kind="stable")
        blank = np.array([number for number, one in read if one is None], np.int64)
        every = every[order] - np.searchsorted(blank, every[order])
        return pa.concat_tables([table, more]).take(pa.array(order)).combine_chunks(), every

    def _columns(self, data: bytes, entries: np.ndarray[Any, Any], origins: np.ndarray[Any, Any]) -> pa.Table:
        assert self._table is not None
        rows = len(origins)
        entries, first = entries_by_slot(entries, self._table.slots)
        here = np.diff(first) > 0
        made: dict[str, pa.Array] = {}
        self._make_numbers(made, data, entries, first, here, rows)
        for name, slot in self._truths.items():
            values, missing = np.zeros(rows, bool), np.ones(rows, bool)
            own = entries[first[slot] : first[slot + 1]]
            values[own[own[:, 2] == TRUE, 0]] = True
            missing[own[(own[:, 2] == TRUE) | (own[:, 2] == FALSE), 0]] = False
            made[name] = pa.array(values, mask=missing)
        for name, slot in self._absent.items():
            present = np.zeros(int(origins[-1]) + 1 if rows else 0, bool)
            present[origins[entries[first[slot] : first[slot + 1], 0]]] = True
            made[name] = pa.array(np.ones(rows, bool), mask=present[origins])
        for name, (slot, kind) in self._others.items():
            held: list[Any] = [None] * rows
            for row, _, how, start, stop in entries[first[slot] : first[slot + 1], :5].tolist():
                held[row] = fitting(_value(data, how, start, stop), kind)
            made[name] = pa.array(held, self._arrow[name])
        self._make_texts(made, data, entries, first, here, rows)
        nothing: dict[Any, pa.Array] = {}
        for kind in self._arrow.values():
            if kind not in nothing:
                nothing[kind] = pa.nulls(rows, kind)
        return pa.table([made.get(name, nothing[kind]) for name, kind in self._arrow.items()], names=list(self._arrow))

    def _make_numbers(
        self, made: dict[str, pa.Array], data: bytes, entries: Any, first: Any, here: Any, rows: int
    ) -> None:
        wanted = {name: one for name, one in self._numbers.items() if here[one[0]]}
        if not wanted:
            return
        asked = np.array(list(wanted.values()), np.int64)
        values, valid, left = number_columns(np.frombuffer(data, np.uint8), entries, first, asked, _POWERS, rows)
        for column, place in left.tolist():
            row, _, kind, start, stop = entries[place, :5].tolist()
            value = fitting(_value(data, kind, start, stop), self.schema.types[list(wanted)[column]])
            if value is not None:
                values[column, row], valid[column, row] = value, True
        for column, name in enumerate(wanted):
            made[name] = pa.array(values[column], mask=~valid[column])

    def _make_texts(
        self, made: dict[str, pa.Array], data: bytes, entries: Any, first: Any, here: Any, rows: int
    ) -> None:
        wanted = {name: one for name, one in self._texts.items() if here[one[0]] or one[1] == EVERYTHING}
        if not wanted:
            return
        asked = np.array(list(wanted.values()), np.int64)
        base = len(data) - sum(map(len, _CONSTANTS))
        constants = base + np.cumsum([0, *map(len, _CONSTANTS)])
        rendered: list[bytes] = []
        behind = len(data)
        odd = (entries[:, 2] == NUMBER) | (entries[:, 2] == NESTED)
        odd &= np.isin(entries[:, 1], asked[(asked[:, 1] == ANY_TEXT) | (asked[:, 1] == EVERYTHING), 0])
        for place in np.flatnonzero(odd).tolist():
            start, stop = entries[place, 3:5].tolist()
            rendered.append(text_of(msgspec.json.decode(data[start:stop])).encode())
            entries[place, 2:5] = TEXT_KIND, behind, behind + len(rendered[-1])
            behind += len(rendered[-1])
        if rendered:
            data = b"".join((data, *rendered))
        offsets, texts, valid = text_columns(np.frombuffer(data, np.uint8), entries, first, asked, constants, rows)
        body = pa.py_buffer(texts)
        for column, name in enumerate(wanted):
            begin, end = offsets[column, 0], offsets[column, -1]
            own = [pa.py_buffer(valid[column]), pa.py_buffer(offsets[column] - begin), body.slice(begin, end - begin)]
            made[name] = pa.Array.from_buffers(pa.string(), rows, own)


def _leave_out(lines: Sequence[bytes], starts: np.ndarray[Any, Any], stops: np.ndarray[Any, Any]) -> None:
    """Leave lines that are no UTF-8 to the twin, which says so."""
    for number, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError:
            stops[number] = starts[number]


def _value(data: bytes, kind: int, start: int, stop: int) -> Any:
    """Return the value of an entry as `msgspec` reads it."""
    quote = 1 if kind <= 1 else 0
    return msgspec.json.decode(data[start - quote : stop + quote])
