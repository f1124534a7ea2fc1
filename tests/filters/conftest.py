"""What the tests of filters share: the golden cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent.parent / "cases" / "filters"


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """Return a reader of `tests/cases/filters/NAME.json`."""
    return lambda name: json.loads((CASES / f"{name}.json").read_text())
