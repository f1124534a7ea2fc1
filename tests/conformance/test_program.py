"""A user's program is typed through and through, and runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .live import new_domain

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")


def test_it_passes_strict_checks(tmp_path: Path) -> None:
    """As a user has it: without this checkout's settings, with the installed package's own types."""
    check = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--follow-imports", "silent"]
    where = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*check, "--cache-dir", str(tmp_path), str(PROGRAM)], capture_output=True, text=True, cwd=tmp_path, env=where
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.wire
def test_it_runs() -> None:
    done = subprocess.run([sys.executable, str(PROGRAM), str(new_domain())], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[9.5, 0.0] ['acme 9.5', 'cheap 9.5'] ['cheap acme']\n"
