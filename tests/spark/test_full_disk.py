"""A full disk, through every way out: said plainly, nothing half-written is visible; with room it goes on, exactly."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.spark import Subscriptions, match, match_files, write_stream
from rookery.spark.failures import plain_failure

from .conftest import read_pairs

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root"),
]

#: Names that no compression makes smaller than 32 bytes each: the second file's matches need 1.3 MB and more.
FEW, MANY = 10, 40_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount a tmpfs")
    yield small
    subprocess.run(["umount", str(small)], check=True)


def make_room(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    folder = tmp_path / "events"
    folder.mkdir()
    for number, rows in enumerate((FEW, MANY)):
        names = [os.urandom(32).hex() for _ in range(rows)]
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"event_id": names, "x": pa.array([float(number)] * rows)}), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def said_plainly(out: Path, run: Callable[[], object]) -> None:
    """Expect the failure that a full disk is, in the words that the command line shows."""
    with pytest.raises(Exception, match="no space left") as caught:
        run()
    assert str(plain_failure(caught.value)) == (
        f"no space left for {out}: free some room and run again; nothing was published"
    )


RULES = pa.table({"subscription_id": [1], "where": ["x >= 0"]})


def test_a_batch_job_by_files_or_through_spark(spark: Any, disk: Path, events: Path) -> None:
    said_plainly(disk / "files", lambda: match_files(spark, events, RULES, disk / "files", event_id="event_id"))
    frame = match(spark.read.parquet(str(events)), RULES).drop("zone")
    writer = frame.write.format("rookery.parquet").mode("append")
    said_plainly(disk / "rows", lambda: writer.save(str(disk / "rows")))
    assert not list(disk.rglob("*.parquet"))  # neither visible nor left in staging
    make_room(disk)
    match_files(spark, events, RULES, disk / "files", event_id="event_id")
    assert len(read_pairs(disk / "files")) == FEW + MANY


def test_a_stream_stops_and_goes_on_when_there_is_room(spark: Any, disk: Path, events: Path, tmp_path: Path) -> None:
    pq.write_table(RULES, tmp_path / "rules.parquet")
    checkpoint, out = str(tmp_path / "checkpoint"), disk / "out"

    def run() -> Any:
        reader = spark.readStream.schema("event_id string, x double").option("maxFilesPerTrigger", 1)
        hits = match(
            reader.parquet(str(events)), Subscriptions.files(tmp_path / "rules.parquet"), checkpoint=checkpoint
        )
        query = write_stream(hits, str(out), checkpoint=checkpoint, trigger={"availableNow": True})
        return query.awaitTermination(240)

    said_plainly(out, run)
    assert [path.name for path in out.iterdir()] == ["batch=0"]
    assert len(read_pairs(out)) == FEW
    make_room(disk)
    assert run()
    found = read_pairs(out)
    assert len(found) == len(set(found)) == FEW + MANY
