"""The documents at the root: short, true, and run. README's Python is executed and its printed output compared."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from rookery.cli import COMMANDS

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks(document: str, language: str) -> list[tuple[int, str]]:
    """Return the fenced blocks of one language, each with the number of its first line."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(2)), found[2]) for found in FENCE.finditer(text) if found[1] == language]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_python_of_the_readme_runs_and_prints_what_it_shows() -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    names: dict[str, object] = {}
    report: list[str] = []
    examples = 0
    for line, text in blocks("README.md", "python"):
        test = doctest.DocTestParser().get_doctest(text, names, f"README.md:{line + 1}", "README.md", line)
        assert test.examples, f"README.md:{line + 1}: a python block must be written with >>>, so that it can be run"
        examples += len(test.examples)
        runner.run(test, out=report.append, clear_globs=False)
        names = test.globs  # one reader, one session: a later block uses what an earlier one made
    assert examples > 0
    assert not report, "".join(report)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_that_are_shown_exist(document: str) -> None:
    for line, text in blocks(document, "sh"):
        for command in re.findall(r"^(?:\./)?rookery ([a-z]+)", text, flags=re.MULTILINE):
            assert command in COMMANDS, f"{document}:{line + 1} shows `rookery {command}`"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_are_named_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    paths = re.findall(r"`((?:src|tests|benchmarks|docs|\.ci)/[\w./]*)`", text)
    missing = [path for path in (*links, *paths) if not (ROOT / path).exists()]
    assert not missing
