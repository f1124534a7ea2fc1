"""DuckDB's answer on each workload of the matching benchmark's cliffs.

Much matches there, values crowd, schemas are wide, lists are long, conditions have more terms than boxes, values are
excluded, and keys fill their range or do not.
"""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from benchmarks.cliffs import CLIFFS
from benchmarks.workloads import WORKLOADS, make_boxes, make_events

import rookery
from rookery.matching.bitmap import build, positions

Array = np.ndarray[Any, Any]
SUBSCRIPTIONS, EVENTS = 400, 300


@pytest.fixture(autouse=True)
def as_large_sets_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds are positions, and blocks have summaries."""
    monkeypatch.setattr(positions, "LEAST_PREDICATES", 0)
    monkeypatch.setattr(build, "SUMMARY_BLOCKS", 0.1)


def judged(conditions: list[str], events: pa.Table) -> set[tuple[int, int]]:
    """Return the pairs of event and condition that DuckDB finds."""
    connection = duckdb.connect()
    connection.register("events", events)
    return {
        (event, place)
        for place, condition in enumerate(conditions)
        for (event,) in connection.execute(f"SELECT id FROM events WHERE {condition}").fetchall()
    }


def agree(schema: rookery.Schema, conditions: list[str], events: pa.Table, boxes: dict[str, Any] | None = None) -> int:
    """Require that texts and boxes match as DuckDB says, live and saved, by batch and by row; return the matches."""
    wanted = judged(conditions, events)
    sets = [rookery.matcher(schema), rookery.matcher(schema)]
    sets[0].add_many({"subscription_id": pa.array(range(len(conditions))), "where": conditions})
    if boxes is None:
        for place, condition in enumerate(conditions):  # one by one: segments and a tail
            sets[1].add(place, condition)
    else:
        sets[1].add_boxes(**boxes)
    for one in sets:
        for state in (one, rookery.CompiledSet.from_bytes(one.compile().to_bytes())):
            found = state.match_many(events, event_id="id")
            pairs = list(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))
            assert len(pairs) == len(wanted)
            assert set(pairs) == wanted
        for row in events.slice(0, 40).to_pylist():
            event = row.pop("id")
            assert {(event, place) for place in one.match(row)} == {pair for pair in wanted if pair[0] == event}
    return len(wanted)


@pytest.mark.parametrize("name", CLIFFS)
def test_a_cliff_is_what_duckdb_says(name: str) -> None:
    cliff = CLIFFS[name]
    boxes = cliff.boxes(SUBSCRIPTIONS)
    assert agree(cliff.workload.schema, boxes.texts(), cliff.events(EVENTS).table(), boxes.columns()) > 50


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_what_duckdb_says(name: str) -> None:
    workload = WORKLOADS[name]
    boxes, events = make_boxes(workload, 1500), make_events(workload, 1500)
    keys = events.keys % 7 if name == "device" else events.keys  # so that some devices of the events are there
    table = type(events)(workload, keys, events.doubles).table()
    assert agree(workload.schema, boxes.texts(), table, boxes.columns()) > 0


def numbers(count: int, highest: int, seed: int) -> pa.Table:
    """Return events of two whole numbers and a text, some of them NULL."""
    random = np.random.default_rng(seed)
    columns = {name: random.integers(0, highest, count) for name in ("code", "other")}
    none = {name: random.random(count) < 0.05 for name in (*columns, "word")}
    words = np.array([f"w{one}" for one in random.integers(0, 60, count)])
    return pa.table(
        {
            "id": np.arange(count),
            **{name: pa.array(values, mask=none[name]) for name, values in columns.items()},
            "word": pa.array(words, mask=none["word"]),
        }
    )


SCHEMA = rookery.Schema(code=int, other=int, word=str)


@pytest.mark.parametrize("length", [8, 9, 100, 1000])
def test_a_list_of_values_is_what_duckdb_says(length: int) -> None:
    random = np.random.default_rng(length)
    lists = [random.choice(4000, length, replace=False).tolist() for _ in range(60)]
    words = [sorted({f"w{one % 60}" for one in mine[: length % 40 + 2]}) for mine in lists]
    conditions = [
        text
        for mine, some in zip(lists, words, strict=True)
        for text in (
            f"code IN ({', '.join(map(str, mine))})",
            f"code IN ({', '.join(map(str, mine))}) AND other < {mine[0]}",
            f"word IN ({', '.join(map(repr, some))}) AND code BETWEEN {mine[1]} AND {mine[1] + 900}",
        )
    ]
    assert agree(SCHEMA, conditions, numbers(1500, 4000, length)) > 100


def test_an_exclusion_is_what_duckdb_says() -> None:
    random = np.random.default_rng(5)
    conditions = []
    for _ in range(80):
        mine = random.choice(40, random.integers(2, 30), replace=False).tolist()
        listed = ", ".join(map(str, mine))
        conditions += [
            f"code NOT IN ({listed})",
            f"code <> {mine[0]}",
            f"other = {mine[0]} AND code NOT IN ({listed})",
            f"word <> 'w{mine[1]}' AND other NOT IN ({listed}) AND code >= {mine[0]}",
            f"word NOT IN ('w{mine[0]}', 'w{mine[1]}') AND NOT (code IN ({listed}) OR other = {mine[1]})",
        ]
    assert agree(SCHEMA, conditions, numbers(200, 40, 6)) > 10_000


@pytest.mark.parametrize("pairs", [5, 6])
def test_a_condition_of_many_terms_is_what_duckdb_says(pairs: int) -> None:
    random = np.random.default_rng(pairs)
    names = [f"a{one}" for one in range(2 * pairs)]

    def between(name: str) -> str:
        low = int(random.integers(0, 700))
        return f"{name} BETWEEN {low} AND {low + 300}"

    conditions = [
        " AND ".join(
            f"({between(one)} OR {between(other)})" for one, other in random.permutation(names).reshape(-1, 2).tolist()
        )
        for _ in range(60)
    ]
    events = pa.table({"id": np.arange(2000), **{name: random.random(2000) * 1000 for name in names}})
    assert agree(rookery.Schema(**dict.fromkeys(names, float)), conditions, events) > 500


@pytest.mark.parametrize("step", [1, 1009])
def test_a_key_of_each_subscription_is_what_duckdb_says(step: int) -> None:
    random = np.random.default_rng(step)
    keys = (step * (random.permutation(500) - 250)).tolist()
    events = pa.table({"id": np.arange(3000), "key": step * random.integers(-400, 400, 3000)})
    conditions = [f"key = {one}" for one in keys]
    boxes = {"subscription_id": np.arange(500), "equals": {"key": np.array(keys)}}
    assert agree(rookery.Schema(key=int), conditions, events, boxes) > 1500
