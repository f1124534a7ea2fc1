"""How figures are drawn: one style, our numbers on the axes, and the same bytes every time.

A figure is made without pyplot, so nothing depends on a display or on a user's settings. SVG has its text as text and
its ids from the claim's name; neither format carries a date or a version. Ink is one color, which the page replaces by
the reader's (light or dark); the colors of the series are readable on both and distinct to the color-blind.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rookery.errors import ExperimentError
from rookery.papers.table import Table

__all__ = ["COLORS", "INK", "PAPER", "bars", "chart", "charts", "encode", "lines", "reference", "require_matplotlib"]

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
    import importlib.util

    if importlib.util.find_spec("matplotlib") is None:
        raise ExperimentError("figures need matplotlib: run `pip install 'rookery[figures]'`")


def charts(*labels: tuple[str, str], titles: Sequence[str] = ()) -> tuple[Any, list[Any]]:
    """Return a figure with one set of axes beside the other, labeled (x, y)."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(dict(_STYLE)):
        figure = Figure(figsize=(6.4 if len(labels) == 1 else 4.6 * len(labels), 3.7), layout="constrained")
        axes = list(figure.subplots(1, len(labels), squeeze=False)[0])
    for number, (one, (x, y)) in enumerate(zip(axes, labels, strict=True)):
        one.set_xlabel(x)
        one.set_ylabel(y)
        if titles:
            one.set_title(titles[number], color=INK)
    return figure, axes


def chart(x: str, y: str, *, title: str = "") -> tuple[Any, Any]:
    """Return a figure and its axes."""
    figure, axes = charts((x, y), titles=[title] if title else ())
    return figure, axes[0]


def lines(
    axes: Any,
    table: Table,
    *,
    x: str,
    y: str,
    by: str | None = None,
    name: Callable[[Any], str] = str,
    label: str | None = None,
    first: int = 0,
) -> None:
    """Draw the mean of `y` over `x`, one line for each value of `by`, with the range over the seeds behind it."""
    groups = table.by(by) if by else [(label, table)]
    for number, (value, group) in enumerate(groups, start=first):
        points = sorted(group.by(x), key=lambda point: point[0])
        places = [place for place, _ in points]
        color, marker = COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]
        shown = label if by is None else name(value)
        axes.plot(places, [part.mean(y) for _, part in points], color=color, marker=marker, label=shown)
        if any(len(part) > 1 for _, part in points):
            low, high = [part.least(y) for _, part in points], [part.most(y) for _, part in points]
            axes.fill_between(places, low, high, color=color, alpha=0.15, linewidth=0)
    if by or label:
        axes.legend(labelcolor=INK, frameon=False, fontsize=9)


def reference(axes: Any, x: Sequence[float], y: Sequence[float], label: str) -> None:
    """Draw what a formula says: a dashed line."""
    everywhere = [line for one in axes.figure.axes for line in one.lines]  # an id is one of the whole figure
    drawn = sum(str(line.get_gid()).startswith("reference") for line in everywhere)
    dashes = ((4, 3), (1, 2), (7, 2, 1, 2), (9, 3))[drawn % 4]
    axes.plot(
        list(x), list(y), color=INK, linestyle=(0, dashes), linewidth=1.1, label=label, gid=f"reference_{drawn + 1}"
    )
    axes.legend(labelcolor=INK, frameon=False, fontsize=9)


def bars(axes: Any, values: Mapping[str, float], *, form: str = "{:,.3g}") -> None:
    """Draw horizontal bars with their values written beside them."""
    names = list(values)
    heights = [values[name] for name in names]
    colors = [COLORS[number % len(COLORS)] for number in range(len(names))]
    drawn = axes.barh(range(len(names)), heights, color=colors, height=0.62)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.bar_label(drawn, labels=[form.format(value) for value in heights], padding=3, color=INK)
    axes.margins(x=0.15)
    axes.grid(visible=False, axis="y")


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
