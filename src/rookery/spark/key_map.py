"""Where a value's rules and events meet in the plan *keys*: parts by a hash, and grids of the values that are hot.

A hot value's events are dealt out over the rows of its grid and its rules over the columns, by hashes of their ids, so
both meet in one part. Spark and Python compute the same hash, CRC-32 of the value as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from rookery.spark.range_sql import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

    from rookery import CompiledSet

__all__ = ["HotKey", "KeyMap", "Named", "parts_of"]

Array = np.ndarray[Any, Any]


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


class Named(NamedTuple):
    """The values of a column that the subscriptions of a set name, as Spark writes them."""

    every: Array  # of each slot, whether it names none: it may want events of any value
    slot: Array  # with `place`, each value that a slot names, once, by slot
    place: Array
    values: list[str]

    @classmethod
    def of(cls, compiled: CompiledSet, column: str) -> Named:
        """Return the values that a set names."""
        every, slot, place, keys = compiled.single_values((column,))
        return cls(every, slot, place, [str(key) for key in keys])

    def counts(self) -> dict[str, int]:
        """Return how many subscriptions name each value."""
        told = np.bincount(self.place, minlength=len(self.values)).tolist()
        return dict(zip(self.values, told, strict=True))


def parts_of(compiled: CompiledSet, parts: KeyMap, named: Named) -> tuple[Array, Array]:
    """Return the subscriptions of each part, as parts and slots in their order."""
    ids = compiled.subscriptions["subscription_id"]
    found: list[tuple[Array, Array]] = []
    plain = np.array([crc32(text.encode()) % parts.plain for text in named.values], np.int64)
    is_hot = np.zeros(len(named.values), np.bool_)
    number = {text: place for place, text in enumerate(named.values)}
    anywhere = np.flatnonzero(named.every)
    for one in parts.hot:
        place = number.get(one.text)
        mine = anywhere
        if place is not None:
            is_hot[place] = True
            mine = np.concatenate([anywhere, named.slot[named.place == place]])
        texts = ids.take(pa.array(mine)).to_pylist()
        turns = np.array([crc32(str(text).encode()) % one.columns for text in texts], np.int64)
        cells = one.first + turns[:, None] + np.arange(one.rows) * one.columns
        found.append((cells.ravel(), np.repeat(mine, one.rows)))
    cold = ~is_hot[named.place]
    found.append((plain[named.place[cold]], named.slot[cold]))
    found.append((np.tile(np.arange(parts.plain), len(anywhere)), np.repeat(anywhere, parts.plain)))
    count = max(1, len(compiled))
    both = np.unique(np.concatenate([part * count + slot for part, slot in found]))
    return both // count, both % count
