"""The example of the overlay's page runs and prints what it shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "overlay.md"


def test_the_example_prints_what_it_shows() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(block, {}, "docs/overlay.md", str(PAGE), 0)
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)
    assert len(test.examples) > 10


def test_the_tests_that_the_page_names_exist() -> None:
    folders = Path(__file__).parent, Path(__file__).parents[1] / "live"
    files = (path for folder in folders for path in folder.glob("test_*.py"))
    tests = "".join(path.read_text(encoding="utf-8") for path in files)
    named = re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if f"def {name}(" not in tests] == []
