"""Two states of Rookery beside each other: this one and an older checkout, on every workload of the matching benchmark.

    python -m benchmarks matching --before ../older-checkout

A process for each state builds the same set and matches the same batch when it is its turn (A B, A B, …), on the core
that both are bound to; the time is its CPU time, the least of the rounds. `match_many` names event and subscription.
The compiled scan without branches (`row_scans.py`) takes its turn in this state's process, and gives pairs of indices.
Totals must agree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.cliffs import CLIFFS
from benchmarks.matching_report import header
from benchmarks.row_scans import column_scan
from benchmarks.workloads import WORKLOADS, make_boxes, make_events

__all__ = ["report"]

ROUNDS = 5
#: Events of a round, by workload and subscriptions.
CELLS = {
    ("range", 100_000): 10_000,
    ("range", 1_000_000): 2_000,
    ("device", 100_000): 200_000,
    ("device", 1_000_000): 100_000,
    ("eq", 100_000): 200_000,
    ("high", 100_000): 500,
    ("skew", 100_000): 10_000,
    ("stock", 100_000): 5_000,
    ("wide", 100_000): 1_000,
}
HERE = Path(__file__).resolve().parent.parent


def report(before: Path, *, as_json: bool, quick: bool) -> int:
    """Measure and print; return 1 where totals differ."""
    cells = [_cell(name, size, count, before, quick=quick) for (name, size), count in CELLS.items()]
    wrong = [cell for cell in cells if len(set(cell["totals"].values())) > 1]
    if as_json:
        print(json.dumps({"header": header(), "cells": cells}, indent=1))
        return 1 if wrong else 0
    print(f"{header()['machine']}; events a second of CPU, names included, the best of {ROUNDS} rounds\n")
    print(
        f"{'workload':<9}{'subscriptions':>14}{'matches':>9}{'before':>12}{'now':>12}{'ratio':>7}{'column scan':>13}"
        f"{'bytes before':>14}{'now':>7}"
    )
    for cell in cells:
        rate = {name: cell["events"] / took for name, took in cell["seconds"].items()}
        scan = f"{rate['scan']:,.0f}" if "scan" in rate else "-"
        print(
            f"{cell['name']:<9}{cell['size']:>14,}{cell['totals']['now'] / cell['events']:>9,.1f}"
            f"{rate['before']:>12,.0f}"
            f"{rate['now']:>12,.0f}{rate['now'] / rate['before']:>7.2f}{scan:>13}{cell['bytes']['before']:>14.1f}"
            f"{cell['bytes']['now']:>7.1f}",
            flush=True,
        )
    print("\n" + ("\n".join(f"FAULT {cell['name']}: totals differ" for cell in wrong) or "match totals agree"))
    return 1 if wrong else 0


def _cell(name: str, size: int, count: int, before: Path, *, quick: bool) -> dict[str, Any]:
    size, count = (size // 20, count // 4) if quick else (size, count)
    print(f"  {name} {size:,} …", file=sys.stderr, flush=True)
    states = {"before": _state(before, name, size, count), "now": _state(HERE, name, size, count)}
    try:
        nbytes = {one: _answer(state)[0] / size for one, state in states.items()}
        scan = None
        if name in CLIFFS and not quick:
            cliff = CLIFFS[name]
            scan = column_scan(cliff.boxes(size), cliff.events(count))
            scan(count)
        seconds: dict[str, float] = {}
        totals: dict[str, int] = {}
        for _ in range(ROUNDS):
            for one, state in states.items():
                assert state.stdin is not None
                state.stdin.write("go\n")
                state.stdin.flush()
                took, found = _answer(state)
                seconds[one] = min(seconds.get(one, took), took)
                totals[one] = int(found)
            if scan is not None:
                began = time.process_time()
                totals["scan"] = len(scan(count)[0])
                took = time.process_time() - began
                seconds["scan"] = min(seconds.get("scan", took), took)
    finally:
        for state in states.values():
            assert state.stdin is not None
            state.stdin.close()
            state.wait()
    return {"name": name, "size": size, "events": count, "seconds": seconds, "totals": totals, "bytes": nbytes}


def _state(checkout: Path, name: str, size: int, count: int) -> subprocess.Popen[str]:
    """Start a process that has built a workload with the package of a checkout, and matches when it is told to."""
    path = os.pathsep.join([str(checkout / "src"), str(HERE)])
    command = [sys.executable, "-W", "ignore", __file__, name, str(size), str(count)]
    return subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _answer(state: subprocess.Popen[str]) -> list[float]:
    assert state.stdout is not None
    return [float(one) for one in state.stdout.readline().split()]


def _inputs(name: str, size: int, count: int) -> tuple[Any, dict[str, Any], pa.Table]:
    """Return the schema, the boxes and the events of a workload."""
    import rookery

    if name == "eq":
        random = np.random.default_rng(size)
        events = pa.table({"id": np.arange(count), "key": random.integers(0, size, count)})
        boxes = {"subscription_id": np.arange(size), "equals": {"key": random.permutation(size)}}
        return rookery.Schema(key=int), boxes, events
    if name in CLIFFS:
        cliff = CLIFFS[name]
        return cliff.workload.schema, cliff.boxes(size).columns(), cliff.events(count).table()
    workload = WORKLOADS[name]
    return workload.schema, make_boxes(workload, size).columns(), make_events(workload, count).table()


def _lines() -> Iterator[str]:
    while line := sys.stdin.readline():
        yield line


def _serve(name: str, size: int, count: int) -> None:
    import rookery

    schema, boxes, events = _inputs(name, size, count)
    matcher: Any = rookery.matcher(schema)
    matcher.add_boxes(**boxes)
    compiled = matcher.compile()
    del boxes
    compiled.match_many(events, event_id="id")
    print(compiled._view.engine.nbytes, flush=True)
    for _ in _lines():
        began = time.process_time()
        found = compiled.match_many(events, event_id="id").num_rows
        print(time.process_time() - began, found, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
