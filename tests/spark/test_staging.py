"""Two-phase output: whole and once, or not at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import SinkError
from rookery.spark.staging import Staged, StagedOutput

SCHEMA = pa.schema([("event_id", pa.int64()), ("subscription_id", pa.string())])


def batch(*rows: tuple[int, str]) -> pa.RecordBatch:
    return pa.record_batch([[row[0] for row in rows], [row[1] for row in rows]], schema=SCHEMA)


def read(folder: Path) -> list[dict[str, object]]:
    return [row for file in sorted(folder.rglob("*.parquet")) for row in pq.ParquetFile(file).read().to_pylist()]


def test_nothing_is_visible_before_it_is_published(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"))
    staged = [output.write([batch((1, "a")), batch((2, "b"))], SCHEMA), output.write([batch((3, "c"))], SCHEMA)]
    assert not output.output.exists()
    assert output.publish_batch(staged, 0, SCHEMA)
    assert [row["event_id"] for row in read(output.output)] == [1, 2, 3]
    assert [path.name for path in output.output.iterdir()] == ["batch=0"]
    assert list(output.staging.iterdir()) == []


def test_a_replayed_batch_is_dropped(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"))
    assert output.publish_batch([output.write([batch((1, "a"))], SCHEMA)], 7, SCHEMA)
    assert not output.publish_batch([output.write([batch((1, "a"))], SCHEMA)], 7, SCHEMA)
    assert len(read(output.output)) == 1
    assert list(output.staging.iterdir()) == []


def test_a_result_without_rows_still_has_its_columns(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"))
    assert output.write([], SCHEMA) == Staged(None, 0)
    output.publish([Staged(None, 0)], SCHEMA)
    (file,) = output.output.rglob("*.parquet")
    assert pq.read_schema(file).names == SCHEMA.names


def test_a_failing_task_leaves_nothing(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"))

    def rows() -> object:
        yield batch((1, "a"))
        raise RuntimeError("the task dies")

    with pytest.raises(RuntimeError):
        output.write(rows(), SCHEMA)  # type: ignore[arg-type]
    assert list(output.staging.iterdir()) == []


def test_what_a_killed_task_leaves_is_swept_and_never_seen(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"))
    output.write([batch((1, "a"))], SCHEMA)  # reported to nobody
    output.publish_batch([output.write([batch((2, "b"))], SCHEMA)], 0, SCHEMA)
    assert [row["event_id"] for row in read(output.output)] == [2]
    assert output.sweep() == 1


def test_another_stream_may_not_write_here(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"))
    output.claim("first")
    output.claim("first")
    with pytest.raises(SinkError, match="another stream"):
        output.claim("second")
    (tmp_path / "old" / "batch=0").mkdir(parents=True)
    with pytest.raises(SinkError, match="unknown stream"):
        StagedOutput(str(tmp_path / "old")).claim("third")


def test_a_batch_job_replaces_only_what_it_may(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"))
    output.publish([output.write([batch((1, "a"))], SCHEMA)], SCHEMA)
    with pytest.raises(SinkError, match="--overwrite"):
        output.check_free()
    output.check_free(overwrite=True)
    output.publish([output.write([batch((2, "b"))], SCHEMA)], SCHEMA, overwrite=True)
    assert [row["event_id"] for row in read(output.output)] == [2]
    (tmp_path / "file").touch()
    with pytest.raises(SinkError, match="is a file"):
        StagedOutput(str(tmp_path / "file")).check_free()


def test_json_lines(tmp_path: Path) -> None:
    output = StagedOutput(str(tmp_path / "out"), "jsonl")
    output.publish([output.write([batch((1, "ä"))], SCHEMA)], SCHEMA)
    (file,) = output.output.iterdir()
    assert file.read_text() == '{"event_id": 1, "subscription_id": "ä"}\n'


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_said_plainly_and_nothing_is_published(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("this machine does not let us mount a tmpfs")
    try:
        output = StagedOutput(str(small / "out"))
        wide = pa.schema([("event_id", pa.int64()), ("subscription_id", pa.string())])
        rows = (batch(*((number, os.urandom(64).hex()) for number in range(4096))) for _ in range(64))
        with pytest.raises(SinkError, match=r"no space left.*nothing was published"):
            output.write(rows, wide)
        assert not output.output.exists()
        assert list(output.staging.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
