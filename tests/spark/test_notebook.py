"""The example notebook runs from top to bottom.

A notebook is JSON: its cells are run here in one namespace, the last line of each shown as a notebook shows it. A
Jupyter kernel to do so would be some thirty packages more for every checkout, and would judge nothing that this does
not.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from rookery import Schema, matcher

NOTEBOOK = Path(__file__).parents[2] / "examples" / "rules-on-spark.ipynb"


def run(cells: list[dict[str, Any]], space: dict[str, Any]) -> list[Any]:
    """Run the cells of code; returns what each shows."""
    shown = []
    for number, cell in enumerate(cells):
        tree = ast.parse("".join(cell["source"]), f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), space)
        assert last is None or isinstance(last, ast.Expr)
        shown.append(None if last is None else eval(compile(ast.Expression(last.value), "", "eval"), space))
    return shown


@pytest.mark.spark
def test_the_notebook_runs(classic: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (document["nbformat"], len({cell["id"] for cell in document["cells"]})) == (4, len(document["cells"]))
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] for cell in cells), "a notebook is kept without what it printed"
    shown = run(cells, {})
    values = [number % 100 / 10 for number in range(1000)]
    warm = sum(value > 7 for value in values)
    hot = sum(value > 9 and number % 7 in (1, 2) for number, value in enumerate(values))
    assert shown[2] == {"low": warm, "high": hot}
    assert shown[3].matches == warm + hot
    html = shown[3]._repr_html_()
    assert f"<td>warm</td><td>{warm}</td>" in html
    assert "quarantined broken" in html
    assert "|           warm|" in capsys.readouterr().out


def test_an_explanation_is_shown_as_its_lines() -> None:
    rules = matcher(Schema(x=float))
    rules.add("<b>", "x < 1")
    html = rules.compile().explain("<b>", {"x": 2.0})._repr_html_()
    assert html.startswith("<pre>&#x27;&lt;b&gt;&#x27; version 1 does not match")
    assert "x &lt; 1" in html
