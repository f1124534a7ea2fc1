"""The tables of steps in `docs/claims.md`: every row names modules and tests that there are."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
STEPS = PAGE.partition("## Where each step runs")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in STEPS.splitlines()
    if line.startswith("| ") and not line.startswith("| document ")
]


def test_there_are_steps() -> None:
    assert len(ROWS) > 30


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_step_has_its_modules_where_it_runs_and_its_tests(row: list[str]) -> None:
    document, modules, runs, differs, tests = row
    assert document
    assert differs
    assert set(re.split(", | and ", runs)) <= {"live", "simulated", "experiment"}
    named = re.findall(r"`([a-z_0-9.]+)`", modules.partition(" (")[0])
    assert named
    assert all(importlib.util.find_spec(f"rookery.{name}") for name in named)
    files = re.findall(r"`(tests/[^`]+)`", tests)
    assert files
    assert all((ROOT / file).is_file() for file in files)
