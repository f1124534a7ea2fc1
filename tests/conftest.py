"""What every test shares: the `--slow` switch and the Hypothesis profile."""

from __future__ import annotations

import pytest
from hypothesis import settings

# No deadline: how long an example takes depends on the machine, and is no property of the code.
settings.register_profile("rookery", deadline=None, print_blob=True)
settings.load_profile("rookery")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the on-demand proofs (marked `slow`) too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow") or "slow" in (config.getoption("-m") or ""):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
