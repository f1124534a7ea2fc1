"""Large sets on Spark: 50 M events × 100 k rules from Parquet to Parquet in bounded memory, and 1 M rules in zones.

`python -m benchmarks spark_scale [--events 50000000] [--part files|zones|all]`. The first part runs the files plan on
a tenth of the events and on all of them, and reports seconds per million events (linear?) and the largest resident
memory of any Python worker. The second matches 1 M rules by the zoned and by the broadcast plan and compares every
pair.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.kill9 import descendants
from benchmarks.spark import write_events


class Memory(threading.Thread):
    """Watches the largest resident set of the Python workers of this process."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process, self.largest, self.ended = process, 0, threading.Event()

    def run(self) -> None:
        """Look four times a second."""
        while not self.ended.wait(0.25):
            for one in descendants(self.process):
                try:
                    if b"rookery.spark.daemon" in Path(f"/proc/{one}/cmdline").read_bytes():
                        status = Path(f"/proc/{one}/status").read_text()
                        size = int(status.partition("VmRSS:")[2].split()[0]) * 1024
                        self.largest = max(self.largest, size)
                except (OSError, IndexError, ValueError):
                    continue

    def stop(self) -> int:
        """Stop and return the largest size in bytes."""
        self.ended.set()
        self.join()
        return self.largest


def files(spark: Any, folder: Path, events: int, rules: int) -> int:
    """Run the files plan on a tenth and on all of the events."""
    import os

    from rookery.spark import Subscriptions, match_files
    from rookery.spark.workloads import workload

    records = Subscriptions.arrow(workload("devices").rules(rules, 1))
    rates = []
    for count in (100_000, events // 10, events):
        source = write_events("devices", count, folder)
        memory = Memory(os.getpid())
        memory.start()
        started = time.perf_counter()
        done = match_files(spark, source, records, folder / "out", event_id="event_id", overwrite=True)
        seconds = time.perf_counter() - started
        largest = memory.stop()
        if count == 100_000:
            continue  # warm
        rates.append(seconds / count * 1e6)
        print(
            f"  {count:>11,} events × {rules:,} rules: {done.matches:,} matches in {seconds:.1f} s, "
            f"{count / seconds:,.0f} events/s, {rates[-1]:.3f} s per million, largest worker {largest / 2**20:.0f} MiB",
            flush=True,
        )
        shutil.rmtree(source)
    print(f"  seconds per million events, all over a tenth: {rates[1] / rates[0]:.2f}")
    return 0


def zones(spark: Any, folder: Path, rules: int, events: int) -> int:
    """Match many rules by the zoned and the broadcast plan, and compare every pair."""
    from rookery.spark import Subscriptions, match
    from rookery.spark.workloads import workload

    records = Subscriptions.arrow(workload("devices").rules(rules, 1))
    frame = spark.read.parquet(str(write_events("devices", events, folder)))
    found = {}
    for plan in ("broadcast", "zoned"):
        started = time.perf_counter()
        table = match(frame, records, plan=plan, zones=16).select("event_id", "subscription_id", "version").toArrow()
        pairs = np.column_stack([column.to_numpy() for column in table.columns])
        found[plan] = pairs[np.lexsort(pairs.T[::-1])]
        seconds = time.perf_counter() - started
        print(
            f"  {plan:<10} {events:,} events × {rules:,} rules: {len(pairs):,} matches in {seconds:.1f} s", flush=True
        )
    same = np.array_equal(found["broadcast"], found["zoned"])
    print(f"  zoned and broadcast are {'equal, pair for pair' if same else 'DIFFERENT'}")
    return 0 if same and len(found["zoned"]) else 1


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_scale", description=__doc__)
    parser.add_argument("--events", type=int, default=50_000_000)
    parser.add_argument("--rules", type=int, default=100_000)
    parser.add_argument("--zoned-rules", type=int, default=1_000_000)
    parser.add_argument("--zoned-events", type=int, default=300_000)
    parser.add_argument("--part", choices=["files", "zones", "all"], default="all")
    asked = parser.parse_args(arguments)
    from rookery.spark import session

    spark = session(master="local[2,4]", memory="4g")
    folder = Path(tempfile.mkdtemp(prefix="rookery-benchmark-"))
    try:
        code = 0
        if asked.part in ("files", "all"):
            code |= files(spark, folder, asked.events, asked.rules)
        if asked.part in ("zones", "all"):
            code |= zones(spark, folder, asked.zoned_rules, asked.zoned_events)
        return code
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
