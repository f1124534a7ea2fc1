"""What every test shares: the `--slow` switch, the Hypothesis profile, and who runs beside whom.

`rookery test` spreads the files over the cores. Tests that need Spark stay in one process, so that they share its
session, and so do those on the wire, so that their DDS domains do not meet; both start first, being the longest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: how long an example takes depends on the machine, and is no property of the code.
settings.register_profile("rookery", deadline=None, print_blob=True)
settings.load_profile("rookery")

TOGETHER = ("spark", "wire")


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the path with `rookery` of this checkout, installed or not, and `python`, the one that runs here."""
    folder = tmp_path_factory.mktemp("commands")
    for name, module in (("rookery", " -m rookery"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket of a real S3 server on loopback, whose keys are in the environment from then on."""
    from tests.spark.s3_server import BUCKET, s3_server

    with s3_server(tmp_path_factory.mktemp("s3")) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        yield f"s3://{BUCKET}"


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Tell whoever waits for a long test how far it is, at once and whatever else is captured."""

    def line(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{time.strftime('%H:%M:%S')} {text}\n")
            sys.stdout.flush()

    return line


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the on-demand proofs (marked `slow`) too")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow") and "slow" not in (config.getoption("-m") or ""):
        slow = [item for item in items if item.get_closest_marker("slow")]
        if slow:
            config.hook.pytest_deselected(items=slow)
            items[:] = [item for item in items if not item.get_closest_marker("slow")]
    if config.pluginmanager.hasplugin("xdist") and config.getoption("dist", "no") == "loadgroup":
        for item in items:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
        items.sort(key=lambda item: _group(item) not in TOGETHER)  # stable: the order within a file stays


def _group(item: pytest.Item) -> str:
    """Return the name of those that run in one process: the kind for `TOGETHER`, the file for the rest."""
    kinds = [kind for kind in TOGETHER if item.get_closest_marker(kind)]
    return kinds[0] if kinds else item.nodeid.split("::")[0]
