"""docs/subscriptions.md is true: its Python is run, and its grammar's limits are the parser's."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from rookery.model.lower import MAXIMUM_TERMS
from rookery.model.parser import MAXIMUM_DEPTH, MAXIMUM_LENGTH, MAXIMUM_LENGTH_WITH_LISTS

PAGE = Path(__file__).parents[2] / "docs" / "subscriptions.md"


def test_the_examples_run_and_print_what_they_show() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def test_the_limits_are_those_of_the_code() -> None:
    text = PAGE.read_text("utf-8")
    assert f"{MAXIMUM_LENGTH:,} characters, and {MAXIMUM_DEPTH} levels" in text
    assert f"up to {MAXIMUM_LENGTH_WITH_LISTS:,}" in text
    assert f"more than {MAXIMUM_TERMS} terms" in text
