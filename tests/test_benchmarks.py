"""`python -m benchmarks`: the list is true, and a wrong name is wrong usage. What they measure is not tested here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_lists_each_benchmark_with_its_first_line() -> None:
    listed = benchmarks()
    assert listed.returncode == 0
    rows = [line.split(maxsplit=1) for line in listed.stdout.splitlines()[2:]]
    assert all(len(row) == 2 for row in rows), "a benchmark has no docstring"
    for name, _ in rows:
        assert (ROOT / "benchmarks" / f"{name}.py").is_file()
    with_main = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py") if "\ndef main(" in path.read_text()}
    assert {name for name, _ in rows} == with_main


def test_a_wrong_name_is_wrong_usage() -> None:
    refused = benchmarks("nothing_of_this_name")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("no benchmark 'nothing_of_this_name'")
