"""Where an index may fall behind a plain loop: many matches, skewed values, many attributes, long lists of values.

- the workloads of `cliffs.py`, 100,000 subscriptions each, beside the compiled scan without branches (`row_scans.py`),
  which is the faster one of the scans where much matches;
- 5,000 subscriptions `code IN (…)` of 8 to 1,000 values out of 100,000, beside what a Python user writes in five lines:
  a dict from each value to the list of ids. Both give the pairs of event and subscription; `match_many` names them;
- 1,000 subscriptions of five and of six pairs of ranges, `(a OR b) AND …`, 32 and 64 terms in normal form, beside
  masks of NumPy;
- one key for each of 1,000 to 100,000 subscriptions, 200,000 events, beside DuckDB's hash join of its own tables.

All take their turn in one process (A B, A B, …); the time is CPU time, the least of the rounds, of which there are more
where a turn takes some milliseconds; totals must agree.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.cliffs import CLIFFS, Cliff
from benchmarks.matching_report import header
from benchmarks.row_scans import column_scan

import rookery

__all__ = ["report"]

#: Rounds at least and at most, and the CPU seconds from which on there are no more of them.
LEAST_ROUNDS, MOST_ROUNDS, ENOUGH = 3, 50, 3.0
#: Events of a round, by workload.
EVENTS = {"high": 500, "skew": 10_000, "stock": 5_000, "wide": 1_000}
#: Values of a list, and what they are taken from.
LISTS, VALUES = (8, 9, 100, 1_000), 100_000
#: Subscriptions with a key each, and the events that look for them.
KEYS, KEY_EVENTS = (1_000, 10_000, 100_000), 200_000


def report(*, as_json: bool, quick: bool) -> int:
    """Measure and print; return 1 where two systems differ in their totals."""
    cells = [_cliff(name, cliff, quick=quick) for name, cliff in CLIFFS.items()]
    cells += [_lists(length, quick=quick) for length in (LISTS[:3] if quick else LISTS)]
    cells += [_pairs(pairs, quick=quick) for pairs in (5, 6)]
    cells += [_keys(size, quick=quick) for size in (KEYS[:1] if quick else KEYS)]
    wrong = [cell for cell in cells if cell["matches"] != cell["peer_matches"]]
    if as_json:
        print(json.dumps({"header": header(), "cells": cells}, indent=1))
        return 1 if wrong else 0
    print(
        f"{header()['machine']}; events a second of CPU, names included, "
        f"the best of {LEAST_ROUNDS} to {MOST_ROUNDS} rounds\n"
    )
    print(
        f"{'workload':<12}{'subscriptions':>15}{'matches':>10}{'match_many':>14}{'peer':>12}{'ratio':>8}{'bytes':>9}"
        "  peer"
    )
    for cell in cells:
        print(
            f"{cell['name']:<12}{cell['size']:>15,}{cell['matches'] / cell['events']:>10,.1f}{cell['rate']:>14,.0f}"
            f"{cell['peer_rate']:>12,.0f}{cell['rate'] / cell['peer_rate']:>8.1f}{cell['bytes']:>9.1f}  {cell['peer']}"
        )
    print("\nbytes of index: a subscription, and of lists a value")
    print("\n".join(f"FAULT {cell['name']}: totals differ" for cell in wrong) or "match totals agree")
    return 1 if wrong else 0


def _in_turn(systems: dict[str, Callable[[], int]]) -> dict[str, tuple[float, int]]:
    """Return the least CPU time of each system, and how many matches it found."""
    best = dict.fromkeys(systems, float("inf"))
    found = {name: run() for name, run in systems.items()}  # compiled and warm
    started = time.process_time()
    for done in range(MOST_ROUNDS):
        if done >= LEAST_ROUNDS and time.process_time() - started > ENOUGH:
            break
        for name, run in systems.items():
            began = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - began)
    return {name: (best[name], found[name]) for name in systems}


def _cell(name: str, size: int, events: int, peer: str, per: int, compiled: Any, peer_run: Any, run: Any) -> Any:
    took = _in_turn({"bitmap": run, "peer": peer_run})
    return {
        "name": name,
        "size": size,
        "events": events,
        "matches": took["bitmap"][1],
        "rate": events / took["bitmap"][0],
        "peer": peer,
        "peer_matches": took["peer"][1],
        "peer_rate": events / took["peer"][0],
        "bytes": compiled._view.engine.nbytes / per,
    }


def _cliff(name: str, cliff: Cliff, *, quick: bool) -> Any:
    size, count = (5_000, 200) if quick else (100_000, EVENTS[name])
    boxes, events = cliff.boxes(size), cliff.events(count)
    matcher: Any = rookery.matcher(cliff.workload.schema)
    matcher.add_boxes(**boxes.columns())
    compiled, table = matcher.compile(), events.table()
    scan = column_scan(boxes, events)
    return _cell(
        name, size, count, "column scan", size, compiled, lambda: len(scan(count)[0]),
        lambda: compiled.match_many(table, event_id="id").num_rows,
    )  # fmt: skip


def _lists(length: int, *, quick: bool) -> Any:
    size, count = (500, 5_000) if quick else (5_000, 100_000)
    random = np.random.default_rng(length)
    lists = [random.choice(VALUES, length, replace=False).tolist() for _ in range(size)]
    matcher: Any = rookery.matcher(rookery.Schema(code=int))
    matcher.add_many(
        {
            "subscription_id": pa.array(range(size)),
            "where": [f"code IN ({', '.join(map(str, one))})" for one in lists],
        }
    )
    compiled = matcher.compile()
    table = pa.table({"event_id": np.arange(count), "code": random.integers(0, VALUES, count)})
    by_value: dict[int, list[int]] = {}
    for place, one in enumerate(lists):
        for value in one:
            by_value.setdefault(value, []).append(place)
    rows = list(zip(table["event_id"].to_pylist(), table["code"].to_pylist(), strict=True))

    def look_up() -> int:
        return len([(event, found) for event, code in rows for found in by_value.get(code, ())])

    return _cell(
        f"IN {length:,}", size, count, "dict of lists", size * length, compiled, look_up,
        lambda: compiled.match_many(table).num_rows,
    )  # fmt: skip


def _pairs(pairs: int, *, quick: bool) -> Any:
    size, count, attributes = (50, 500, 20) if quick else (1_000, 2_000, 20)
    random = np.random.default_rng(pairs)
    numbers = np.stack([random.permutation(attributes)[: 2 * pairs] for _ in range(size)])
    low = random.integers(0, 700, (size, 2 * pairs))
    matcher: Any = rookery.matcher(rookery.Schema(**{f"a{one}": float for one in range(attributes)}))
    texts = [
        [f"a{number} BETWEEN {least} AND {least + 300}" for number, least in zip(*one, strict=True)]
        for one in zip(numbers.tolist(), low.tolist(), strict=True)
    ]
    matcher.add_many(
        {
            "subscription_id": pa.array(range(size)),
            "where": [
                " AND ".join(f"({one} OR {other})" for one, other in zip(mine[::2], mine[1::2], strict=True))
                for mine in texts
            ],
        }
    )
    compiled = matcher.compile()
    values = random.random((attributes, count)) * 1_000
    table = pa.table({"event_id": np.arange(count), **{f"a{one}": values[one] for one in range(attributes)}})

    def mask() -> int:
        found = 0
        for mine, least in zip(numbers, low, strict=True):
            inside = (values[mine] >= least[:, None]) & (values[mine] <= least[:, None] + 300)
            found += len(np.flatnonzero((inside[::2] | inside[1::2]).all(axis=0)))
        return found

    return _cell(
        f"{pairs} OR pairs", size, count, "NumPy masks", size, compiled, mask,
        lambda: compiled.match_many(table).num_rows,
    )  # fmt: skip


def _keys(size: int, *, quick: bool) -> Any:
    import duckdb

    count = KEY_EVENTS // 20 if quick else KEY_EVENTS
    random = np.random.default_rng(size)
    keys = random.permutation(size)
    matcher: Any = rookery.matcher(rookery.Schema(key=int))
    matcher.add_many({"subscription_id": pa.array(range(size)), "where": [f"key = {one}" for one in keys.tolist()]})
    compiled = matcher.compile()
    table = pa.table({"event_id": np.arange(count), "key": random.integers(0, size, count)})
    connection = duckdb.connect(config={"threads": 1})
    for name, one in (("events", table), ("subscriptions", pa.table({"subscription_id": range(size), "key": keys}))):
        connection.register("given", one)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    query = "SELECT event_id, subscription_id, 1::BIGINT AS version FROM events JOIN subscriptions USING (key)"
    return _cell(
        "key", size, count, "DuckDB's join", size, compiled, lambda: connection.sql(query).to_arrow_table().num_rows,
        lambda: compiled.match_many(table).num_rows,
    )  # fmt: skip
