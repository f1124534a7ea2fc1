"""A figure that is data is drawn as it says: means and ranges, formulas, bars, scales, and the rows of its view."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.papers.drawing import INK, draw, encode
from rookery.papers.figures import Bars, Chart, Formula, Lines, chart, most, where
from rookery.papers.table import Table

pytest.importorskip("matplotlib", reason="figures need `pip install rookery[figures]`")

TABLE = Table(
    [
        {"n": n, "kind": kind, "seed": seed, "y": 10.0 * n + seed + (5 if kind == "b" else 0), "stated": 2.0 * n}
        for n in (4, 1, 2)
        for kind in ("a", "b")
        for seed in (1, 3)
    ]
)


def axes_of(*charts: Chart) -> list[Any]:
    return list(draw(charts if len(charts) > 1 else charts[0], TABLE).axes)


def points(line: Any) -> list[tuple[float, float]]:
    return list(zip(*(values.tolist() for values in line.get_data()), strict=True))


def test_lines_are_means_over_the_seeds_in_the_order_of_x_with_their_range() -> None:
    (axes,) = axes_of(chart("n", "y", Lines("n", "y", by="kind", name="kind {}", first=1)))
    assert [line.get_label() for line in axes.lines] == ["kind a", "kind b"]
    assert points(axes.lines[0]) == [(1, 12.0), (2, 22.0), (4, 42.0)]
    assert points(axes.lines[1]) == [(1, 17.0), (2, 27.0), (4, 47.0)]
    low, high = (
        axes.collections[0].get_paths()[0].vertices[:, 1].min(),
        axes.collections[1].get_datalim(axes.transData).y1,
    )
    assert (low, high) == (11.0, 48.0)
    assert len({line.get_color() for line in axes.lines}) == 2
    assert axes.get_legend() is not None


def test_a_view_chooses_the_rows() -> None:
    (axes,) = axes_of(chart("n", "y", Lines("n", "y", "b", of=where(kind="b")), Lines("kind", "y", "4", of=most("n"))))
    assert points(axes.lines[0]) == [(1, 17.0), (2, 27.0), (4, 47.0)]
    assert [y for _, y in points(axes.lines[1])] == [42.0, 47.0]


@pytest.mark.parametrize(
    ("stated", "heights"),
    [("stated", [2.0, 4.0, 8.0]), (0.5, [0.5, 0.5, 0.5]), (lambda n: n * n, [1, 4, 16])],
    ids=["a column", "a number", "a function"],
)
def test_a_formula_is_dashed_over_every_x(stated: Any, heights: list[float]) -> None:
    (axes,) = axes_of(chart("n", "y", Formula("n", stated, "stated")))
    (line,) = axes.lines
    assert points(line) == list(zip((1, 2, 4), heights, strict=True))
    assert line.get_color() == INK
    assert line.get_linestyle() == "--"


def test_formulas_of_one_figure_have_names_of_their_own() -> None:
    left, right = axes_of(
        chart("n", "y", Formula("n", "stated", "of {}", by="kind")), chart("n", "y", Formula("n", 1.0, "one"))
    )
    assert [line.get_label() for line in left.lines] == ["of a", "of b"]
    names = [line.get_gid() for axes in (left, right) for line in axes.lines]
    assert names == ["reference_1", "reference_2", "reference_3"]


def test_bars_are_means_of_columns_or_what_a_function_says() -> None:
    left, right = axes_of(
        chart("share", "", Bars({"measured": "y", "by the formula": "stated"}, "{:.1f}", of=where(n=1))),
        chart("count", "", Bars(lambda table: {"rows": len(table)}, "{:.0f}")),
    )
    assert [bar.get_width() for bar in left.patches] == [14.5, 2.0]
    assert [text.get_text() for text in left.texts] == ["14.5", "2.0"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["measured", "by the formula"]
    assert [text.get_text() for text in right.texts] == ["12"]


def test_axes_have_their_words_scales_and_ends() -> None:
    def cross(axes: Any, table: Table) -> None:
        axes.axhline(len(table))

    def named(table: Table) -> str:
        return f"n up to {table.most('n')}"

    mark = Lines("n", "y", "points", joined=False)
    (axes,) = axes_of(chart(named, "height", mark, cross, x_log=2, y_range=(0, 60), title="a title"))
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("n up to 4", "height", "a title")
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylim()) == ("log", "linear", (0, 60))
    assert [line.get_linestyle() for line in axes.lines] == ["None", "-"]
    (low,) = axes_of(chart("n", "y", Lines("n", "y"), y_log=10, y_range=(1, None)))
    assert (low.get_yscale(), low.get_ylim()[0]) == ("log", 1)
    assert low.get_legend() is None


def test_the_same_figure_has_the_same_bytes() -> None:
    figure = chart("n", "y", Lines("n", "y", by="kind"), Formula("n", "stated", "stated"))
    one, other = (encode(draw(figure, TABLE), "seed-000/deletion") for _ in range(2))
    assert one == other
    assert one[0].startswith(b"<?xml")
    assert one[1].startswith(b"\x89PNG")
