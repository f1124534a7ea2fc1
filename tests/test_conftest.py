"""How the suite runs its tests: which share a process, and that a limit of Spark's own decides none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.domains import WORKERS
from tests.spread import LONGEST

from rookery.cli.test import PROCESSES, SPREAD

ROOT = Path(__file__).parents[1]
FILE = """
import pathlib
import pytest

PLACE = pathlib.Path(__file__).parent

def times(name):
    with (PLACE / name).open("a") as file:
        file.write("x")
    return len((PLACE / name).read_text())

@pytest.mark.spark
def test_busy(tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "left").touch()
    if times("busy") < 3:
        raise RuntimeError("Python worker failed to connect back.")

@pytest.mark.spark
def test_always_busy():
    times("always")
    raise RuntimeError("Timed out while waiting for the Python worker to connect back after 10 seconds")

@pytest.mark.spark
def test_wrong():
    times("wrong")
    assert 1 == 2

def test_not_of_spark():
    times("other")
    raise RuntimeError("Python worker failed to connect back.")
"""


def test_a_test_of_spark_is_run_again_where_spark_was_too_impatient_and_only_there(tmp_path: Path) -> None:
    (tmp_path / "test_inner.py").write_text(FILE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "tests.conftest"]
    done = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "3 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    runs = {name: len((tmp_path / name).read_text()) for name in ("busy", "always", "wrong", "other")}
    assert runs == {"busy": 3, "always": 4, "wrong": 1, "other": 1}


SHARED = """
import os, pathlib, pytest, time

LOG = pathlib.Path(__file__).parent / "log"

@pytest.fixture(scope="session")
def spark():
    pass

def told(name):
    with LOG.open("a") as file:
        file.write(f"{name} {os.getpid()}\\n")

"""
WITH_SESSION = (
    SHARED
    + """
@pytest.mark.parametrize("number", range(4))
def test_NAME(number, spark):
    told("NAME")
"""
)
#: Ends when all tests with the session have, which are another process's: the first one's, and the first in its turn.
WITHOUT = (
    SHARED
    + """
@pytest.mark.parametrize("number", range(4))
def test_NAME(number):
    told("NAME")
    hang = time.monotonic() + 600
    while LOG.read_text().count("y ") + LOG.read_text().count("z ") < 8 and time.monotonic() < hang:
        time.sleep(0.01)
"""
)


def test_a_file_is_in_one_process_and_so_is_all_that_shares_the_session_which_starts_first(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"test_{name}.py").write_text(WITHOUT.replace("NAME", name))
    for name in "yz":
        (tmp_path / f"test_{name}.py").write_text(WITH_SESSION.replace("NAME", name))
    command = [sys.executable, "-m", "pytest", "-q", *SPREAD, "-p", "no:cacheprovider", "-p", "tests.conftest"]
    done = subprocess.run(
        [*command, "-n", "2", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "24 passed" in done.stdout, done.stdout + done.stderr
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    processes = {name: {process for told, process in lines if told == name} for name, _ in lines}
    assert [len(found) for found in processes.values()] == [1] * 6, processes
    assert processes["y"] == processes["z"] != processes["d"], processes
    assert [name for name, process in lines if {process} == processes["y"]][:8] == ["y"] * 4 + ["z"] * 4
    assert next(name for name, process in lines if {process} == processes["d"]) == "d"


def test_files_that_take_long_are_there() -> None:
    assert [file for file in LONGEST if not (ROOT / file).is_file()] == []
    assert len(set(LONGEST)) == len(LONGEST)


def test_no_two_processes_share_domains() -> None:
    assert PROCESSES <= WORKERS
