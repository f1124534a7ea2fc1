"""Tables and places: `match` = `match_files` = the command line = an independent reading, for each way to keep events.

The independent readings share nothing with Rookery: DuckDB with `hive_partitioning`, deltalake, pyiceberg.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.model.test_iceberg_log import folder_of, iceberg

from rookery.cli import backtest as backtest_command
from rookery.cli import diff as diff_command
from rookery.cli import match as match_command
from rookery.errors import PipelineError, SinkError
from rookery.model.storage import create, path_of
from rookery.spark import Subscriptions, match, match_files
from rookery.spark.events import read_events, stream_events
from rookery.spark.outputs import read_published

from .conftest import pairs

pytestmark = pytest.mark.spark

#: As SQL says them too, so that DuckDB can judge the rows by itself.
RULES = {"hot": "x > 6", "odd": "day = 'b' and x < 3", "none": "unit is null", "cold": "x <= 0 or day is null"}


def events(count: int, *, first: int = 0, unit: bool = False) -> pa.Table:
    ids = list(range(first, first + count))
    days = [("a", "b", None)[number % 3] for number in ids]
    found = {"id": pa.array(ids, pa.int64()), "day": days, "x": [float(number % 9) for number in ids]}
    return pa.table(found | ({"unit": [None if number % 5 == 0 else "C" for number in ids]} if unit else {}))


def expected(held: pa.Table) -> list[tuple[int, str, int]]:
    """Judge what an independent reader held, by DuckDB."""
    if "unit" not in held.column_names:
        held = held.append_column("unit", pa.nulls(held.num_rows, pa.string()))
    judge = duckdb.connect()
    judge.register("held", held)
    found = []
    for name, where in RULES.items():
        found += [(row[0], name, 1) for row in judge.execute(f"select id from held where {where}").fetchall()]
    return sorted(found)


Made = tuple[Any, dict[str, Any], pa.Table]


def hive(root: Path) -> Made:
    """Partition folders of many small files."""
    for number in range(60):
        part = events(3, first=3 * number, unit=True)
        for day in ("a", "b", None):
            rows = part.filter(pa.array([value == day for value in part["day"].to_pylist()])).drop_columns(["day"])
            folder = root / f"day={day or '__HIVE_DEFAULT_PARTITION__'}"
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, folder / f"{number}.parquet")
    held = duckdb.connect().sql(
        f"select id, day, x, unit from read_parquet('{root}/*/*.parquet', hive_partitioning=true)"
    )  # fmt: skip
    return root, {}, held.to_arrow_table()


def delta(root: Path) -> Any:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(root, events(40), partition_by=["day"])
    deltalake.write_deltalake(root, events(20, first=100, unit=True), mode="append", schema_mode="merge")
    deltalake.DeltaTable(root).delete("x > 7 or id = 104")
    return deltalake.DeltaTable(root)


def delta_now(root: Path) -> Made:
    return root, {}, delta(root).to_pyarrow_table()


def delta_version(root: Path) -> Made:
    table = delta(root)
    table.load_as_version(0)
    return root, {"version": 0}, table.to_pyarrow_table()


def delta_time(root: Path) -> Made:
    """A commit is as old as its file in the log: here an hour apart, so that two are never of one moment."""
    table, now = delta(root), datetime.now(UTC)
    for version, commit in enumerate(sorted((root / "_delta_log").glob("*.json"))):
        os.utime(commit, ((now - timedelta(hours=3 - version)).timestamp(),) * 2)
    table.load_as_version(1)
    return root, {"at": now - timedelta(hours=1, minutes=30)}, table.to_pyarrow_table()


def iceberg_now(root: Path) -> Made:
    from pyiceberg.types import StringType

    table = iceberg(root, events(40))
    with table.update_schema() as change:
        change.add_column("unit", StringType())
    table.append(events(20, first=100, unit=True))
    table.delete("x > 7")
    return folder_of(table), {}, table.scan().to_arrow()


def iceberg_snapshot(root: Path) -> Made:
    folder, _, _ = iceberg_now(root)
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(str(max((folder / "metadata").glob("*.metadata.json"))))
    first = min(table.snapshots(), key=lambda one: one.timestamp_ms)
    return folder, {"version": first.snapshot_id}, table.scan(snapshot_id=first.snapshot_id).to_arrow()


@pytest.mark.parametrize("make", [hive, delta_now, delta_version, delta_time, iceberg_now, iceberg_snapshot])
def test_every_reading_of_a_table_gives_the_pairs_of_an_independent_one(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], Made]
) -> None:
    if "iceberg" in make.__name__:
        pytest.importorskip("pyiceberg")
    folder, state, held = make(tmp_path / "with é" / "table")
    wanted = expected(held)
    rules = tmp_path / "rules.parquet"
    kept = {name: where for name, where in RULES.items() if name != "none" or "unit" in held.column_names}
    pq.write_table(pa.table({"subscription_id": list(kept), "where": list(kept.values())}), rules)
    wanted = [pair for pair in wanted if pair[1] in kept]
    assert len({pair[1] for pair in wanted}) == len(kept), "each rule has a match"
    done = match_files(spark, folder, rules, tmp_path / "files", event_id="id", **state)
    assert (done.events, done.matches, done.quarantined) == (held.num_rows, len(wanted), ())
    assert published(tmp_path / "files") == wanted
    frame, name = read_events(spark, folder, event_id="id", **state)
    assert pairs(match(frame, rules, event_id=name)) == wanted
    told = {"table_version": state.get("version"), "table_time": state.get("at")}
    for plan in ("auto", "broadcast"):
        out = tmp_path / plan
        assert match_command.command(rules, folder, out, event_id="id", plan=plan, json=True, **told) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["events"], said["matches"], said["quarantined"]) == (held.num_rows, len(wanted), [])
        assert published(out) == wanted
    assert backtest_command.command(rules, folder, event_id="id", json=True, **told) == 0
    assert json.loads(capsys.readouterr().out)["matches"] == len(wanted)


def published(out: Any) -> list[tuple[Any, ...]]:
    table = read_published(out, ["event_id", "subscription_id", "version"])
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_events_rules_and_output_in_a_store_need_no_file_system_of_spark(
    classic: Any, bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classic.sparkContext.environment |= {name: os.environ[name] for name in os.environ if name.startswith("AWS_")}
    spark = classic
    folder, _, held = hive(tmp_path / "events")
    place = path_of(f"{bucket}/{tmp_path.name}")
    for path in [*folder.rglob("*.parquet")]:
        assert create(place / "events" / path.relative_to(folder).as_posix(), path.read_bytes())
    text = "subscription_id,where\n" + "".join(f'{name},"{where}"\n' for name, where in RULES.items())
    assert create(place / "rules.csv", text.encode())
    rules, wanted = str(place / "rules.csv"), expected(held)
    done = match_files(spark, str(place / "events"), rules, str(place / "files"), event_id="id")
    assert (done.events, done.matches) == (held.num_rows, len(wanted))
    assert published(str(place / "files")) == wanted
    frame = spark.read.parquet(str(folder))
    assert pairs(match(frame, Subscriptions.files(rules), event_id="id")) == wanted
    places = [str(place / "events").replace("s3://", "s3a://"), str(place / "events")]
    for number, given in enumerate(places):
        out = f"{place}/out{number}"
        assert match_command.command(rules, given, out, json=True) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["plan"], said["matches"], said["out"]) == ("files", len(wanted), out)
    named = [sorted(read_published(f"{place}/out{number}", ["event_id"])["event_id"].to_pylist()) for number in (0, 1)]
    assert named[0] == named[1], "an event is called alike by whichever scheme it is found"
    assert named[0][0].startswith(f"{place}/events/day=")
    with pytest.raises(SinkError, match="already holds files"):
        match_command.command(rules, places[1], f"{place}/out0")
    assert match_command.command(rules, places[1], f"{place}/out0", overwrite=True, event_id="id", json=True) == 0
    assert published(f"{place}/out0") == wanted
    capsys.readouterr()
    pq.write_table(held, tmp_path / "local.parquet")
    assert create(place / "fewer.csv", text.replace("x > 6", "x > 7").encode())
    fewer, local = str(place / "fewer.csv"), str(tmp_path / "local.parquet")
    assert diff_command.command(rules, fewer, local, f"{place}/diff", event_id="id", json=True) == 0
    gone = sum(1 for number in held["x"].to_pylist() if number == 7)
    assert json.loads(capsys.readouterr().out)["removed"] == gone > 0
    assert read_published(f"{place}/diff", ["change"]).num_rows == gone


def test_tables_of_rules_are_read_once_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltalake = pytest.importorskip("deltalake")
    folder = tmp_path / "rules"
    deltalake.write_deltalake(folder, pa.table({"subscription_id": ["r"], "where": ["x > 1"]}))
    rules = Subscriptions.files(folder)
    first = rules.source.fingerprint()
    with monkeypatch.context() as patch:
        patch.setattr(pq, "read_table", lambda *given, **named: pytest.fail("the table was read"))
        assert rules.source.fingerprint() == first
        deltalake.write_deltalake(folder, pa.table({"subscription_id": ["s"], "where": ["x > 2"]}), mode="append")
        assert rules.source.fingerprint() != first
    assert sorted(rules.refresh().records()["subscription_id"].to_pylist()) == ["r", "s"]  # files are in no order


def test_a_table_of_the_catalog_is_read_once_a_change(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from rookery.spark import subscriptions

    table = pa.table({"subscription_id": ["r"], "where": ["x > 1"]})
    spark.createDataFrame(table).write.mode("overwrite").saveAsTable("signed_rules")
    spark.sql("create or replace temporary view viewed_rules as select * from signed_rules")
    try:
        rules, viewed = Subscriptions.table(spark, "signed_rules"), Subscriptions.table(spark, "viewed_rules")
        assert rules.records()["subscription_id"].to_pylist() == ["r"]
        seen = viewed.source.fingerprint()
        with monkeypatch.context() as patch:
            patch.setattr(subscriptions, "table_of", lambda frame: pytest.fail("the table was read"))
            first = rules.source.fingerprint()
            assert rules.source.fingerprint() == first
            spark.createDataFrame(table).write.mode("append").saveAsTable("signed_rules")
            assert rules.source.fingerprint() != first
        assert viewed.source.fingerprint() != seen  # by its content: a view has no files
    finally:
        spark.sql("drop view viewed_rules")
        spark.sql("drop table signed_rules")


def test_tables_of_the_catalog_are_named_where_a_path_may_stand(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = events(60, unit=True)
    wanted = expected(held)
    spark.createDataFrame(held).write.mode("overwrite").saveAsTable("named_events")
    rules = pa.table({"subscription_id": list(RULES), "where": list(RULES.values())})
    spark.createDataFrame(rules).write.mode("overwrite").saveAsTable("named_rules")
    fewer = rules.filter(pa.array([name != "hot" for name in RULES]))
    spark.createDataFrame(fewer).write.mode("overwrite").saveAsTable("fewer_rules")
    try:
        out = tmp_path / "out"
        assert match_command.command("table:named_rules", "table:named_events", str(out), event_id="id", json=True) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["events"], said["matches"], said["plan"]) == (60, len(wanted), "expressions")
        assert published(out) == wanted
        assert backtest_command.command("table:named_rules", "table:named_events", event_id="ID", json=True) == 0
        assert json.loads(capsys.readouterr().out)["matches"] == len(wanted)
        changed = ("table:named_rules", "table:fewer_rules", "table:named_events")
        assert diff_command.command(*changed, event_id="id", json=True) == 0
        hot = sum(1 for pair in wanted if pair[1] == "hot")
        assert json.loads(capsys.readouterr().out)["removed"] == hot > 0
        for given, said in (
            (("table:gone",), "no table 'gone' in the catalog"),
            (("table:named_events",), "no column event_id"),
            (("table:named_events", "id", "id bigint"), "leave the schema out"),
        ):
            with pytest.raises(PipelineError, match=said):
                read_events(spark, given[0], **dict(zip(("event_id", "schema"), given[1:], strict=False)))
        with pytest.raises(PipelineError, match="at a version or at a time, not both"):
            read_events(spark, "table:named_events", event_id="id", version=1, at=datetime.now(UTC))
        for state in ({"version": 1}, {"at": datetime(2026, 1, 2)}):  # Spark itself says what has no versions
            with pytest.raises(Exception, match=r"(?i)time.travel"):
                read_events(spark, "table:named_events", event_id="id", **state)[0].count()
        with pytest.raises(PipelineError, match=r"spark.readStream.table\('named_events'\)"):
            stream_events(spark, "table:named_events")
    finally:
        for name in ("named_events", "named_rules", "fewer_rules"):
            spark.sql(f"drop table {name}")
