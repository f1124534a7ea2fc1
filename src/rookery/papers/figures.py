"""Figures as data: axes with what is drawn on them. `drawing.py` draws them.

    chart("N, brokers", "mean hops", Lines("brokers", "hops", by="algorithm"), Formula("brokers", math.log2, "log2 N"),
          x_log=2)

A figure is one chart, or several side by side. What is drawn may look at other rows than those that were measured:
`of` takes the table and returns another, as `where(…)`, `most(…)` and a claim's own functions do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rookery.papers.table import Cell, Table

__all__ = ["Bars", "Chart", "Figure", "Formula", "Lines", "Text", "chart", "most", "where"]

#: A text, or what makes it of the table.
Text = str | Callable[[Table], str]
View = Callable[[Table], Table]


def everything(table: Table) -> Table:
    """Return the table as it is."""
    return table


def where(**wanted: Cell) -> View:
    """Return what keeps the rows with these values."""
    return lambda table: table.where(**wanted)


def most(column: str) -> View:
    """Return what keeps the rows with the greatest value of a column."""
    return lambda table: table.where(**{column: table.most(column)})


@dataclass(frozen=True, slots=True)
class Lines:
    """The mean of `y` over `x`, one line for each value of `by`, with the range over the seeds behind it."""

    x: str
    y: str
    label: str | None = None
    by: str | None = None
    name: str = "{}"
    """How a value of `by` is written."""
    first: int = 0
    """The place of the first line among the colors."""
    of: View = everything
    joined: bool = True
    """Whether the points are joined; places that have no order are not."""


@dataclass(frozen=True, slots=True)
class Formula:
    """What is stated, dashed: the mean of a column, a function of `x`, or one number; a line for each value of `by`."""

    x: str
    y: str | float | Callable[[Any], float]
    label: str
    by: str | None = None
    of: View = everything


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars with their values written beside them: one for each name, or for each column of `means`."""

    values: Callable[[Table], Mapping[str, float]] | Mapping[str, str]
    form: str = "{:,.3g}"
    of: View = everything


#: What is drawn on axes: one of the three, or a function of the axes and the table.
Mark = Lines | Formula | Bars | Callable[[Any, Table], None]


@dataclass(frozen=True, slots=True)
class Chart:
    """One set of axes."""

    x: Text
    y: str
    marks: tuple[Mark, ...]
    x_log: int | None = None
    """The base of a logarithmic axis."""
    y_log: int | None = None
    y_range: tuple[float, float | None] | None = None
    title: str = ""


Figure = Chart | tuple[Chart, ...]


def chart(
    x: Text,
    y: str,
    *marks: Mark,
    x_log: int | None = None,
    y_log: int | None = None,
    y_range: tuple[float, float | None] | None = None,
    title: str = "",
) -> Chart:
    """Return axes with what is drawn on them."""
    return Chart(x, y, marks, x_log, y_log, y_range, title)
