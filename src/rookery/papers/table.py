"""The rows of an experiment, with the few questions that plots and checks ask of them.

A row is a flat dictionary of numbers, strings and booleans: the configuration, the seed, and what was measured. Order
is that of the tasks, never that in which they ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Cell", "Row", "Table"]

Cell = int | float | str | bool
Row = Mapping[str, Any]


class Table:
    """Rows in a fixed order."""

    __slots__ = ("rows",)

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in the order of their first appearance."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def where(self, **wanted: Cell) -> Table:
        """Return the rows with these values."""
        return Table([row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())])

    def values(self, column: str) -> list[Any]:
        """Return the distinct values of a column, in order of appearance."""
        return list(dict.fromkeys(row[column] for row in self.rows if column in row))

    def by(self, column: str) -> list[tuple[Any, Table]]:
        """Return the rows by the value of a column."""
        return [(value, self.where(**{column: value})) for value in self.values(column)]

    def list(self, column: str) -> list[Any]:
        """Return a column."""
        return [row[column] for row in self.rows if column in row]

    def mean(self, column: str) -> float:
        """Return the mean of a column."""
        return fmean(self.list(column))

    def total(self, column: str) -> Any:
        """Return the sum of a column."""
        return sum(self.list(column))

    def least(self, column: str) -> Any:
        """Return the least value of a column."""
        return min(self.list(column))

    def most(self, column: str) -> Any:
        """Return the greatest value of a column."""
        return max(self.list(column))

    def without(self, columns: Sequence[str]) -> Table:
        """Return the rows without some columns."""
        return Table([{name: value for name, value in row.items() if name not in columns} for row in self.rows])

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table; a column that a row lacks is null there."""
        import pyarrow as pa

        return pa.table({name: [row.get(name) for row in self.rows] for name in self.columns})
