"""Matching: every engine against scans, rule engines and joins, on three workloads from 1 k to 1 M subscriptions.

    python -m benchmarks matching                   the whole table (about half an hour)
    python -m benchmarks matching --quick           1 k and 10 k (under a minute)
    python -m benchmarks matching --compile         text to index, latency of one event, cost of an edit
    python -m benchmarks matching --cliffs          many matches, skew, wide schemas, long lists of values
    python -m benchmarks matching --edits           a set that changes while it is matched
    python -m benchmarks matching --events          one event at a time, beside generated ifs
    python -m benchmarks matching --before PATH     all workloads beside an older checkout (with --events: those)
    python -m benchmarks matching --ten-million     10 M subscriptions within 3 GB
    python -m benchmarks matching --topics          matrix, counting, index, bitmap: 5 to 1,000 under 1 to 500 topics

Everything runs on one core, which this process and its children are bound to. `bitmap` and the scans run in turn in
one process (A B C, A B C, …), so that what else the machine does hits all alike; every other system has a process of
its own with a time limit. All that ran are compared: each says how many matches the first n events have, and the exit
code is 1 where two differ.

Time is the CPU time of the process, not the clock's: every system runs in one thread, and a machine that others use too
would otherwise be measured with it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.matching_floor import read_bandwidth, split, walk
from benchmarks.matching_peers import PEERS, measure_system
from benchmarks.matching_report import bars, header, print_bars, print_floor, print_header, print_table
from benchmarks.row_scans import column_scan, numpy_scan, row_lists, row_scan
from benchmarks.workloads import WORKLOADS, Workload, make_boxes, make_events

import rookery

__all__ = ["main"]

SIZES = (1_000, 10_000, 100_000, 1_000_000)
SCANS = {"row scan": row_scan, "row lists": row_lists, "column scan": column_scan, "NumPy": numpy_scan}
ROUNDS = 3


def main(arguments: list[str]) -> int:
    """Run the benchmark as the arguments say; return 1 where match totals differ or a system failed."""
    options = _parse(arguments)
    _bind_to_one_core()
    if options.ten_million:
        from benchmarks.matching_ten_million import report

        return report(as_json=options.json)
    if options.compile:
        from benchmarks.matching_compile import report as report_compile

        return report_compile(as_json=options.json, quick=options.quick)
    if options.cliffs:
        from benchmarks.matching_cliffs import report as report_cliffs

        return report_cliffs(as_json=options.json, quick=options.quick)
    if options.edits:
        from benchmarks.matching_edits import report as report_edits

        return report_edits(as_json=options.json, quick=options.quick)
    if options.events:
        from benchmarks.matching_events import report as report_events

        return report_events(options.before, as_json=options.json, quick=options.quick)
    if options.before:
        from benchmarks.matching_before import report as report_before

        return report_before(options.before, as_json=options.json, quick=options.quick)
    if options.topics:
        from benchmarks.matching_topics import report as report_topics

        return report_topics(as_json=options.json, quick=options.quick)
    result: dict[str, Any] = {"header": header(), "bandwidth": read_bandwidth(), "cells": []}
    faults: list[str] = []
    if not options.json:
        print_header(result["header"])
    for name in options.workload:
        cells = _measure(WORKLOADS[name], options, faults)
        result["cells"] += cells
        if not options.json:
            print_table(cells)  # as soon as it is known: the whole run is long
            sys.stdout.flush()
    result["bars"] = bars(result["cells"])
    result["faults"] = faults
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print_bars(result["bars"])
        print_floor(result)
        print("\n" + ("\n".join(faults) if faults else "match totals agree wherever a system ran"))
    return 1 if faults else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks matching", description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--quick", action="store_true", help="1 k and 10 k subscriptions, fewer events")
    parser.add_argument("--workload", action="append", choices=[*WORKLOADS], help="one workload (may be repeated)")
    parser.add_argument("--sizes", type=_sizes, help="numbers of subscriptions, such as 1k,10k,1M")
    parser.add_argument("--limit", type=float, help="CPU seconds for building and matching in one cell (20; quick 1)")
    parser.add_argument("--scans", action="store_true", help="bitmap and the scans only")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--compile", action="store_true", help="text to index, latency of one event, cost of an edit")
    parser.add_argument("--cliffs", action="store_true", help="many matches, skew, wide schemas, long lists of values")
    parser.add_argument("--edits", action="store_true", help="a set that changes while it is matched")
    parser.add_argument("--events", action="store_true", help="one event at a time, beside generated ifs")
    parser.add_argument("--before", type=Path, help="all workloads beside an older checkout of Rookery")
    parser.add_argument("--ten-million", action="store_true", help="10 M subscriptions given as columns")
    parser.add_argument("--topics", action="store_true", help="seed 004's engines by topics and subscriptions")
    options = parser.parse_args(arguments)
    options.sizes = options.sizes or (SIZES[:2] if options.quick else SIZES)
    options.workload = options.workload or [*WORKLOADS]
    options.limit = options.limit or (1 if options.quick else 20)
    return options


def _sizes(text: str) -> tuple[int, ...]:
    units = {"k": 1_000, "m": 1_000_000}
    sizes = []
    for one in text.lower().split(","):
        number, unit = (one[:-1], units[one[-1]]) if one[-1:] in units else (one, 1)
        sizes.append(int(float(number) * unit))
    return tuple(sorted(sizes))


def _bind_to_one_core() -> None:
    """Bind this process and its children to the core that has been idle most in the last quarter of a second."""
    before = _idle()
    time.sleep(0.25)
    after = _idle()
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(mine, key=lambda core: after.get(core, 0) - before.get(core, 0))})


def _idle() -> dict[int, int]:
    with open("/proc/stat") as stream:
        rows = [line.split() for line in stream if line.startswith("cpu") and line[3].isdigit()]
    return {int(row[0][3:]): int(row[4]) for row in rows}


def _measure(workload: Workload, options: argparse.Namespace, faults: list[str]) -> list[dict[str, Any]]:
    """Measure every system on one workload, in all sizes."""
    most_events = 1_000_000 if workload.one_sided else 200_000
    if options.quick:
        most_events //= 5
    cells, expected = [], {}
    for size in options.sizes:
        _progress(f"{workload.name} {size:,}: bitmap and the scans")
        cell, expected[size] = _measure_core(workload, size, most_events, quick=options.quick)
        cells.append(cell)
    wanted = [(cell["size"], cell["checked_events"]) for cell in cells]
    for system in () if options.scans else PEERS:
        _progress(f"{workload.name}: {system}")
        least = 0.05 if options.quick else 0.25
        found = measure_system(system, workload.name, wanted, limit=options.limit, least_seconds=least)
        for cell in cells:
            cell["systems"][system] = found[cell["size"]]
    for cell in cells:
        where = f"FAULT {workload.name} {cell['size']:,}:"
        for system, one in cell["systems"].items():
            if one.get("failed"):
                faults.append(f"{where} {system} {one['reason']}")
            if "total" in one and one["total"] != (right := int(expected[cell["size"]][one["events"]])):
                faults.append(
                    f"{where} {system} found {one['total']:,} matches in the first {one['events']:,} events, "
                    f"bitmap {right:,}"
                )
    return cells


def _measure_core(workload: Workload, size: int, most_events: int, *, quick: bool) -> tuple[dict[str, Any], Any]:
    """Measure bitmap and the scans in turn; return the cell, and the matches of the first n events for each n."""
    boxes, events = make_boxes(workload, size), make_events(workload, most_events)
    table, columns = events.table(), boxes.columns()
    warm = rookery.matcher(workload.schema)
    warm.add_boxes(**make_boxes(workload, 100).columns())
    warm.compile().match_many(table.slice(0, 10), event_id="id")
    began = time.process_time()
    matcher = rookery.matcher(workload.schema)
    matcher.add_boxes(**columns)
    compiled = matcher.compile()
    build = time.process_time() - began
    del columns
    systems: dict[str, Any] = {
        "bitmap (indices)": lambda count: compiled.match_indices(table.slice(0, count))[0],
        "bitmap (match_many)": lambda count: compiled.match_many(table.slice(0, count), event_id="id").column(0),
    }
    for name, make in SCANS.items():
        scan = make(boxes, events)
        systems[name] = lambda count, scan=scan: scan(count)[0]
    seconds = 0.05 if quick else 0.4
    counts = {name: _calibrate(match, most_events, seconds) for name, match in systems.items()}
    taken: dict[str, list[float]] = {name: [] for name in systems}
    totals = {}
    for _ in range(ROUNDS):
        for name, match in systems.items():
            best, spent = float("inf"), 0.0
            while spent < seconds / 2:  # a pass over all events may be short: the round then has several
                began = time.process_time()
                found = match(counts[name])
                took = time.process_time() - began
                best, spent = min(best, took), spent + took
            taken[name].append(best)
            totals[name] = len(found)
    checked = max(counts.values())
    matched = np.bincount(compiled.match_indices(table.slice(0, checked))[0], minlength=checked)
    expected = np.concatenate([[0], np.cumsum(matched)])
    measured: dict[str, Any] = {
        name: {
            "events": counts[name],
            "rate": counts[name] / min(taken[name]),
            "rates": [counts[name] / one for one in taken[name]],
            "total": totals[name],
        }
        for name in systems
    }
    measured["bitmap (indices)"] |= {"build": build, "nbytes": compiled.nbytes}
    sample = table.slice(0, min(counts["bitmap (indices)"], 20_000))
    cell = {
        "workload": workload.name,
        "size": size,
        "checked_events": checked,
        "matches_per_event": float(expected[-1]) / checked,
        "systems": measured,
        "walk": walk(compiled, table.slice(0, min(len(sample), 500))),
        "split": split(compiled, sample),
    }
    return cell, expected


def _calibrate(match: Any, most_events: int, seconds: float) -> int:
    """Return how many events keep a system busy for about `seconds`."""
    count = 1
    match(count)
    while count < most_events:
        began = time.process_time()
        match(count)
        took = time.process_time() - began
        if took > seconds / 4:
            return int(max(1, min(most_events, count * seconds / took)))
        count = min(most_events, 8 * count)
    return most_events


def _progress(text: str) -> None:
    print(f"  {text} …", file=sys.stderr, flush=True)
