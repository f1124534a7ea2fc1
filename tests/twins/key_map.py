"""The values that rules name and the parts that they are sent to, rule by rule; `rows.py` says what a twin is."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import numpy as np

from rookery import CompiledSet
from rookery.spark.key_map import HotKey, KeyMap

__all__ = ["named_values", "parts_of_every", "parts_of_rule", "rule_parts"]


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


def _column(one: HotKey, turn: int) -> range:
    return range(one.first + turn % one.columns, one.first + one.cells, one.columns)


def parts_of_rule(parts: KeyMap, texts: list[str], turn: int) -> set[int]:
    """Return the parts of a rule that names these values; `turn` deals rules out."""
    hot = {one.text: one for one in parts.hot}
    found: set[int] = set()
    for text in texts:
        one = hot.get(text)
        found.update(_column(one, turn) if one is not None else (crc32(text.encode()) % parts.plain,))
    return found


def parts_of_every(parts: KeyMap, turn: int) -> set[int]:
    """Return the parts of a rule that names no value."""
    found = set(range(parts.plain))
    for one in parts.hot:
        found.update(_column(one, turn))
    return found


def rule_parts(compiled: CompiledSet, parts: KeyMap) -> Iterator[tuple[list[str] | None, set[int]]]:
    """Yield for each subscription the values that it names, and its parts."""
    ids = compiled.subscriptions["subscription_id"].to_pylist()
    for name, texts in zip(ids, named_values(compiled, parts.column), strict=True):
        turn = crc32(str(name).encode())
        yield texts, parts_of_every(parts, turn) if texts is None else parts_of_rule(parts, texts, turn)
