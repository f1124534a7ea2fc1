"""Kill -9 of the driver with rule edits in flight: three times here, a hundred with `python -m benchmarks kill9`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def kill(times: int) -> str:
    command = [sys.executable, "-m", "benchmarks", "kill9", "--kills", str(times)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_three_kills_leave_the_raw_output_exact() -> None:
    last = kill(3)
    assert last.startswith("kills 3")
    assert last.endswith("missed 0 extra 0")
