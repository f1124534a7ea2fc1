"""docs/rtps.md says what is so: its program runs, its limits are the limits, its files are there."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from rookery.rtps import Limits

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "rtps.md"

pytestmark = pytest.mark.skipif(not DOCUMENT.exists(), reason="the documents are part of the checkout")


def test_the_programs_print_what_the_page_says(domain_id: int) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    printed = re.findall(r"^It prints `([^`]+)`", text, flags=re.MULTILINE)
    assert len(programs) == 2
    for program, line in zip(programs, printed, strict=True):
        here = program.replace("dds://0", f"dds://{domain_id}")
        done = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == line


def test_the_limits_are_the_limits() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {name: int(value.replace(",", "")) for name, value in rows} == {
        field.name: getattr(Limits(), field.name) for field in fields(Limits)
    }


def test_the_files_that_are_named_exist() -> None:
    named = re.findall(r"(?:pytest|python) ((?:tests|fuzz)/[\w./]+)", DOCUMENT.read_text(encoding="utf-8"))
    assert len(named) >= 16
    assert [name for name in named if not (ROOT / name).exists()] == []
