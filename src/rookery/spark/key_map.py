"""Where a value's rules and events meet in the plan *keys*: parts by a hash, and grids of the values that are hot.

A hot value's events are dealt out over the rows of its grid and its rules over the columns, by hashes of their ids, so
both meet in one part. Spark and Python compute the same hash, CRC-32 of the value as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from rookery.spark.range_sql import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rookery import CompiledSet

__all__ = ["HotKey", "KeyMap", "named_values", "parts_of"]


@dataclass(frozen=True, slots=True)
class HotKey:
    """A value with a grid of parts of its own, from part `first` on."""

    text: str
    first: int
    rows: int  # its events are dealt out over
    columns: int  # its rules are dealt out over

    @property
    def cells(self) -> int:
        """How many parts the grid has."""
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class KeyMap:
    """Which parts a value has: `plain` ones by a hash, and the grids of the hot values behind them."""

    column: str
    plain: int
    hot: tuple[HotKey, ...] = ()

    @property
    def parts(self) -> int:
        """How many parts there are in all."""
        return self.plain + sum(one.cells for one in self.hot)

    def of_rule(self, texts: Iterable[str], turn: int) -> set[int]:
        """Return the parts of a rule that names these values; `turn` deals rules out."""
        hot = {one.text: one for one in self.hot}
        found: set[int] = set()
        for text in texts:
            one = hot.get(text)
            found.update(_column(one, turn) if one is not None else (crc32(text.encode()) % self.plain,))
        return found

    def of_every(self, turn: int) -> set[int]:
        """Return the parts of a rule that names no value."""
        found = set(range(self.plain))
        for one in self.hot:
            found.update(_column(one, turn))
        return found

    def of_event(self, event_id: str) -> Column:
        """Return the expression of an event's parts, an array."""
        from pyspark.sql.functions import array, coalesce, col, crc32, lit, pmod, sequence, when

        text = col(quoted(self.column)).cast("string")
        plain = array(coalesce(pmod(crc32(text.cast("binary")), lit(self.plain)), lit(0)).cast("int"))
        found: Any = plain
        for one in self.hot:
            name = crc32(coalesce(col(quoted(event_id)).cast("string"), lit("")).cast("binary"))
            begin = lit(one.first) + pmod(name, lit(one.rows)).cast("int") * lit(one.columns)
            found = when(text == lit(one.text), sequence(begin, begin + lit(one.columns - 1))).otherwise(found)
        return found


def _column(one: HotKey, turn: int) -> range:
    return range(one.first + turn % one.columns, one.first + one.cells, one.columns)


def named_values(compiled: CompiledSet, column: str) -> list[list[str] | None]:
    """Return for each subscription the values of a column that it names, as Spark writes them; else None."""
    ranges = compiled.ranges()
    mine = next((one for one in ranges.ranges if one.attribute.path == (column,)), None)
    found: list[set[str] | None] = [set() for _ in range(len(compiled))]
    slots = ranges.slot.tolist()
    named = np.zeros(len(slots), np.bool_)
    if mine is not None:
        for row, low, high in zip(mine.row.tolist(), mine.lower, mine.upper, strict=True):  # NULL has no ends
            named[row] = True
            values = found[slots[row]]
            is_text = isinstance(low, tuple)
            if low is None or low != high or (is_text and low[1]):
                found[slots[row]] = None
            elif values is not None:
                values.add(str(low[0] if is_text else low))
    for row in np.flatnonzero(~named).tolist():
        found[slots[row]] = None
    return [None if one is None else sorted(one) for one in found]


def parts_of(compiled: CompiledSet, parts: KeyMap) -> Iterator[tuple[list[str] | None, set[int]]]:
    """Yield for each subscription the values that it names, and its parts."""
    ids = compiled.subscriptions["subscription_id"].to_pylist()
    for name, texts in zip(ids, named_values(compiled, parts.column), strict=True):
        turn = crc32(str(name).encode())
        yield texts, parts.of_every(turn) if texts is None else parts.of_rule(texts, turn)
