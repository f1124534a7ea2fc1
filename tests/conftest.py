"""What every test shares: the `--slow` switch, the Hypothesis profile, and how a run goes over its processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import settings
from tests.spread import FromTwoEnds, in_turn

#: What Spark says when a Python of its own is not up within ten seconds. No setting moves that, and a busy machine
#: needs longer; a test that fails so is run again.
TOO_BUSY = ("Python worker failed to connect back", "waiting for the Python worker to connect back")
ATTEMPTS = 4
#: For the JVM of every Spark that a test starts, in whatever process: it lives a few minutes, so no second compiler and
#: no collector's threads. (Not a folder of settings: with one a JVM keeps no archive of its classes.)
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# No deadline: how long an example takes depends on the machine, and is no property of the code.
settings.register_profile("rookery", deadline=None, print_blob=True)
settings.load_profile("rookery")


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
    if hasattr(config, "workerinput"):
        items[:] = in_turn(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give out the files of a run of `rookery test` from two ends."""
    return FromTwoEnds(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test of Spark until something other than Spark's ten seconds decides it."""
    if item.get_closest_marker("spark") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for _ in range(ATTEMPTS - 1):
        if not any(report.failed and any(words in report.longreprtext for words in TOO_BUSY) for report in reports):
            break
        item._initrequest()  # type: ignore[attr-defined] # fixtures of its own are made anew
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
