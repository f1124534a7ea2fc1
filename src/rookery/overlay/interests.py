"""Interests of a peer as WHERE clauses: cells by the grid, exact matching by `rookery.matching`.

Rule: an event that satisfies a clause lies in one of the cells (`space.grid`, rule 2), so whoever is asked to take an
event by its cell misses none; and only events whose values satisfy a clause are handed over, so the application never
sees a false positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from rookery.matching import matcher
from rookery.model.lower import lower
from rookery.model.parser import parse
from rookery.model.schema import Schema
from rookery.space.grid import Grid

__all__ = ["Condition", "WhereInterests"]

#: A WHERE clause, or one with its parameters.
Condition: TypeAlias = str | tuple[str, tuple[object, ...]]


class WhereInterests:
    """What a peer wants: conditions by subscription id."""

    __slots__ = ("_cells", "_grid", "_matcher")

    def __init__(self, schema: Schema, grid: Grid, conditions: Mapping[str | int, Condition]) -> None:
        self._grid = grid
        self._matcher = matcher(schema, wall_time=False)
        cells: set[int] = set()
        for subscription_id, condition in conditions.items():
            where, parameters = (condition, ()) if isinstance(condition, str) else condition
            # A bad condition raises here, with its place.
            self._matcher.add(subscription_id, where, parameters=parameters or None)
            terms = lower(parse(where or "TRUE"), schema, parameters or None)
            cells |= grid.cells(terms, schema)
        self._cells = frozenset(cells)

    @property
    def cells(self) -> frozenset[int]:
        """The cells that hold an event which can satisfy a condition."""
        return self._cells

    def cell(self, payload: Mapping[str, Any]) -> int:
        """Return the cell of an event."""
        return self._grid.cell(payload)

    def matching(self, payload: Mapping[str, Any]) -> list[str | int]:
        """Return the ids of the conditions that an event satisfies."""
        return self._matcher.match(payload)
