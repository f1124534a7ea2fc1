"""Kill -9 of the driver with rule edits in flight: a few times here, a hundred with `python -m benchmarks kill9`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.spark


def kill(times: int, *how: str) -> str:
    command = [sys.executable, "-m", "benchmarks", "kill9", "--kills", str(times), *how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def test_three_kills_leave_the_raw_output_exact() -> None:
    last = kill(3)
    assert last.startswith("kills 3")
    assert last.endswith("missed 0 extra 0")


def test_so_do_two_with_everything_in_an_object_store() -> None:
    """Rules, version log and output through Rookery's own layer, Spark's checkpoint through s3a."""
    from .s3_server import hadoop_aws

    hadoop_aws()  # skips where it cannot be had
    last = kill(2, "--store")
    assert last.startswith("kills 2")
    assert last.endswith("missed 0 extra 0")


def test_so_do_two_between_topics_of_kafka() -> None:
    """A transactional producer, TLS and a password, alerts that say all; `benchmarks kill9_kafka` does ten."""
    pytest.importorskip("confluent_kafka")
    from .kafka_server import kafka_jars

    kafka_jars()  # skips where they cannot be had
    command = [sys.executable, "-m", "benchmarks", "kill9_kafka", "--kills", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("lost 0 doubled or wrong 0")
