"""The page on filters: its Python runs and prints what it shows, and the files it names exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "filters.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documents are part of the checkout")


def test_its_python_runs():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    report: list[str] = []
    runner = doctest.DocTestRunner()
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, "docs/filters.md", str(PAGE), 0)
        assert test.examples
        runner.run(test, out=report.append)
    assert not report, "".join(report)


def test_its_files_exist():
    text = PAGE.read_text(encoding="utf-8")
    links = [PAGE.parent / path for path in re.findall(r"\]\((?!https?:)([^)#]+)\)", text)]
    paths = [ROOT / path for path in re.findall(r"`((?:src|tests|benchmarks|docs|fuzz)/[\w./]*)`", text)]
    assert links
    assert [path for path in (*links, *paths) if not path.exists()] == []


def test_it_names_every_structure():
    from rookery.filters import STRUCTURES, summarize

    text = PAGE.read_text(encoding="utf-8")
    for structure in STRUCTURES:
        assert f"`{type(summarize(['a'], structure)).__name__}`" in text
