"""One event at a time: how long `match(dict)` takes, beside the same subscriptions as generated ifs.

    python -m benchmarks matching --events                           this checkout
    python -m benchmarks matching --events --before ../older-checkout   both, each in a process of its own

`device` and `range` are the workloads of the matching benchmark; `keys` is one key a subscription, each another. The
ifs are one Python function that tests each subscription after the other, and collects ids; past 1,000 subscriptions
they are left out. What is stated is the median of 2,000 calls in CPU time of the thread, each timed on its own, less
what reading that clock takes: what else the machine does is not in it, but for the caches that it shares. The ids of
all that ran must be the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.matching_report import header
from benchmarks.workloads import WORKLOADS, make_boxes, make_events

__all__ = ["report"]

SIZES = (10, 1_000, 100_000, 1_000_000)
NAMES = ("device", "range", "keys")
EVENTS = 2_000
MOST_IFS = 1_000
HERE = Path(__file__).resolve().parent.parent


def report(before: Path | None, *, as_json: bool, quick: bool) -> int:
    """Measure and print; return 1 where ids differ."""
    checkouts = {"now": HERE} if before is None else {"before": before, "now": HERE}
    sizes = SIZES[:2] if quick else SIZES
    found = {name: _measured(checkout, sizes) for name, checkout in checkouts.items()}
    cells = [
        {"name": name, "size": size, **{one: cells[f"{name} {size}"]["p50"] for one, cells in found.items()}}
        | {"ifs": found["now"][f"{name} {size}"]["ifs"]}
        for name in NAMES
        for size in sizes
    ]
    wrong = [
        cell
        for cell in cells
        if len({total for cells in found.values() for total in cells[f"{cell['name']} {cell['size']}"]["totals"]}) > 1
    ]
    if as_json:
        print(json.dumps({"header": header(), "cells": cells}, indent=1))
        return 1 if wrong else 0
    print(f"{header()['machine']}; one dict in, a list of ids out: µs of CPU, the median of {EVENTS:,} calls\n")
    print(f"{'workload':<10}{'subscriptions':>14}{'before':>10}{'now':>10}{'generated ifs':>15}")
    for cell in cells:
        earlier = f"{cell['before']:,.1f}" if "before" in cell else "-"
        ifs = "-" if cell["ifs"] is None else f"{cell['ifs']:,.1f}"
        print(f"{cell['name']:<10}{cell['size']:>14,}{earlier:>10}{cell['now']:>10,.1f}{ifs:>15}")
    print("\n" + ("\n".join(f"FAULT {cell['name']}: ids differ" for cell in wrong) or "ids agree"))
    return 1 if wrong else 0


def _measured(checkout: Path, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return what a process with the package of a checkout measures."""
    path = os.pathsep.join([str(checkout / "src"), str(HERE)])
    command = [sys.executable, "-W", "ignore", __file__, *map(str, sizes)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _inputs(name: str, size: int) -> tuple[Any, dict[str, Any], list[dict[str, Any]], Iterator[tuple[str, ...]]]:
    """Return the schema, the boxes, the events, and what each subscription tests as Python writes it."""
    import rookery

    if name == "keys":
        keys = np.random.default_rng(1).permutation(size)
        events = [{"key": one} for one in np.random.default_rng(2).integers(0, size, EVENTS).tolist()]
        boxes = {"subscription_id": np.arange(size), "equals": {"key": keys}}
        return rookery.Schema(key=int), boxes, events, ((f"key == {one}",) for one in keys.tolist())
    workload = WORKLOADS[name]
    made = make_boxes(workload, size)
    tests = (tuple(_python(*one) for one in predicates) for predicates in made.predicates())
    return workload.schema, made.columns(), make_events(workload, EVENTS).dicts(EVENTS), tests


def _python(name: str, low: float | None, high: float | None) -> str:
    if low is not None and low == high:
        return f"{name} == {low!r}"
    return (
        f"{low!r} <= {name} <= {high!r}"
        if None not in (low, high)
        else (f"{name} <= {high!r}" if low is None else f"{name} >= {low!r}")
    )


def _generated(names: list[str], tests: Iterator[tuple[str, ...]]) -> Callable[[dict[str, Any]], list[int]]:
    """Return the function that a generator of code would write of some subscriptions."""
    lines = ["def match(event):", "    found = []"]
    lines += [f"    {name} = event[{name!r}]" for name in names]
    lines += [f"    if {' and '.join(one)}:\n        found.append({place})" for place, one in enumerate(tests)]
    scope: dict[str, Any] = {}
    exec("\n".join([*lines, "    return found"]), scope)
    made: Callable[[dict[str, Any]], list[int]] = scope["match"]
    return made


def _median(match: Callable[[dict[str, Any]], list[Any]], events: list[dict[str, Any]]) -> tuple[float, int]:
    """Return the median of the calls in microseconds of CPU, and a sum over all ids."""
    taken, nothing, total = [], [], 0
    for event in events[:100]:
        match(event)
    for event in events:
        began = time.thread_time_ns()
        found = match(event)
        ended = time.thread_time_ns()
        taken.append(ended - began)
        nothing.append(time.thread_time_ns() - ended)
        total += sum(found) + len(found)
    return float(np.median(taken) - np.median(nothing)) / 1e3, total


def _serve(sizes: list[int]) -> None:
    import rookery

    cells = {}
    for name in NAMES:
        for size in sizes:
            schema, boxes, events, tests = _inputs(name, size)
            matcher: Any = rookery.matcher(schema)
            matcher.add_boxes(**boxes)
            median, total = _median(matcher.compile().match, events)
            ifs, totals = None, [total]
            if size <= MOST_IFS:
                ifs, one = _median(_generated(list(events[0]), tests), events)
                totals.append(one)
            cells[f"{name} {size}"] = {"p50": median, "ifs": ifs, "totals": totals}
    print(json.dumps(cells))


if __name__ == "__main__":
    _serve([int(one) for one in sys.argv[1:]])
