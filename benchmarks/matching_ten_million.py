"""Ten million `device` subscriptions given as columns: they fit in 3 GB, input included, and match.

A fresh process makes the columns, adds them, compiles and matches, and reports its peak resident memory at each step.
The row scan checks the totals.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

__all__ = ["report"]

COUNT = 10_000_000
LIMIT_BYTES = 3_000_000_000
EVENTS = 100_000
CHECKED = 20


def report(*, as_json: bool) -> int:
    """Run the process and print what it reports; return 1 where it does not fit or its totals differ."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.matching_ten_million"], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        print(f"the process ended with {done.returncode}", file=sys.stderr)
        return 1
    found = json.loads(done.stdout)
    fits = found["peak_bytes"] <= LIMIT_BYTES
    agrees = found["checked_total"] == found["scan_total"]
    if as_json:
        print(json.dumps({**found, "fits": fits, "agrees": agrees}, indent=1))
    else:
        count, held = found["count"], found["nbytes"]
        print(f"{count:,} device subscriptions as columns (device and type int64, three thresholds float64)")
        print("  peak resident memory, GB: " + ", ".join(f"{k} {v / 1e9:.2f}" for k, v in found["peaks"].items()))
        verdict = "met" if fits else "MISSED"
        print(f"  peak {found['peak_bytes'] / 1e9:.2f} GB with the input; within {LIMIT_BYTES / 1e9:.0f} GB: {verdict}")
        print(f"  input {found['input_bytes'] / 1e9:.2f} GB; set {held / 1e9:.2f} GB, {held / count:.0f} B each")
        print(f"  add {found['add']:.1f} s, compile {found['compile']:.1f} s")
        print(
            f"  match {found['rate']:,.0f} events/s (indices), {found['rate_many']:,.0f} (match_many), "
            f"{found['matches_per_event']:.1f} matches per event"
        )
        print(
            f"  row scan {found['scan_rate']:.1f} events/s: {found['rate'] / found['scan_rate']:,.0f} times slower; "
            f"totals of {found['checked_events']} events: {found['checked_total']} and {found['scan_total']}"
            f"{'' if agrees else ' DIFFER'}"
        )
    return 0 if fits and agrees else 1


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _run() -> dict[str, Any]:
    from benchmarks.matching_peers import best_of
    from benchmarks.row_scans import row_scan
    from benchmarks.workloads import WORKLOADS, make_boxes, make_events

    import rookery

    workload = WORKLOADS["device"]
    events = make_events(workload, EVENTS)
    table = events.table()
    warm = rookery.matcher(workload.schema)
    warm.add_boxes(**make_boxes(workload, 1000).columns())
    warm.compile().match_many(table.slice(0, 100), event_id="id")
    row_scan(make_boxes(workload, 1000), events)(1)
    peaks = {"before": _peak()}
    columns = _columns()
    input_bytes = sum(
        column.nbytes for part in columns.values() for column in (part.values() if isinstance(part, dict) else [part])
    )
    peaks["columns"] = _peak()
    began = time.process_time()
    matcher = rookery.matcher(workload.schema)
    matcher.add_boxes(**columns)
    add = time.process_time() - began
    peaks["added"] = _peak()
    began = time.process_time()
    compiled = matcher.compile()
    compiling = time.process_time() - began
    peaks["compiled"] = _peak()
    matched = compiled.match_indices(table)[0]
    rate = EVENTS / best_of(lambda count: compiled.match_indices(table.slice(0, count)), EVENTS)
    rate_many = EVENTS / best_of(lambda count: compiled.match_many(table.slice(0, count), event_id="id"), EVENTS)
    peaks["matched"] = _peak()
    peak = _peak()  # what follows belongs to the peer
    scan = row_scan(_boxes(columns), events)
    scan_total = len(scan(CHECKED)[0])
    return {
        "count": COUNT, "input_bytes": input_bytes, "nbytes": compiled.nbytes, "add": add, "compile": compiling,
        "rate": rate, "rate_many": rate_many, "matches_per_event": len(matched) / EVENTS, "peaks": peaks,
        "peak_bytes": peak, "checked_events": CHECKED, "checked_total": int(np.searchsorted(matched, CHECKED)),
        "scan_total": scan_total, "scan_rate": CHECKED / best_of(scan, CHECKED),
    }  # fmt: skip


def _columns() -> dict[str, Any]:
    """Make the columns of the `device` workload one by one: thresholds that 0 to 50 % of the events pass."""
    random = np.random.default_rng(3)
    return {
        "subscription_id": np.arange(COUNT),
        "equals": {"device": random.integers(0, 1000, COUNT), "type": random.integers(0, 10, COUNT)},
        "lower": {name: 1000 - random.integers(1, 32_000, COUNT) / 64 for name in ("a0", "a2")},
        "upper": {"a1": random.integers(1, 32_000, COUNT) / 64},
    }


def _boxes(columns: dict[str, Any]) -> Any:
    """Return the columns as the row scan takes them."""
    from benchmarks.workloads import WORKLOADS, Boxes

    none = np.full(COUNT, np.inf)
    return Boxes(
        WORKLOADS["device"],
        np.stack([columns["equals"]["device"], columns["equals"]["type"]]),
        np.repeat(np.arange(3, dtype=np.uint8)[:, None], COUNT, axis=1),
        np.stack([columns["lower"]["a0"], -none, columns["lower"]["a2"]]),
        np.stack([none, columns["upper"]["a1"], none]),
    )


if __name__ == "__main__":
    print(json.dumps(_run()))
