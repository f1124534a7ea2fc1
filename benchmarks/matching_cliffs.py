"""Where an index may fall behind a plain loop: many matches, skewed values, many attributes, long lists of values.

- the workloads of `cliffs.py`, 100,000 subscriptions each, beside the compiled scan without branches (`row_scans.py`),
  which is the faster one of the scans where much matches;
- 5,000 subscriptions `code IN (…)` of 8 to 1,000 values out of 100,000, beside what a Python user writes in five lines:
  a dict from each value to the list of ids. Both give the pairs of event and subscription; `match_many` names them.

All take their turn in one process (A B, A B, …); the time is CPU time, the least of the rounds; totals must agree.
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

ROUNDS = 3
#: Events of a round, by workload.
EVENTS = {"high": 500, "skew": 10_000, "stock": 5_000, "wide": 1_000}
#: Values of a list, and what they are taken from.
LISTS, VALUES = (8, 9, 100, 1_000), 100_000


def report(*, as_json: bool, quick: bool) -> int:
    """Measure and print; return 1 where two systems differ in their totals."""
    cells = [_cliff(name, cliff, quick=quick) for name, cliff in CLIFFS.items()]
    cells += [_lists(length, quick=quick) for length in (LISTS[:3] if quick else LISTS)]
    wrong = [cell for cell in cells if cell["matches"] != cell["peer_matches"]]
    if as_json:
        print(json.dumps({"header": header(), "cells": cells}, indent=1))
        return 1 if wrong else 0
    print(f"{header()['machine']}; events a second of CPU, names included, the least of {ROUNDS} rounds\n")
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
    for _ in range(ROUNDS):
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
