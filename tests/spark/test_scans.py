"""A bare scan of Parquet is read by the workers, and nothing else is: the matches are Spark's either way."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import PipelineError
from rookery.spark import explain_plan, match
from rookery.spark.scans import Scan, bare_scan

from .conftest import pairs

pytestmark = pytest.mark.spark

RULES = pa.table({"subscription_id": ["hot", "text", "both"], "where": ["x > 6", "s like '%a%b%'", "x > lim"]})


def written(folder: Path) -> Path:
    """Write files of several row groups, with NULL, NaN and a time."""
    folder.mkdir()
    for number in range(3):
        first = number * 40
        ids = range(first, first + 40)
        table = pa.table(
            {
                "event_id": pa.array(ids, pa.int64()),
                "x": pa.array([(None, float("nan"), -0.0)[one] if one < 3 else float(one % 9) for one in ids]),
                "lim": pa.array([one % 7 for one in ids], pa.int32()),
                "s": pa.array([("ab", "cb", None, "xaxb")[one % 4] for one in ids]),
                "ts": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * 40, pa.timestamp("us", "UTC")),
            }
        )
        pq.write_table(table, folder / f"with space {number}.parquet", row_group_size=15)
    return folder


def test_what_is_a_bare_scan_and_what_is_none(classic: Any, tmp_path: Path) -> None:
    spark, folder = classic, written(tmp_path / "events")
    frame = spark.read.parquet(str(folder))
    columns = ["event_id", "x", "s", "ts"]
    scan = bare_scan(frame, columns)
    assert isinstance(scan, Scan)
    assert sum(len(share) for share in scan.shares) == 9
    assert isinstance(bare_scan(frame.select(*columns).alias("narrow"), columns), Scan)
    frame.write.partitionBy("lim").parquet(str(tmp_path / "cut"))
    frame.write.orc(str(tmp_path / "orc"))
    declared = spark.read.schema("event_id bigint, x double, s string, ts date").parquet(str(folder))
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        frame.write.parquet(str(tmp_path / "int96"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    cached = spark.read.parquet(str(folder / "with space 0.parquet")).cache()
    others = {
        "Filter": frame.where("x > 1"),
        "Limit": frame.limit(5),
        "computed": frame.selectExpr("event_id", "x + 1 as x", "s", "ts"),
        "names of folders": spark.read.parquet(str(tmp_path / "cut")),
        "no Parquet": spark.read.orc(str(tmp_path / "orc")),
        "options": spark.read.option("mergeSchema", "true").parquet(str(folder)),
        "ts is not": declared,
        "is not timestamp": spark.read.parquet(str(tmp_path / "int96")),
        "cached": cached,
    }
    for reason, other in others.items():
        found = bare_scan(other, columns)
        assert not isinstance(found, Scan), reason
        assert reason in found.reason
        if reason != "ts is not":
            with pytest.raises(PipelineError, match="is not to be had here"):
                match(other, RULES.slice(0, 1), plan="files", columns=["ts"])
    cached.unpersist()


def test_workers_read_what_spark_reads(classic: Any, tmp_path: Path) -> None:
    spark, folder = classic, written(tmp_path / "events")
    frame = spark.read.parquet(str(folder))
    found = match(frame, RULES, columns=["ts", "s"])
    assert explain_plan(frame, RULES).name == "files"
    expected = match(frame, RULES, plan="broadcast", columns=["ts", "s"])
    assert found.schema == expected.schema
    rows = [sorted(one.toArrow().to_pylist(), key=str) for one in (found, expected)]
    assert rows[0] == rows[1]
    assert {row["subscription_id"] for row in rows[0]} == {"hot", "text", "both"}
    told = [pairs(match(frame, RULES, plan=plan, explain=True)) for plan in ("files", "broadcast")]  # type: ignore[arg-type]
    assert told[0] == told[1]
    found = match(frame, RULES)
    pq.write_table(pq.read_table(folder / "with space 1.parquet"), folder / "with space 1.parquet")
    with pytest.raises(Exception, match="was written anew while it was matched"):
        found.collect()
