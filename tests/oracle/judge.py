"""DuckDB reads a raw Arrow table and says which events satisfy which expressions.

What DuckDB does otherwise than the specification is put right here, once, in one table made from the raw columns:
NaN is NULL; whole numbers are HUGEINT; instants are HUGEINT nanoseconds, a time without a zone being UTC and a date its
midnight. What it cannot read is cast by Arrow: float16, decimal256, instants past its calendar, and dictionaries inside
of lists and structs, whose entries it mixes up where the column is a slice. Decimals of more than 38 digits are
compared as texts, and decimals of unlike scales by the ranks of their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .kinds import UNITS, Kind
from .literals import Leaf, wide_text

__all__ = ["Judge"]

#: Conditions in one query: more of them take DuckDB longer to plan than to run.
_AT_ONCE = 80
#: Instants that DuckDB's microseconds hold with room to spare.
_CALENDAR = 1 << 61
_DIGITS = Context(prec=80)


class Judge:
    """One batch of events in DuckDB; `topic` and `time` name raw columns, `ranked` the leaves compared by rank."""

    def __init__(
        self, table: pa.Table, leaves: Sequence[Leaf], *, topic: str | None, time: str | None, ranked: set[int]
    ) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1; SET TimeZone = 'UTC'")
        self.rows = table.num_rows
        self._columns: dict[str, pa.ChunkedArray] = {"row": pa.chunked_array([np.arange(self.rows)])}
        self._numbers = {name: f"c{place}" for place, name in enumerate(table.column_names)}
        expressions = ["row", *(f"{self._leaf(table, leaf)} AS {leaf.sql}" for leaf in leaves)]
        if topic is not None:
            expressions.append(f"{self._raw(table, topic)}::VARCHAR AS topic")
        if time is not None:
            expressions.append(f"{self._instant(table, time)} AS time")
        self.connection.register("raw", pa.table(self._columns))
        self.connection.execute(f"CREATE TABLE events AS SELECT {', '.join(expressions)} FROM raw")
        self.connection.unregister("raw")
        if ranked:
            self._rank([leaf for leaf in leaves if leaf.number in ranked])

    def close(self) -> None:
        self.connection.close()

    def satisfied(self, expressions: Sequence[str]) -> list[np.ndarray[Any, Any]]:
        """Return for each expression the rows of which it is TRUE."""
        found = []
        for first in range(0, len(expressions), _AT_ONCE):
            some = expressions[first : first + _AT_ONCE]
            columns = ", ".join(f"{one} AS e{place}" for place, one in enumerate(some))
            verdicts = self.connection.sql(f"SELECT row, {columns} FROM events").to_arrow_table().combine_chunks()
            rows = verdicts["row"].to_numpy()
            for column in verdicts.columns[1:]:
                true = pc.fill_null(column.combine_chunks(), False).to_numpy(zero_copy_only=False)
                found.append(np.sort(rows[true]))
        return found

    def _raw(self, table: pa.Table, name: str) -> str:
        number = self._numbers[name]
        if number not in self._columns:
            column = table[name]
            if pa.types.is_nested(column.type) and not pa.types.is_run_end_encoded(column.type):
                plain = _without_dictionaries(column.type)
                if plain != column.type:
                    column = pa.chunked_array([pa.array(column.to_pylist(), plain)])
            self._columns[number] = column
        return number

    def _leaf(self, table: pa.Table, leaf: Leaf) -> str:
        return f"({self._value(table, leaf)})::{_type(leaf.kind)}"

    def _value(self, table: pa.Table, leaf: Leaf) -> str:
        name, *steps = leaf.path
        if name not in self._numbers:
            return "NULL"
        kind, arrow = leaf.kind, _plain(table[name].type)
        if kind.family == "timestamp" and not steps:
            return _whole_units(kind, self._instant(table, name))
        if kind.wide:
            self._columns[f"w{leaf.number}"] = _wide(table[name], kind)
            return f"w{leaf.number}"
        if pa.types.is_float16(arrow):
            self._columns[self._numbers[name]] = _decoded(table[name]).cast(pa.float32())
        elif pa.types.is_decimal256(arrow):
            self._columns[self._numbers[name]] = _narrowed(table[name], kind)
        raw = self._raw(table, name)
        for step in steps:
            if pa.types.is_null(arrow):
                break
            if isinstance(step, str):
                raw, arrow = f"struct_extract({raw}, '{step}')", _plain(arrow.field(step).type)
            elif pa.types.is_fixed_size_list(arrow) and step >= arrow.list_size:
                return "NULL"
            else:
                raw, arrow = f"{raw}[{step + 1}]", _plain(arrow.value_type)
        if pa.types.is_null(arrow):
            return "NULL"
        return _fitting(kind, raw, arrow)

    def _instant(self, table: pa.Table, name: str) -> str:
        """Return a top-level column as nanoseconds."""
        arrow = _plain(table[name].type)
        if pa.types.is_null(arrow):
            return "NULL"
        if pa.types.is_timestamp(arrow):
            whole = _decoded(table[name]).cast(pa.int64())
            parts = [whole]
            if pa.types.is_dictionary(table[name].type):  # entries that no event has are read too
                parts += [chunk.dictionary.cast(pa.int64()) for chunk in table[name].chunks]
            ends = [end for part in parts for end in pc.min_max(part).as_py().values() if end is not None]
            if arrow.unit != "ns" and any(abs(end) * UNITS[arrow.unit] >= _CALENDAR * 1000 for end in ends):
                self._columns[f"t_{self._numbers[name]}"] = whole
                return f"(t_{self._numbers[name]}::HUGEINT * {UNITS[arrow.unit]})"
        return _nanoseconds(self._raw(table, name), arrow)

    def _rank(self, leaves: list[Leaf]) -> None:
        """Add the ranks of some leaves among the values of all of them."""
        columns = ", ".join(leaf.sql for leaf in leaves)
        rows = self.connection.execute(f"SELECT row, {columns} FROM events ORDER BY row").fetchall()
        exact = [[_exact(leaf, row[place]) for row in rows] for place, leaf in enumerate(leaves, 1)]
        ordered = sorted({value for values in exact for value in values if value is not None})
        rank = {value: place for place, value in enumerate(ordered)}
        ranks = {"place": np.arange(self.rows)}
        for leaf, values in zip(leaves, exact, strict=True):
            ranks[f"r{leaf.number}"] = pa.array([None if one is None else rank[one] for one in values], pa.int64())
        self.connection.register("ranks", pa.table(ranks))
        self.connection.execute(
            "CREATE TABLE ranked AS SELECT events.*, ranks.* EXCLUDE (place) FROM events JOIN ranks ON row = place;"
            "DROP TABLE events; ALTER TABLE ranked RENAME TO events"
        )
        self.connection.unregister("ranks")


def _exact(leaf: Leaf, value: Any) -> Any:
    if value is None:
        return None
    if leaf.kind.wide:
        return Fraction(int(value) - int(wide_text(0)), 10**leaf.kind.scale)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return Fraction(10) ** 400 * (1 if value > 0 else -1)
    return Fraction(value)


def _type(kind: Kind) -> str:
    if kind.family == "decimal" and not kind.wide:
        return f"DECIMAL(38,{kind.scale})"
    return {"integer": "HUGEINT", "timestamp": "HUGEINT", "float": "DOUBLE", "boolean": "BOOLEAN"}.get(
        kind.family, "VARCHAR"
    )


def _plain(arrow: pa.DataType) -> pa.DataType:
    encoded = pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow)
    return arrow.value_type if encoded else arrow


def _without_dictionaries(arrow: pa.DataType) -> pa.DataType:
    """Return a nested type with plain leaves: DuckDB mixes up the entries of dictionaries inside of sliced lists."""
    types = pa.types
    if types.is_struct(arrow):
        return pa.struct([(one.name, _without_dictionaries(one.type)) for one in arrow])
    if types.is_fixed_size_list(arrow):
        return pa.list_(_without_dictionaries(arrow.value_type), arrow.list_size)
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_list_view(arrow):
        return pa.list_(_without_dictionaries(arrow.value_type))
    return _plain(arrow)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_run_end_encoded(column.type):
        return pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _fitting(kind: Kind, raw: str, arrow: pa.DataType) -> str:
    """Return a raw value as a kind's, NULL for NaN and what does not fit exactly (a float64 is rounded to float32)."""
    types = pa.types
    match kind.family:
        case "integer":
            whole = f"{raw}::HUGEINT"
            if types.is_floating(arrow):
                whole = f"CASE WHEN isfinite({raw}) AND abs({raw}) < 1e30 AND floor({raw}) = {raw} THEN {whole} END"
            elif types.is_decimal(arrow):
                whole = f"CASE WHEN floor({raw}) = {raw} THEN {whole} END"
            return f"CASE WHEN ({whole}) BETWEEN ({kind.low})::HUGEINT AND ({kind.high})::HUGEINT THEN ({whole}) END"
        case "float":
            size = "FLOAT" if kind.bits == 32 else "DOUBLE"
            real = f"TRY_CAST({raw} AS {size})::DOUBLE"
            if types.is_integer(arrow):
                return f"CASE WHEN TRY_CAST({real} AS HUGEINT) = {raw}::HUGEINT THEN {real} END"
            return f"CASE WHEN isnan({raw}::DOUBLE) THEN NULL ELSE {real} END"
        case "decimal":
            scale = max(kind.scale, arrow.scale if types.is_decimal(arrow) else 0)
            near = f"TRY_CAST({raw} AS DECIMAL(38,{kind.scale}))"
            ends = [Decimal((end < 0, tuple(map(int, str(abs(end)))), -kind.scale)) for end in (kind.low, kind.high)]
            low, high = (f"CAST('{end:f}' AS DECIMAL(38,{kind.scale}))" for end in ends)
            same = f"TRY_CAST({near} AS DECIMAL(38,{scale})) = TRY_CAST({raw} AS DECIMAL(38,{scale}))"
            return f"CASE WHEN {same} AND {near} BETWEEN {low} AND {high} THEN {near} END"
        case "timestamp":
            return _whole_units(kind, _nanoseconds(raw, arrow))
    return raw


def _whole_units(kind: Kind, nanoseconds: str) -> str:
    unit = UNITS[kind.unit]
    within = f"{nanoseconds} // {unit} BETWEEN (-9223372036854775808)::HUGEINT AND 9223372036854775807::HUGEINT"
    return f"CASE WHEN {nanoseconds} % {unit} = 0 AND {within} THEN {nanoseconds} END"


def _nanoseconds(raw: str, arrow: pa.DataType) -> str:
    if pa.types.is_string(arrow):
        return f"(epoch_us({raw}::TIMESTAMPTZ)::HUGEINT * 1000)"
    if pa.types.is_timestamp(arrow) and arrow.unit == "ns":
        return f"epoch_ns({raw})::HUGEINT"
    if pa.types.is_timestamp(arrow) and arrow.tz is not None:
        return f"(epoch_us({raw})::HUGEINT * 1000)"
    return f"(epoch_us({raw}::TIMESTAMP)::HUGEINT * 1000)"


def _steps(value: Any, kind: Kind) -> int | None:
    """Return how many of a decimal kind's smallest steps a value is, None where it is none of its values."""
    if value is None:
        return None
    steps = Fraction(value) * 10**kind.scale
    return int(steps) if steps.denominator == 1 and abs(steps) <= kind.high else None


def _wide(column: pa.ChunkedArray, kind: Kind) -> pa.ChunkedArray:
    steps = [_steps(value, kind) for value in column.to_pylist()]
    return pa.chunked_array([[None if one is None else wide_text(one) for one in steps]], pa.string())


def _narrowed(column: pa.ChunkedArray, kind: Kind) -> pa.ChunkedArray:
    steps = [_steps(value, kind) for value in column.to_pylist()]
    values = [None if one is None else Decimal(one).scaleb(-kind.scale, _DIGITS) for one in steps]
    return pa.chunked_array([pa.array(values, pa.decimal128(38, kind.scale))])
