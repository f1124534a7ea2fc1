"""Many seeds in the simulated network, to the end, on all cores: which ones fail, and how to replay each.

`python -m benchmarks seeds [--seeds 10000] [--first 0] [--jobs 2] [--check ring|discovery|crowded]`. A seed is a whole
run of the tests of the simulator: `ring` writes and reads under loss, duplication and reordering (`tests/live/
test_simulated.py`); `discovery` adds joins, crashes, partitions and endpoints that come and go, with every protocol
(`test_discovery_simulated.py`); `crowded` gives participants up to 48 endpoints and more, and counts how often cuckoo
filters double on the wire, in the default setting and in that of seed 001. Unlike pytest it does not stop at the first
failure. A failing seed is printed with its reason and the command that replays it; the exit code is 1 if there was one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def checks(kind: str) -> list[tuple[str, Callable[[int], object]]]:
    """Return what to run for each seed, by name."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    if kind == "ring":
        from tests.simulated.test_domain import check_ring

        return [("ring", check_ring)]
    from tests.simulated.test_discovery import PROTOCOLS, check, check_crowded

    if kind == "crowded":
        return [(name, lambda seed, name=name: check_crowded(seed, name)) for name in ("cuckoo", "cuckoo:patent")]
    names = [*PROTOCOLS, "mixed"]
    return [(name, lambda seed, name=name: check(seed, name)) for name in names]


def run(task: tuple[str, int]) -> tuple[list[str], Counter[str]]:
    """Run one seed; return what failed, and what was counted."""
    kind, seed = task
    failed: list[str] = []
    totals: Counter[str] = Counter()
    for name, check in checks(kind):
        try:
            counted = check(seed)
            if isinstance(counted, dict):
                totals.update({f"{name} {what}": count for what, count in counted.items()})
        except Exception as error:  # an assertion, or a fault that the seed has found
            failed.append(f"seed {seed} ({name}): {type(error).__name__}: {str(error).splitlines()[0]}")
    return failed, totals


def main(arguments: list[str]) -> int:
    """Run the seeds and print those that fail."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks seeds", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--check", choices=["ring", "discovery", "crowded"], default="ring")
    asked = parser.parse_args(arguments)
    tasks = [(asked.check, seed) for seed in range(asked.first, asked.first + asked.seeds)]
    start, failures, totals = time.perf_counter(), 0, Counter[str]()
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for done, (failed, counted) in enumerate(pool.imap_unordered(run, tasks, chunksize=16), start=1):
            failures += bool(failed)
            totals += counted
            for line in failed:
                print(line, flush=True)
            if done % 1_000 == 0:
                print(f"{done:,} of {len(tasks):,} seeds, {failures} failed", file=sys.stderr, flush=True)
    for what, count in sorted(totals.items()):
        print(f"{count:12,} {what}")
    print(f"{len(tasks):,} seeds of {asked.check}, {failures} failed, {time.perf_counter() - start:.0f} s")
    return 1 if failures else 0
