"""The engines and the peers of the matching benchmark, each in a process of its own with a time limit per cell.

A *cell* is one system on one workload and size. The process warms up, then for each size makes the subscriptions,
builds, and matches a growing number of events until a pass takes long enough to be timed. It reports events/s as the
best of three passes, and the number of matches, which the benchmark compares. It says what it is doing, so that a cell
that is stopped names the phase.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from benchmarks.workloads import WORKLOADS, Boxes, Events, make_boxes, make_events

__all__ = ["PACKAGES", "PEERS", "best_of", "measure_system"]

Match = Callable[[int], int]

#: What a cell's process may map. Joins that multiply before they filter would take the whole machine otherwise.
MOST_BYTES = 12 << 30
#: Systems that take one dict at a time, and how many they are given at most.
DICT_SYSTEMS = ("rule-engine", "zen-engine", "scan")
DICT_EVENTS = 2000
PACKAGES = {"rule-engine": "rule-engine", "zen-engine": "zen-engine", "Polars join_where": "polars", "DuckDB": "duckdb"}


def _engine(name: str) -> Callable[[Boxes, Events], tuple[Match, int | None]]:
    def build(boxes: Boxes, events: Events) -> tuple[Match, int | None]:
        import pyarrow as pa

        import rookery

        matcher: Any = rookery.matcher(boxes.workload.schema, engine=name)
        if name == "scan":
            matcher.add_many(pa.table({"subscription_id": np.arange(boxes.count), "where": boxes.texts()}))
        else:
            matcher.add_boxes(**boxes.columns())
        table = events.table()
        matcher.match_many(
            table.slice(0, 1), event_id="id"
        )  # some engines index on the first match: a part of building
        return lambda count: matcher.match_many(table.slice(0, count), event_id="id").num_rows, matcher.nbytes

    return build


def _rule_engine(boxes: Boxes, events: Events) -> tuple[Match, None]:
    import rule_engine

    rules = [rule_engine.Rule(" and ".join(_conjuncts(one))) for one in boxes.predicates()]
    rows = events.dicts(DICT_EVENTS)
    return lambda count: sum(rule.matches(row) for row in rows[:count] for rule in rules), None


def _conjuncts(predicates: list[tuple[str, float | None, float | None]]) -> list[str]:
    found = []
    for name, low, high in predicates:
        if low == high:
            found.append(f"{name} == {low!r}")
            continue
        found += [f"{name} >= {low!r}"] if low is not None else []
        found += [f"{name} <= {high!r}"] if high is not None else []
    return found


def _zen_engine(boxes: Boxes, events: Events) -> tuple[Match, None]:
    """Decide by a decision table that collects every rule that holds: its fastest form for many rules."""
    import zen

    names = [name for name, _ in boxes.workload.equalities] + boxes.workload.double_names
    rules = []
    for number, predicates in enumerate(boxes.predicates()):
        rule = {"_id": str(number), **dict.fromkeys(names, ""), "out": str(number)}
        for name, low, high in predicates:
            if low is None:
                rule[name] = f"<= {high!r}"
            elif high is None:
                rule[name] = f">= {low!r}"
            else:
                rule[name] = f"{low!r}" if low == high else f"[{low!r}..{high!r}]"
        rules.append(rule)
    content = {
        "hitPolicy": "collect",
        "inputs": [{"id": name, "name": name, "field": name} for name in names],
        "outputs": [{"id": "out", "name": "out", "field": "id"}],
        "rules": rules,
    }
    nodes = [
        {"id": "in", "type": "inputNode", "name": "in"},
        {"id": "table", "type": "decisionTableNode", "name": "table", "content": content},
        {"id": "end", "type": "outputNode", "name": "end"},
    ]
    edges = [{"id": "1", "sourceId": "in", "targetId": "table"}, {"id": "2", "sourceId": "table", "targetId": "end"}]
    decision = zen.ZenEngine().create_decision(json.dumps({"nodes": nodes, "edges": edges}))
    rows = events.dicts(DICT_EVENTS)
    return lambda count: sum(len(decision.evaluate(row)["result"] or ()) for row in rows[:count]), None


def _bounded_columns(boxes: Boxes) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """Return the subscriptions as columns, and the conditions (event column, relation, subscription column).

    SQL tests every attribute: a side that a subscription leaves open is an infinite bound.
    """
    columns: dict[str, Any] = {"subscription": np.arange(boxes.count)}
    conditions = []
    for place, (name, _) in enumerate(boxes.workload.equalities):
        columns[f"eq_{name}"] = boxes.equals[place]
        conditions.append((name, "=", f"eq_{name}"))
    for number, name in enumerate(boxes.workload.double_names):
        for prefix, relation, bounds, open_end in (
            ("lo", ">=", boxes.lower, -np.inf),
            ("hi", "<=", boxes.upper, np.inf),
        ):
            values = np.full(boxes.count, open_end)
            for place in range(boxes.attribute.shape[0]):
                mine = boxes.attribute[place] == number
                values[mine] = bounds[place, mine]
            if np.isfinite(values).any():
                columns[f"{prefix}_{name}"] = values
                conditions.append((name, relation, f"{prefix}_{name}"))
    return columns, conditions


def _polars(boxes: Boxes, events: Events) -> tuple[Match, int]:
    import polars as pl

    columns, conditions = _bounded_columns(boxes)
    subscriptions = pl.DataFrame(columns)
    frame = pl.DataFrame(events.table())
    predicates = []
    for name, relation, bound in conditions:
        left, right = pl.col(name), pl.col(bound)
        predicates.append(left == right if relation == "=" else left >= right if relation == ">=" else left <= right)
    chosen = [pl.col("id"), pl.col("subscription")]

    def match(count: int) -> int:
        joined = frame.head(count).lazy().join_where(subscriptions.lazy(), *predicates)
        return joined.select(chosen).collect().height

    return match, int(subscriptions.estimated_size())


def _duckdb(boxes: Boxes, events: Events) -> tuple[Match, None]:
    import duckdb
    import pyarrow as pa

    columns, conditions = _bounded_columns(boxes)
    connection = duckdb.connect(config={"threads": 1, "memory_limit": "8GB"})
    connection.register("given", pa.table(columns))
    connection.execute("CREATE TABLE subscriptions AS SELECT * FROM given")
    connection.register("incoming", events.table())
    connection.execute("CREATE TABLE events AS SELECT * FROM incoming")
    where = " AND ".join(f"e.{name} {relation} s.{bound}" for name, relation, bound in conditions)

    def match(count: int) -> int:
        chosen = f"(SELECT * FROM events WHERE id < {count}) e JOIN subscriptions s ON {where}"
        return connection.sql(f"SELECT e.id, s.subscription FROM {chosen}").to_arrow_table().num_rows

    return match, None


PEERS: dict[str, Callable[[Boxes, Events], tuple[Match, int | None]]] = {
    **{name: _engine(name) for name in ("matrix", "index", "counting", "scan")},
    "rule-engine": _rule_engine,
    "zen-engine": _zen_engine,
    "Polars join_where": _polars,
    "DuckDB": _duckdb,
}


def best_of(match: Callable[[int], Any], events: int, *, passes: int = 3) -> float:
    """Return the seconds of the fastest pass."""
    best = float("inf")
    for _ in range(passes):
        began = time.process_time()
        match(events)
        best = min(best, time.process_time() - began)
    return best


def _tell(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def _run_cells(system: str, workload: str, cells: list[tuple[int, int]], least_seconds: float, limit: float) -> None:
    """Measure the cells (size, most events) one after the other in this process; say what is known after each phase."""
    shape = WORKLOADS[workload]
    # Imports and kernels. An engine compiles some of its kernels only for sets that are large enough to need them.
    for size in (100,) if system in (*PACKAGES, "scan") else (100, 5_000):
        warm, _held = PEERS[system](make_boxes(shape, size), make_events(shape, 100))
        warm(100)
    for size, most_events in cells:
        _tell(size=size, phase="preparing")
        boxes, events = make_boxes(shape, size), make_events(shape, most_events)
        _tell(size=size, phase="building")
        signal.setitimer(signal.ITIMER_PROF, limit)  # ends the process after so much CPU time
        began = time.process_time()
        match, held = PEERS[system](boxes, events)
        _tell(size=size, phase="matching", build=time.process_time() - began, nbytes=held)
        count = 1
        while True:
            began = time.process_time()
            total = match(count)
            elapsed = time.process_time() - began
            # Told as soon as it is known: a cell that is stopped later still has an honest figure from one pass.
            _tell(size=size, events=count, total=total, seconds=elapsed, passes=1)
            if elapsed >= least_seconds or count >= most_events:
                break
            # Carefully: a join that multiplies before it filters needs more memory with every event.
            count = min(most_events, count * max(2, min(16, int(1.2 * least_seconds / max(elapsed, 1e-6)))))
        _tell(size=size, events=count, total=total, seconds=min(elapsed, best_of(match, count, passes=2)), passes=3)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _tell(size=size, phase="done")


def measure_system(
    system: str, workload: str, cells: list[tuple[int, int]], *, limit: float, least_seconds: float
) -> dict[int, dict[str, Any]]:
    """Measure one system on cells (size, most events) in a process of its own; return what is known of each size.

    A cell may build and match for `limit` seconds of CPU time. What cannot be told then is missing, with the reason;
    after a cell without any figure the larger ones are not tried.
    """
    sizes = [size for size, _ in cells]
    package = PACKAGES.get(system)
    if package is not None:
        try:
            version(package)
        except PackageNotFoundError:
            return {size: {"reason": "not installed"} for size in sizes}
    if system in DICT_SYSTEMS:
        cells = [(size, min(DICT_EVENTS, most)) for size, most in cells]
    known: dict[int, dict[str, Any]] = {size: {} for size in sizes}
    left = list(cells)
    while left:
        current, ended = _watch(json.dumps([system, workload, left, least_seconds, limit]), known, limit)
        if ended is None:
            break
        found = known[current]
        if "rate" not in found:
            found |= ended
            for size, _ in left:
                if size > current:
                    known[size]["reason"] = f"not tried: no result at {current:,}"
            break
        left = [cell for cell in left if cell[0] > current]
    return known


def _watch(request: str, known: dict[int, dict[str, Any]], limit: float) -> tuple[int, dict[str, Any] | None]:
    """Run a process of cells and note what it tells; return where it stopped, and why (None: it ended)."""
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe nobody reads would block the process
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.matching_peers", request],
        stdout=subprocess.PIPE, stderr=complaints, text=True, env=environment,
    )  # fmt: skip
    current = min(known)
    phase = "starting"
    assert process.stdout is not None
    try:
        for line in process.stdout:
            told = json.loads(line)
            current, phase = told.pop("size"), told.get("phase", phase)
            found = known[current]
            found.update(told)
            if "seconds" in told:
                found["rate"] = found["events"] / max(found["seconds"], 1e-9)
        process.wait()
    finally:
        process.kill()
    if process.returncode == 0:
        return current, None
    if process.returncode == -signal.SIGPROF:
        return current, {"reason": f"did not finish in {limit:g} s ({phase})"}
    complaints.seek(0)
    last = (complaints.read().strip().splitlines() or [f"exit code {process.returncode}"])[-1]
    if process.returncode < 0 or "emory" in last or "alloc" in last:
        return current, {"reason": f"out of memory ({MOST_BYTES >> 30} GiB)"}
    return current, {"reason": f"failed: {last[:120]}", "failed": True}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    _run_cells(*json.loads(sys.argv[1]))
