"""The files plan and the command line: the same pairs, Parquet in and Parquet out, and mistakes said plainly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from rookery.cli import backtest as backtest_command
from rookery.cli import diff as diff_command
from rookery.cli import match as match_command
from rookery.errors import PipelineError, SinkError
from rookery.spark import backtest, diff, match, match_files, workload
from rookery.spark.events import read_events
from rookery.spark.outputs import read_published
from rookery.spark.workloads import oracle

from .conftest import QUICK, pairs, read_pairs

pytestmark = pytest.mark.spark

RULES, ROWS = 300, 12_000


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events with + and space")
    table = workload("ranges").table(ROWS)
    pq.write_table(table.slice(0, 7_000), folder / "a.parquet", row_group_size=2_000)
    pq.write_table(table.slice(7_000), folder / "b.parquet", row_group_size=3_000)
    return folder


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "rules.parquet"
    pq.write_table(workload("ranges").rules(RULES, 1), path)
    return path


@pytest.fixture(scope="module")
def expected() -> list[tuple[Any, ...]]:
    load = workload("ranges")
    return [tuple(row) for row in oracle(load.table(ROWS), load.bounds(RULES, 1)).tolist()]


@pytest.mark.connect
def test_the_files_plan_equals_the_oracle(
    spark: Any, events: Path, rules: Path, expected: list[Any], tmp_path: Path
) -> None:
    done = match_files(spark, events, rules, tmp_path / "out", event_id="event_id")
    assert (done.events, done.matches) == (ROWS, len(expected))
    assert read_pairs(tmp_path / "out") == expected
    assert sorted(pq.read_schema(next((tmp_path / "out").glob("*.parquet"))).names) == [
        "event_id", "subscription_id", "version",
    ]  # fmt: skip
    counts: dict[int, int] = {}
    for pair in expected:
        counts[pair[1]] = counts.get(pair[1], 0) + 1
    assert done.top[0][1] == max(counts.values())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def run(capsys: pytest.CaptureFixture[str], command: Any, **options: Any) -> Any:
    """Run a command in this process; the session that the tests hold is the one it finds."""
    assert command(json=True, **options) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_gives_the_same_pairs_in_every_plan(
    spark: Any, events: Path, rules: Path, expected: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named: dict[str, list[Any]] = {}
    for plan in ("auto", "broadcast", "zoned"):
        out = tmp_path / plan
        said = run(capsys, match_command.command, subscriptions=rules, events=events, out=out, plan=plan)
        assert (said["events"], said["matches"]) == (ROWS, len(expected))
        assert said["plan"] == ("files" if plan == "auto" else plan)
        named[plan] = read_pairs(out)
        assert named[plan] == expected


def test_the_command_gives_the_same_pairs_with_the_matrix_and_says_which_engine(
    spark: Any, events: Path, rules: Path, expected: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run(capsys, match_command.command, subscriptions=rules, events=events, out=tmp_path / "o", engine="matrix")
    assert (said["matches"], said["engine"], said["plan"]) == (len(expected), "matrix", "files")
    assert read_pairs(tmp_path / "o") == expected
    with pytest.raises(PipelineError, match="engine='scan': scan is the oracle"):
        match_command.command(rules, events, tmp_path / "no", engine="scan")


def test_without_an_id_a_parquet_event_is_named_by_its_place_in_every_plan(
    spark: Any, rules: Path, expected: list[Any], events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "no id + é"
    folder.mkdir()
    for file in sorted(events.iterdir()):
        pq.write_table(pq.read_table(file).drop_columns(["event_id"]), folder / file.name, row_group_size=1_500)
    seen = []
    for plan in ("files", "broadcast"):
        out = tmp_path / plan
        run(capsys, match_command.command, subscriptions=rules, events=folder, out=out, plan=plan)
        seen.append(read_pairs(out))
    assert seen[0] == seen[1]
    first = folder.resolve() / "a.parquet"
    place = {
        f"{first}#{row}" if row < 7_000 else f"{first.with_name('b.parquet')}#{row - 7_000}": row for row in range(ROWS)
    }
    assert sorted((place[event], rule, version) for event, rule, version in seen[0]) == expected


def test_csv_and_json_lines_and_a_stream(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.csv").write_text("subscription_id,where\nhot,x > 10\nnamed,s = 'a'\nbad,z = 1\n")
    for name, text in (
        ("csv", "id,x,s\n1,11.5,a\n2,3.5,a\n"),
        ("jsonl", '{"id": 1, "x": 11.5, "s": "a"}\n{"id": 2, "x": 3.5, "s": "a"}\n'),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"events.{name}").write_text(text)
        for number, more in enumerate(({}, {"stream": True, "drain": True, "checkpoint": tmp_path / f"{name}-state"})):
            out = tmp_path / f"{name}-out{number}"
            said = run(
                capsys, match_command.command, subscriptions=tmp_path / "rules.csv", events=folder, out=out,
                event_id="id", **more,
            )  # fmt: skip
            assert read_pairs(out) == [(1, "hot", 1), (1, "named", 1), (2, "named", 1)]
            assert [bad["subscription_id"] for bad in said["quarantined"]] == ["bad"]
    with pytest.raises(PipelineError, match="--event-id"):
        match_command.command(tmp_path / "rules.csv", tmp_path / "csv", tmp_path / "nowhere")


def test_the_command_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Nothing here is prepared by a fixture: the session, the sinks and the summary are the command's own."""
    (tmp_path / "rules.csv").write_text("subscription_id,where\nhot,x > 10\nbad,z = 1\n")
    (tmp_path / "events.csv").write_text("id,x\n1,11.5\n2,3.0\n")
    arguments = ["-s", "rules.csv", "-e", "events.csv", "-o", "out", "--event-id", "id", "--json"]
    if "ROOKERY_TEST_REMOTE" in os.environ:
        arguments += ["--master", os.environ["ROOKERY_TEST_REMOTE"]]
    done = subprocess.run(
        [sys.executable, "-m", "rookery", "match", *arguments],
        cwd=tmp_path,
        env={**os.environ, "JDK_JAVA_OPTIONS": QUICK},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["events"], said["matches"], said["top"], said["plan"]) == (2, 1, [["hot", 1]], "expressions")
    assert [bad["subscription_id"] for bad in said["quarantined"]] == ["bad"]
    assert read_pairs(tmp_path / "out") == [(1, "hot", 1)]


def test_mistakes_are_said_plainly_and_nothing_is_left(spark: Any, events: Path, rules: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.mkdir()
    whole = (events / "a.parquet").read_bytes()
    (cut / "a.parquet").write_bytes(whole[: len(whole) // 2])
    for plan in ("auto", "broadcast"):
        with pytest.raises(PipelineError, match=r"a\.parquet|cut short"):
            match_command.command(rules, cut, tmp_path / "out", plan=plan)
    (cut / "b.parquet").write_bytes(
        whole[:4] + bytes(len(whole) - 300) + whole[-296:]
    )  # the footer is whole, the data not
    (cut / "a.parquet").unlink()
    with pytest.raises(PipelineError, match=r"b\.parquet"):
        match_command.command(rules, cut, tmp_path / "out", event_id="event_id")
    assert not (tmp_path / "out").exists()
    with pytest.raises(PipelineError, match="no such file"):
        match_command.command(rules, tmp_path / "nothing", tmp_path / "out")
    with pytest.raises(PipelineError, match=r"no column 'tim'.*--time"):
        match_command.command(rules, events, tmp_path / "out", time="tim")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").touch()
    with pytest.raises(SinkError, match="already holds files"):
        match_command.command(rules, events, tmp_path / "out")
    pq.write_table(pa.table({"event_id": ["x"], "a0": [1.0]}), cut / "c.parquet")
    (cut / "b.parquet").write_bytes(whole)
    with pytest.raises(PipelineError, match=r"c\.parquet: its columns differ"):
        match_command.command(rules, cut, tmp_path / "out2")


def test_an_unreachable_master_is_said_at_once(tmp_path: Path) -> None:
    from rookery.errors import SparkUnavailableError
    from rookery.spark.sessions import check_master

    with pytest.raises(SparkUnavailableError, match=r"no Spark answers at spark://127\.0\.0\.1:1 "):
        check_master("spark://127.0.0.1:1")
    with pytest.raises(SparkUnavailableError, match=r"no Spark answers at sc://127\.0\.0\.1:1"):
        check_master("sc://127.0.0.1:1")
    with pytest.raises(SparkUnavailableError, match="is no Spark master"):
        check_master("localhost")
    (tmp_path / "rules.csv").write_text("subscription_id,where\nhot,x > 10\n")
    (tmp_path / "events.csv").write_text("id,x\n1,11.5\n")
    arguments = ["-s", "rules.csv", "-e", "events.csv", "-o", "out", "--master", "spark://127.0.0.1:1"]
    command = [sys.executable, "-m", "rookery", "match", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("rookery: no Spark answers at spark://127.0.0.1:1 ")
    assert done.stderr.endswith("Leave --master out to run on this machine.\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.connect
def test_backtest_and_diff(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(number, "ab"[number % 2], float(number)) for number in range(10)]
    frame = spark.createDataFrame(rows, "event_id bigint, device string, x double")
    old = pa.table({"subscription_id": ["r", "gone", "same", "never"], "where": ["x > 6", "x < 2", "x = 5", "x > 99"]})
    new = pa.table(
        {
            "subscription_id": ["r", "added", "same", "never"],
            "where": ["x > 7", "x = 4", "x = 5", "x > 99"],
            "version": [2, 1, 2, 1],
        }
    )
    found = backtest(frame, old, key="device")
    assert {(row["subscription_id"], row["matches"]) for row in found.counts.collect()} == {
        ("r", 3),
        ("gone", 2),
        ("same", 1),
    }
    assert [row["subscription_id"] for row in found.silent.collect()] == ["never"]
    assert found.keys is not None
    assert ("r", "b", 2) in {tuple(row) for row in found.keys.collect()}
    assert sorted(row["event_id"] for row in found.samples.where("subscription_id = 'r'").collect()) == [7, 8, 9]
    changes = sorted(tuple(row) for row in diff(frame, old, new).collect())
    assert changes == [
        (0, "gone", "removed", 1, None), (1, "gone", "removed", 1, None), (4, "added", "added", None, 1),
        (5, "same", "changed", 1, 2), (7, "r", "removed", 1, None), (8, "r", "changed", 1, 2),
        (9, "r", "changed", 1, 2),
    ]  # fmt: skip
    frame.coalesce(1).write.parquet(str(tmp_path / "events"))
    pq.write_table(old, tmp_path / "old.parquet")
    pq.write_table(new, tmp_path / "new.parquet")
    said = run(
        capsys,
        diff_command.command,
        old=tmp_path / "old.parquet",
        new=tmp_path / "new.parquet",
        events=tmp_path / "events",
    )
    assert (said["added"], said["removed"], said["changed"]) == (1, 3, 3)
    said = run(
        capsys,
        backtest_command.command,
        subscriptions=tmp_path / "old.parquet",
        events=tmp_path / "events",
        key="device",
    )
    assert (said["matches"], said["silent"]) == (6, ["never"])


def test_match_equals_a_recorded_run(spark: Any, events: Path, rules: Path, expected: list[Any]) -> None:
    taped = spark.read.format("rookery").option("path", str(events)).load()
    assert pairs(match(taped, rules)) == expected


@pytest.mark.parametrize("name", ["event_id", "Event_ID"])
def test_a_column_event_id_names_the_events_unasked(spark: Any, tmp_path: Path, name: str) -> None:
    """As in `match` and on the command line; Spark's rule of names makes `Event_ID` the same column."""
    table = pa.table({name: pa.array([7, 8, 9]), "x": [1.0, 2.0, 3.0]})
    pq.write_table(table, tmp_path / "events.parquet")
    rules = pa.table({"subscription_id": ["r"], "where": ["x > 1"]})
    done = match_files(spark, tmp_path / "events.parquet", rules, tmp_path / "out")
    assert done.matches == 2
    assert sorted(read_published(tmp_path / "out", ["event_id"])["event_id"].to_pylist()) == [8, 9]
    frame, named = read_events(spark, tmp_path / "events.parquet")
    assert sorted(row["event_id"] for row in match(frame, rules, event_id=named).collect()) == [8, 9]
