"""How figures are drawn: one style, our numbers on the axes, and the same bytes every time.

What a figure has on it is data (`figures.py`). It is drawn without pyplot, so nothing depends on a display or on a
user's settings. SVG has its text as text and its ids from the claim's name; neither format carries a date or a version.
Ink is one color, which the page replaces by the reader's (light or dark); the colors of the series are readable on both
and distinct to the color-blind.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from rookery.extras import need
from rookery.papers.figures import Bars, Figure, Formula, Lines, Mark
from rookery.papers.table import Table

__all__ = ["COLORS", "INK", "PAPER", "draw", "encode", "legend", "require_matplotlib"]

INK = "#1c1d21"
PAPER = "#ffffff"
COLORS = ("#2f7fd1", "#d9742a", "#2a9d6f", "#a35bc4", "#c9434f", "#8a8f98", "#a88400")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: Mapping[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "figure.facecolor": PAPER,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.alpha": 0.3,
    "grid.color": "#8a8f98",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "path.simplify": False,
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def require_matplotlib() -> None:
    """Say what to install, before any work is done."""
    need("matplotlib", "drawing figures")


def draw(figure: Figure, table: Table) -> Any:
    """Draw a figure: its charts side by side."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Drawn

    charts = figure if isinstance(figure, tuple) else (figure,)
    with mpl.rc_context(dict(_STYLE)):
        drawn = Drawn(figsize=(6.4 if len(charts) == 1 else 4.6 * len(charts), 3.7), layout="constrained")
        places = list(drawn.subplots(1, len(charts), squeeze=False)[0])
    for axes, chart in zip(places, charts, strict=True):
        axes.set_xlabel(chart.x if isinstance(chart.x, str) else chart.x(table))
        axes.set_ylabel(chart.y)
        if chart.title:
            axes.set_title(chart.title, color=INK)
        for mark in chart.marks:
            _draw(axes, mark, table)
        if chart.x_log:
            axes.set_xscale("log", base=chart.x_log)
        if chart.y_log:
            axes.set_yscale("log", base=chart.y_log)
        if chart.y_range:
            low, high = chart.y_range
            axes.set_ylim(bottom=low, top=high)
    return drawn


def _draw(axes: Any, mark: Mark, table: Table) -> None:
    match mark:
        case Lines():
            _lines(axes, mark, mark.of(table))
        case Formula():
            _formula(axes, mark, mark.of(table))
        case Bars():
            _bars(axes, mark, mark.of(table))
        case _:
            mark(axes, table)


def _lines(axes: Any, mark: Lines, table: Table) -> None:
    groups = table.by(mark.by) if mark.by else [(mark.label, table)]
    for number, (value, group) in enumerate(groups, start=mark.first):
        points = sorted(group.by(mark.x), key=lambda point: point[0])
        places = [place for place, _ in points]
        color, marker = COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]
        shown = mark.label if mark.by is None else mark.name.format(value)
        means = [part.mean(mark.y) for _, part in points]
        style = "-" if mark.joined else "none"
        axes.plot(places, means, color=color, marker=marker, linestyle=style, label=shown)
        if any(len(part) > 1 for _, part in points):
            low, high = [part.least(mark.y) for _, part in points], [part.most(mark.y) for _, part in points]
            axes.fill_between(places, low, high, color=color, alpha=0.15, linewidth=0)
    if mark.by or mark.label:
        legend(axes)


def _formula(axes: Any, mark: Formula, table: Table) -> None:
    for value, group in table.by(mark.by) if mark.by else [("", table)]:
        everywhere = [line for one in axes.figure.axes for line in one.lines]  # an id is one of the whole figure
        drawn = sum(str(line.get_gid()).startswith("reference") for line in everywhere)
        dashes = ((4, 3), (1, 2), (7, 2, 1, 2), (9, 3))[drawn % 4]
        places = sorted(group.values(mark.x))
        heights = [_height(mark, group, place) for place in places]
        axes.plot(
            places,
            heights,
            color=INK,
            linestyle=(0, dashes),
            linewidth=1.1,
            label=mark.label.format(value),
            gid=f"reference_{drawn + 1}",
        )
        legend(axes)


def _height(mark: Formula, table: Table, place: Any) -> float:
    if isinstance(mark.y, str):
        return table.where(**{mark.x: place}).mean(mark.y)
    return mark.y(place) if callable(mark.y) else mark.y


def _bars(axes: Any, mark: Bars, table: Table) -> None:
    if isinstance(mark.values, Mapping):
        values: Mapping[str, float] = {label: table.mean(column) for label, column in mark.values.items()}
    else:
        values = mark.values(table)
    names = list(values)
    heights = [values[name] for name in names]
    colors = [COLORS[number % len(COLORS)] for number in range(len(names))]
    drawn = axes.barh(range(len(names)), heights, color=colors, height=0.62)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.bar_label(drawn, labels=[mark.form.format(value) for value in heights], padding=3, color=INK)
    axes.margins(x=0.15)
    axes.grid(visible=False, axis="y")


def legend(axes: Any, **options: Any) -> None:
    """Say which line is which."""
    axes.legend(labelcolor=INK, frameon=False, fontsize=9, **options)


def encode(figure: Any, name: str) -> tuple[bytes, bytes]:
    """Return the figure as SVG and PNG."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    vector, pixels = io.BytesIO(), io.BytesIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        for axes in figure.axes:
            _plain_numbers(axes)
        FigureCanvasSVG(figure).print_svg(vector, metadata={"Date": None, "Creator": None, "Title": name})
        figure.set_layout_engine("none")  # laid out by now; doing it again takes longer than the drawing
        figure.set_dpi(100)
        FigureCanvasAgg(figure).print_png(pixels, metadata={"Software": None})
    return vector.getvalue(), pixels.getvalue()


def _plain_numbers(axes: Any) -> None:
    """Write the numbers of logarithmic axes as people write them, and no numbers in between."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(FuncFormatter(_number))
            axis.set_minor_formatter(NullFormatter())


def _number(value: float, place: int | None = None) -> str:
    return f"{value:,.0f}" if 1 <= value < 10_000_000 and value == round(value) else f"{value:g}"
