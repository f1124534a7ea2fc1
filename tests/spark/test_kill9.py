"""Kill -9 of the driver with rule edits in flight: a few times in CI, each of which starts a Spark anew, more with
--slow, a hundred with `python -m benchmarks kill9`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.spark import VersionLog, write_stream

from . import now_driver
from .conftest import read_pairs

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.spark


def kill(times: int, *how: str) -> str:
    command = [sys.executable, "-m", "benchmarks", "kill9", "--kills", str(times), *how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


def many(usual: int, slow: int) -> Any:
    """How many kills: so many in CI, so many with --slow."""
    return pytest.mark.parametrize("kills", [usual, pytest.param(slow, marks=pytest.mark.slow)])


@many(2, 10)
def test_kills_leave_the_raw_output_exact(kills: int) -> None:
    last = kill(kills)
    assert last.startswith(f"kills {kills}")
    assert last.endswith("missed 0 extra 0")


@many(1, 5)
def test_so_do_those_with_everything_in_an_object_store(kills: int) -> None:
    """Rules, version log and output through Rookery's own layer, Spark's checkpoint through s3a."""
    from .s3_server import hadoop_aws

    hadoop_aws()  # skips where it cannot be had
    last = kill(kills, "--store")
    assert last.startswith(f"kills {kills}")
    assert last.endswith("missed 0 extra 0")


@many(1, 5)
def test_so_do_those_between_topics_of_kafka(kills: int) -> None:
    """A transactional producer, TLS and a password, alerts that say all; `benchmarks kill9_kafka` does ten."""
    pytest.importorskip("confluent_kafka")
    from .kafka_server import kafka_jars

    kafka_jars()  # skips where they cannot be had
    command = [sys.executable, "-m", "benchmarks", "kill9_kafka", "--kills", str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("lost 0 doubled or wrong 0")


def test_a_replayed_batch_has_the_now_of_the_killed_one(classic: Any, tmp_path: Path) -> None:
    """Killed after it was bound and matched: the recorded moment decides, for rules with and without a trigger."""
    from benchmarks.kill9 import kill as kill_all

    events, out, checkpoint, held = (tmp_path / name for name in ("events", "out", "checkpoint", "held"))
    rules = tmp_path / "rules.jsonl"
    events.mkdir()
    asked = {"past": {}, "quiet": {"cooldown": 0.001}}  # every event of it fires, through the stateful operator
    rules.write_text(
        "".join(
            json.dumps({"subscription_id": name, "where": "ts < now()"} | more) + "\n" for name, more in asked.items()
        )
    )
    begun, step = datetime.now(UTC), timedelta(milliseconds=250)
    times = [begun + number * step for number in range(4_000)]  # a quarter of an hour: now() is within

    def add(first: int) -> None:
        instants = pa.array(times, pa.timestamp("us", "UTC"))
        table = pa.table({"event_id": pa.array(range(first, first + len(times))), "ts": instants})
        pq.write_table(table, events / f"{first:06d}.parquet")

    add(0)
    driver = subprocess.Popen([sys.executable, now_driver.__file__, *map(str, (events, rules, out, checkpoint, held))])
    try:
        while not held.exists():
            assert driver.poll() is None, "the driver ended by itself"
            time.sleep(0.05)
    finally:
        kill_all(driver)
    log, offsets, commits = VersionLog(str(checkpoint)), checkpoint / "offsets", checkpoint / "commits"
    assert (offsets / "0").exists()
    assert not (commits / "0").exists()
    killed = log.moment(0)
    assert killed is not None
    assert read_pairs(out) == []

    add(len(times))  # the next batch, which has a later moment
    found = now_driver.matches(classic, str(events), str(rules), str(checkpoint))
    query = write_stream(found, str(out), checkpoint=str(checkpoint), trigger={"availableNow": True})
    assert query.awaitTermination(3_000)
    assert log.moment(0) == killed
    after = log.moment(1)
    assert after is not None
    assert killed + step < after, "a replay with its own moment would have been seen"
    due = [number for number, instant in enumerate(times) if instant < killed]
    later = [len(times) + number for number, instant in enumerate(times) if instant < after]
    assert len(due) < len(later) < len(times)
    # of the second batch an event is older than the newest seen, and fires nothing, up to the first batch's last
    assert [row for row, name, _ in read_pairs(out) if name == "past"] == [*due, *later]
    assert [row for row, name, _ in read_pairs(out) if name == "quiet" and row < len(times)] == due
