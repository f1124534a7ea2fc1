"""What a thousand jobs leave behind: temp space and memory of the driver, by plan.

`python -m benchmarks spark_space [--calls N] [--rules N] [--plans A,B]`. One plan after the other, in one session.
Eight sets of rules take turns, so that none is still held when it comes again and each job sends its set anew. Every
tenth of the way the files of Spark's temp folders, the heap of the JVM after a collection, and the memory of Python
are printed. Returns 1 where one of them has grown over the second half by more than what a session keeps for later by
design (`spark/broadcasts.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.spark import cpu_seconds

__all__ = ["main"]

#: The plans, and the workload of each.
PLANS = {
    "broadcast": "ranges", "join": "devices", "expressions": "ranges", "zoned": "ranges", "keys": "devices",
}  # fmt: skip
#: MiB by which the second half may be above the first: files that wait for a collection, and noise of the heap.
ALLOWED = {"temp": 160.0, "heap": 32.0, "python": 64.0}


def held(spark: Any, local: str) -> dict[str, float]:
    """Return MiB of temp files, of the JVM's heap after a collection, and of this process."""
    jvm = spark.sparkContext._jvm
    gc.collect()  # a DataFrame is a circle in Python, and until it is let go its plan is not
    for _ in range(2):
        jvm.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    files = sum(_sizes(local))
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "temp": files / 2**20,
        "heap": (runtime.totalMemory() - runtime.freeMemory()) / 2**20,
        "python": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
    }


def _sizes(folder: str) -> Iterator[int]:
    """Yield the bytes of all files; Spark may remove one at any moment."""
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                yield Path(root, name).stat().st_size


def main(arguments: list[str]) -> int:
    """Run the jobs and print what is held."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_space")
    parser.add_argument("--calls", type=int, default=1_000, help="of each plan")
    parser.add_argument("--rules", type=int, default=3_000)
    parser.add_argument("--plans", default=",".join(PLANS), help="which plans, with commas between")
    asked = parser.parse_args(arguments)
    from rookery.spark import Subscriptions, match, session
    from rookery.spark.workloads import workload

    load, devices = workload("ranges"), workload("devices")
    grown: list[bool] = []
    with tempfile.TemporaryDirectory() as local:
        spark = session(master="local[2]", memory="1g", settings={"spark.local.dir": local})
        frames = {"ranges": spark.createDataFrame(load.table(200)).cache()}
        frames["devices"] = spark.createDataFrame(devices.table(200)).cache()
        for plan in asked.plans.split(","):
            name, rules = PLANS[plan], 5 if plan == "expressions" else asked.rules
            sets = [Subscriptions.arrow(workload(name).rules(rules, seed)) for seed in range(8)]
            seen, begun, cpu = [], time.monotonic(), cpu_seconds()
            for call in range(asked.calls):
                match(frames[name], sets[call % 8], plan=plan).count()  # type: ignore[arg-type]
                if (call + 1) % max(1, asked.calls // 10) == 0:
                    seen.append(held(spark, local))
                    shown = ", ".join(f"{what} {size:.0f} MiB" for what, size in seen[-1].items())
                    print(f"  {plan}, {call + 1:,} jobs: {shown}", flush=True)
            half = len(seen) // 2
            more = {what: max(one[what] for one in seen[half:]) - max(one[what] for one in seen[:half])
                    for what in ALLOWED}  # fmt: skip
            print(
                f"{plan}: grown over the second half: "
                + ", ".join(f"{what} {size:.0f} MiB" for what, size in more.items())
                + f" | {time.monotonic() - begun:.0f} s by the clock, {cpu_seconds() - cpu:.0f} CPU s, "
                f"a load of {os.getloadavg()[1]:.0f}",
                flush=True,
            )  # fmt: skip
            grown.append(any(more[what] > most for what, most in ALLOWED.items()))
        spark.stop()
    return int(any(grown))
