"""The table of steps in docs/claims.md: each row names modules, how they run, and tests; all of them are there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDS = ("000", "001", "002", "003", "004")
RUNS = {"live", "simulated", "experiment"}


def tables() -> dict[str, list[list[str]]]:
    """Return the rows of each seed's table, cell by cell."""
    page = (ROOT / "docs" / "claims.md").read_text().partition("## Where each step runs")[2].partition("\n## ")[0]
    found: dict[str, list[list[str]]] = {}
    for section in page.split("\n### Seed ")[1:]:
        rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]
        found[section[:3]] = [[cell.strip() for cell in row] for row in rows[1:]]
    return found


TABLES = tables()
ROWS = [pytest.param(row, id=f"{seed}: {row[0][:50]}") for seed in sorted(TABLES) for row in TABLES[seed]]


def test_every_document_has_a_table() -> None:
    assert set(TABLES) == set(SEEDS)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_modules_and_tests_that_are_there(row: list[str]) -> None:
    step, modules, runs, _, tests = row
    assert step
    assert set(re.split(r", | and ", runs)) <= RUNS
    named = re.findall(r"`([a-z_0-9.]+)`", modules)
    assert named
    for module in named:
        assert importlib.util.find_spec(f"rookery.{module}"), module
    files = re.findall(r"`(tests/[a-z_0-9/]+\.py)`", tests)
    assert files
    for file in files:
        assert (ROOT / file).is_file(), file
