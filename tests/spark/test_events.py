"""Events by path: partition folders and Delta tables give the pairs of an independent reading, in every plan."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.cli import backtest as backtest_command
from rookery.cli import diff as diff_command
from rookery.cli import match as match_command
from rookery.errors import PipelineError
from rookery.model.datasets import find_dataset
from rookery.spark import Subscriptions, match, match_files
from rookery.spark.events import read_events, read_frame

from .conftest import pairs, read_pairs

pytestmark = pytest.mark.spark

CASES = json.loads((Path(__file__).parents[1] / "cases" / "partitions.json").read_text("utf-8"))

RULES = {
    "subscription_id": ["day", "hour", "place", "nowhere", "x", "both"],
    "where": [
        "day >= TIMESTAMP '2024-01-02T00:00:00Z'", "hour in (1, 30)", "place = 'a b/c'", "place is null", "x > 2",
        "x < 3 and hour = 7",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.parquet"
    pq.write_table(pa.table(RULES), path)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def run(command: Any, **options: Any) -> Any:
        assert command(json=True, **options) == 0
        return json.loads(capsys.readouterr().out)

    return run


def lay(root: Path, names: list[str], *, write: Callable[[Path, list[dict[str, Any]]], None]) -> Path:
    """Write five rows into each of these folders."""
    for number, name in enumerate(names):
        (root / name).mkdir(parents=True, exist_ok=True)
        write(root / name, [{"id": 5 * number + row, "x": float(row)} for row in range(5)])
    return root


def parquet(folder: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), folder / "part+0 é.parquet", row_group_size=2)


def csv(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "part.csv").write_text("id,x\n" + "".join(f"{row['id']},{row['x']}\n" for row in rows))


FOLDERS = [
    "day=2024-01-01/hour=1/place=a b%2Fc",
    "day=2024-01-01/hour=7/place=__HIVE_DEFAULT_PARTITION__",
    "day=2024-01-02/hour=30/place=é",
    "day=2024-01-03/hour=__HIVE_DEFAULT_PARTITION__/place=a b%2Fc",
]


def oracle() -> list[tuple[int, str, int]]:
    """Judge the rows of FOLDERS by hand."""
    values = [(1, 1, "a b/c"), (1, 7, None), (2, 30, "é"), (3, None, "a b/c")]
    found = []
    for number, (day, hour, place) in enumerate(values):
        for row in range(5):
            true = [day >= 2, hour in (1, 30), place == "a b/c", place is None, row > 2, row < 3 and hour == 7]
            found += [
                (5 * number + row, name, 1)
                for name, wanted in zip(RULES["subscription_id"], true, strict=True)
                if wanted
            ]
    return sorted(found)


def test_partition_values_are_those_that_spark_reads(spark: Any, tmp_path: Path) -> None:
    """Types one by one; values of all columns of one type in one job."""
    theirs: dict[str, list[Any]] = {}
    mine: dict[str, list[Any]] = {}
    known: dict[str, list[tuple[str, Any]]] = {}
    for number, case in enumerate(CASES):
        root = tmp_path / str(number)
        for place, value in enumerate(case["values"]):
            (root / f"p={value}").mkdir(parents=True)
            (root / f"p={value}" / "0.json").write_text(json.dumps({"id": f"{number}.{place}"}) + "\n")
        spark_own = spark.read.schema("id string").json(str(root))
        ours = read_frame(spark, root, schema="id string")
        kind = ours.schema["p"].dataType.simpleString()
        if "spark" in case:
            assert (spark_own.schema["p"].dataType.simpleString(), kind) == (case["spark"], "string")
            continue
        assert spark_own.schema == ours.schema, case
        theirs.setdefault(kind, []).append(spark_own)
        mine.setdefault(kind, []).append(ours)
        values = {str(file.path): file.values[0] for file in find_dataset(root).files}
        known.setdefault(kind, []).extend(
            (f"{number}.{place}", values[str(root / f"p={value}" / "0.json")])
            for place, value in enumerate(case["values"])
        )
    assert len(theirs) > 8

    def collected(frames: list[Any]) -> list[tuple[str, Any]]:
        table = reduce(lambda one, other: one.union(other), frames).toArrow()
        return sorted(zip(table["id"].to_pylist(), map(plain, table["p"].to_pylist()), strict=True))

    for kind, frames in theirs.items():
        expected = collected(frames)
        assert collected(mine[kind]) == expected
        assert sorted((name, plain(value)) for name, value in known[kind]) == expected


def plain(value: Any) -> Any:
    """Return what compares: NaN is none of the numbers, and a moment is one whatever its zone is called."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value.astimezone(UTC) if isinstance(value, datetime) else value


@pytest.mark.connect
def test_partition_folders_are_columns_in_every_plan(
    spark: Any, rules: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    folder = lay(tmp_path / "with + and é", FOLDERS, write=parquet)
    assert pairs(match(spark.read.parquet(str(folder)), rules, event_id="id")) == oracle()
    done = match_files(spark, folder, rules, tmp_path / "out", event_id="id")
    assert (done.events, done.quarantined) == (20, ())
    assert read_pairs(tmp_path / "out") == oracle()
    places: dict[str, list[Any]] = {}
    for plan in ("auto", "broadcast", "zoned"):
        named, unnamed = tmp_path / f"{plan}-named", tmp_path / f"{plan}-unnamed"
        said = run(match_command.command, subscriptions=rules, events=folder, out=named, event_id="id", plan=plan)
        assert (said["events"], said["quarantined"]) == (20, [])
        assert said["plan"] == ("files" if plan == "auto" else plan)
        assert read_pairs(named) == oracle()
        run(match_command.command, subscriptions=rules, events=folder, out=unnamed, plan=plan)
        places[plan] = read_pairs(unnamed)
    assert places["auto"] == places["broadcast"] == places["zoned"]
    numbers = {
        f"{folder.resolve() / name}/part+0 é.parquet#{row}": 5 * number + row
        for number, name in enumerate(FOLDERS)
        for row in range(5)
    }
    assert sorted((numbers[event], rule, version) for event, rule, version in places["auto"]) == oracle()


def test_partition_folders_of_text_files_of_several_paths_of_a_tape_and_in_a_stream(
    spark: Any, rules: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    folder = lay(tmp_path / "csv", FOLDERS, write=csv)
    for schema in (None, "id bigint, x double", "id bigint, x double, hour bigint"):
        frame, name = read_events(spark, folder, schema=schema, event_id="id")
        assert pairs(match(frame, rules, event_id=name)) == oracle()
    assert frame.schema["hour"].dataType.simpleString() == "bigint"
    one, other = lay(tmp_path / "1", FOLDERS[:2], write=parquet), lay(tmp_path / "2", FOLDERS[2:], write=parquet)
    frame, name = read_events(spark, [one, other], event_id="id")
    first = [pair for pair in oracle() if pair[0] < 10]
    again = [pair for pair in oracle() if pair[0] >= 10]
    expected = sorted(first + [(event - 10, rule, version) for event, rule, version in again])
    assert pairs(match(frame, rules, event_id=name)) == expected
    assert match_files(spark, [one, other], rules, tmp_path / "several", event_id="id").events == 20
    assert read_pairs(tmp_path / "several") == expected
    whole = lay(tmp_path / "whole", FOLDERS, write=parquet)
    taped = spark.read.format("rookery").option("path", str(whole)).load()
    assert pairs(match(taped, rules, event_id="id")) == oracle()
    said = run(
        match_command.command, subscriptions=rules, events=whole, out=tmp_path / "streamed", event_id="id",
        stream=True, drain=True, checkpoint=tmp_path / "state",
    )  # fmt: skip
    assert said["quarantined"] == []
    assert read_pairs(tmp_path / "streamed") == oracle()


def test_times_in_folders_are_of_the_sessions_zone(spark: Any, tmp_path: Path) -> None:
    folder = lay(tmp_path / "events", ["at=2024-01-01 10%3A00%3A00", "at=2024-07-01 10%3A00%3A00"], write=parquet)
    records = pa.table({"subscription_id": ["late"], "where": ["at > TIMESTAMP '2024-07-01T08:30:00Z'"]})
    zone = spark.conf.get("spark.sql.session.timeZone")
    seen = []
    try:
        for name in ("UTC", "Europe/Berlin"):
            spark.conf.set("spark.sql.session.timeZone", name)
            out = tmp_path / name
            match_files(spark, folder, records, out, event_id="id")
            expected = pairs(match(spark.read.parquet(str(folder)), records, event_id="id"))
            assert read_pairs(out) == expected
            seen.append(len(expected))
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert seen == [5, 0]


def test_a_rule_that_reads_no_column_of_the_file_matches_every_row(spark: Any, tmp_path: Path) -> None:
    folder = lay(tmp_path / "events", FOLDERS, write=parquet)
    records = pa.table({"subscription_id": ["seven"], "where": ["hour = 7"]})
    done = match_files(spark, folder, records, tmp_path / "out")
    assert (done.events, done.matches) == (20, 5)
    assert [pair[0].rpartition("#")[2] for pair in read_pairs(tmp_path / "out")] == list("01234")


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    """Return a table that was appended to, deleted from and given a column, and what it holds by deltalake's reader."""
    deltalake = pytest.importorskip("deltalake")
    folder = tmp_path_factory.mktemp("lake") / "with + and é"
    days = [date(2024, 1, 1 + row % 3) for row in range(30)]
    places = [["a b/c", None, "é"][row // 10] for row in range(30)]
    ids, x = list(range(30)), [float(row % 5) for row in range(30)]
    first = pa.table({"id": ids, "x": x, "day": days, "place": places})
    deltalake.write_deltalake(folder, first, partition_by=["day", "place"])
    hours = pa.table({"id": [number + 100 for number in ids], "x": x, "day": days, "place": places, "hour": [7] * 30})
    deltalake.write_deltalake(folder, hours, mode="append", schema_mode="merge")
    table = deltalake.DeltaTable(folder)
    table.delete("id < 4 or id = 107")
    table.delete("day = '2024-01-03' and place is null")
    held = deltalake.DeltaTable(folder).to_pyarrow_table()
    assert 0 < held.num_rows < 56
    assert sum(pq.read_metadata(file).num_rows for file in folder.rglob("*.parquet")) > 60  # the deleted are there
    return folder, held


@pytest.mark.connect
def test_a_delta_table_is_matched_by_its_log_in_every_plan(
    spark: Any, delta: tuple[Path, pa.Table], rules: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    folder, held = delta
    expected = sorted(
        (row["id"], name, 1)
        for row in held.to_pylist()
        for name, true in (
            ("day", row["day"] >= date(2024, 1, 2)),
            ("hour", row["hour"] in (1, 30)),
            ("place", row["place"] == "a b/c"),
            ("nowhere", row["place"] is None),
            ("x", row["x"] > 2),
            ("both", row["x"] < 3 and row["hour"] == 7),
        )
        if true
    )
    done = match_files(spark, folder, rules, tmp_path / "out", event_id="id")
    assert (done.events, done.quarantined) == (held.num_rows, ())
    assert read_pairs(tmp_path / "out") == expected
    frame, name = read_events(spark, folder, event_id="id")
    assert frame.schema.simpleString() == "struct<id:bigint,x:double,day:date,place:string,hour:bigint>"
    assert pairs(match(frame, rules, event_id=name)) == expected
    places = []
    for plan in ("auto", "broadcast"):
        out = tmp_path / plan
        said = run(match_command.command, subscriptions=rules, events=folder, out=out, plan=plan)
        assert (said["events"], said["matches"], said["quarantined"]) == (held.num_rows, len(expected), [])
        places.append(read_pairs(out))
    assert places[0] == places[1]
    said = run(backtest_command.command, subscriptions=rules, events=folder, event_id="id", key="place")
    assert said["matches"] == len(expected)
    said = run(diff_command.command, old=rules, new=rules, events=folder, event_id="id")
    assert (said["added"], said["removed"], said["changed"]) == (0, 0, 0)


def test_a_delta_table_of_rules_is_its_log(spark: Any, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    for where in ("x > 100", "x > 1"):
        table = pa.table({"subscription_id": ["r"], "where": [where]})
        deltalake.write_deltalake(tmp_path / "rules", table, mode="overwrite")
    frame = spark.createDataFrame([(1, 2.0), (2, 0.0)], "event_id bigint, x double")
    assert pairs(match(frame, Subscriptions.files(tmp_path / "rules"))) == [(1, "r", 1)]


def test_an_empty_delta_table_has_no_matches(spark: Any, tmp_path: Path, run: Callable[..., Any]) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(tmp_path / "events", pa.table({"id": [1], "x": [5.0]}))
    deltalake.DeltaTable(tmp_path / "events").delete()
    pq.write_table(pa.table({"subscription_id": ["x"], "where": ["x > 2"]}), tmp_path / "rules.parquet")
    for plan in ("auto", "broadcast"):
        said = run(
            match_command.command, subscriptions=tmp_path / "rules.parquet", events=tmp_path / "events",
            out=tmp_path / plan, plan=plan,
        )  # fmt: skip
        assert (said["events"], said["matches"], said["quarantined"]) == (0, 0, [])


def test_tables_that_are_not_read_are_refused_everywhere(
    spark: Any, delta: tuple[Path, pa.Table], rules: Path, tmp_path: Path
) -> None:
    iceberg = lay(tmp_path / "iceberg", ["data/day=1"], write=parquet)
    (iceberg / "metadata").mkdir()
    (iceberg / "metadata" / "v1.metadata.json").write_text("{}")
    out, table = tmp_path / "out", delta[0]
    refusals: list[Callable[[], Any]] = [
        lambda: match_files(spark, iceberg, rules, out),
        lambda: match_command.command(rules, iceberg, out),
        lambda: match_command.command(iceberg, table, out),
        lambda: backtest_command.command(rules, iceberg),
        lambda: diff_command.command(rules, rules, iceberg),
        lambda: spark.read.format("rookery").option("path", str(iceberg)).load().count(),
        lambda: match(spark.createDataFrame([(1,)], "event_id int"), iceberg),
    ]
    for refused in refusals:
        with pytest.raises(Exception, match=r"Iceberg table.*spark\.read\.format\('iceberg'\)"):
            refused()
    for kind, path in (("Delta", table), ("Iceberg", iceberg)):
        with pytest.raises(PipelineError, match=rf"{kind} table.*spark\.readStream\.format\('{kind.lower()}'\)"):
            match_command.command(rules, path, out, stream=True, checkpoint=tmp_path / "state")
    with pytest.raises(PipelineError, match="leave the schema out"):
        match_command.command(rules, table, out, schema="id:int64")
    with pytest.raises(Exception, match="a tape is files that stay"):
        spark.read.format("rookery").option("path", str(table)).load().count()
    assert not out.exists()
