"""Every plan of `match` beside the best Spark that a user writes by hand, from ten ranges to 100,000 device rules.

`python -m benchmarks spark_plans [--events N] [--quick] [--part NAME …] [--rounds N]`. Each part has its rules, the
plans of `match` on a DataFrame (one with a filter, so that it is no bare scan) and on a bare scan of Parquet, and the
peers: a nested loop with a column for each bound, one that looks three up, CASE WHEN with a column for each rule, a
broadcast hash join with the ranges as its filter, CASE WHEN of LIKE, and rlike of an alternation. The counts of matches
must be the same. Ratios are to the peer that took the fewest CPU seconds. All run in turn, each round begins with
another one, and the first rounds do not count.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks import spark_peers as peers
from benchmarks.spark import Line, measured, shown, write_events
from benchmarks.spark_text import by_alternation, by_case_when

__all__ = ["main"]

Peers = dict[str, Callable[[Any], int]]


class Part:
    """Rules, events and peers of one line of the table."""

    def __init__(self, name: str, source: Path, rules: pa.Table, by_hand: Peers) -> None:
        self.name, self.source, self.rules, self.by_hand = name, source, rules, by_hand


def ranges_part(spark: Any, folder: Path, events: int, count: int) -> Part:
    """Ranges alone."""
    from rookery.spark.workloads import workload

    load = workload("ranges")
    bounds = load.bounds(count, 1)
    by_hand: Peers = {
        "nested loop, 16 comparisons": lambda frame: peers.nested_loop_wide(spark, frame, bounds),
        "nested loop, 3 looked up": lambda frame: peers.nested_loop_indexed(spark, frame, bounds),
        "CASE WHEN": lambda frame: peers.case_when(frame, bounds),
    }
    return Part(f"{count:,} ranges", write_events("ranges", events, folder), load.rules(count, 1), by_hand)


def devices_part(spark: Any, folder: Path, events: int, count: int) -> Part:
    """A device and two thresholds."""
    from rookery.spark.workloads import workload

    load = workload("devices")
    bounds = load.bounds(count, 1)
    by_hand: Peers = {"broadcast hash join": lambda frame: peers.hash_join(spark, frame, bounds)}
    return Part(f"{count:,} device rules", write_events("devices", events, folder), load.rules(count, 1), by_hand)


def mixed_part(spark: Any, folder: Path, events: int, count: int, *, step: int = 1) -> Part:
    """Device rules, and one in a hundred for all devices: by hand a hash join and a nested loop.

    CASE WHEN of the hundred instead of the loop took eight times the CPU seconds of both: it is left out.
    The rules' devices are each `step`th: with 1 they are neighbors, and two comparisons say nearly who they are.
    """
    from rookery.spark.workloads import workload

    load, few = workload("devices"), max(1, count // 100)
    bounds, named = load.bounds(count, 1), load.rules(count, 1)
    assert bounds.device is not None
    bounds = replace(bounds, device=bounds.device * step)
    texts = [f"device = 'd{number:05d}'{where[17:]}" for where, number in
             zip(named["where"].to_pylist(), bounds.device.tolist(), strict=True)]  # fmt: skip
    named = named.set_column(named.column_names.index("where"), "where", pa.array(texts))
    limits = np.linspace(0.9, 0.999, few).tolist()
    wide = pa.table(
        {
            "subscription_id": range(count, count + few),
            "where": [f"x >= {limit!r} and z < 0.1" for limit in limits],
            "version": pa.array([1] * few, pa.int64()),
        }
    )

    def looped(frame: Any) -> int:
        from pyspark.sql.functions import broadcast, expr

        wide = broadcast(spark.createDataFrame(pa.table({"limit": limits})))
        return int(frame.join(wide, expr("x >= limit and z < 0.1D")).count())

    by_hand: Peers = {
        "hash join and nested loop": lambda frame: peers.hash_join(spark, frame, bounds) + looped(frame),
    }
    rules = pa.concat_tables([named, wide.cast(named.schema)])
    apart = "" if step == 1 else f", each {step}th device"
    return Part(f"{count:,} device rules and {few}{apart}", write_events("devices", events, folder), rules, by_hand)


def text_part(spark: Any, folder: Path, events: int, count: int) -> Part:
    """A word in a note."""
    del spark
    source = folder / f"notes-{events}"
    draw = random.Random(1)
    words = sorted({"".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(4, 10))) for _ in range(5_000)})
    if not source.exists():
        source.mkdir()
        notes = [" ".join(draw.choices(words, k=8)) for _ in range(events)]
        pq.write_table(pa.table({"event_id": range(events), "note": notes}), source / "0.parquet")
    sought = random.Random(2).sample(words, count)
    rules = pa.table({"subscription_id": range(count), "where": [f"note like '%{word}%'" for word in sought]})
    by_hand: Peers = {
        "CASE WHEN of LIKE": lambda frame: by_case_when(frame, sought),
        "rlike of an alternation": lambda frame: by_alternation(frame, sought),
    }
    return Part(f"{count:,} text rules", source, rules, by_hand)


def in_turn(calls: Peers, frame: Any, events: int, rules: int, *, longest: float, rounds: int) -> list[Line]:
    """Measure calls in turn, round by round, and take the best of each by its CPU seconds.

    What runs first in a process pays for what the JVM compiles, for the others too, and it goes on compiling for many
    jobs. So of the rounds of a call the last half counts; it has as many as so many CPU seconds hold. The best one,
    since what else the machine does costs CPU seconds too.
    """
    seen: dict[str, list[Line]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name, call in [*calls.items()][turn % len(calls) :] + [*calls.items()][: turn % len(calls)]:
            if turn < 2 or turn * seen[name][1].cpu < longest:
                seen[name].append(measured(name, events, rules, lambda call=call: call(frame)))  # type: ignore[misc]
    return [shown(min(some[len(some) // 2 :], key=lambda one: one.cpu)) for some in seen.values()]


def run(spark: Any, part: Part, events: int, folder: Path, *, longest: float, rounds: int) -> bool:
    """Run one line of the table; say whether all counts are the same."""
    from rookery.spark import Subscriptions, explain_plan, match, match_files

    print(f"\n{part.name}")
    scan = spark.read.parquet(str(part.source))
    frame = scan.where("event_id >= 0")  # no bare scan, and nothing left out
    rules = Subscriptions.arrow(part.rules)
    chosen = explain_plan(frame, rules)
    print(f"  auto takes {chosen.name}: {chosen.reason} ({chosen.microseconds or 0:.2f} µs an event by estimate)")
    print(f"  and of a bare scan {explain_plan(scan, rules).name}", flush=True)

    asked: Peers = {
        "match, auto, a DataFrame": lambda _: int(match(frame, rules).count()),
        "match, auto, a bare scan": lambda _: int(match(scan, rules).count()),
        "match, plan='broadcast'": lambda _: int(match(frame, rules, plan="broadcast").count()),
        "match_files": lambda _: match_files(spark, part.source, rules, folder / "out", overwrite=True).matches,
    }
    lines = in_turn(asked | part.by_hand, frame, events, len(part.rules), longest=longest, rounds=rounds)
    ours, theirs = lines[: len(asked)], lines[len(asked) :]
    best = min(theirs, key=lambda one: one.cpu)
    for one in ours:
        cpu, seconds = best.cpu / one.cpu, min(each.seconds for each in theirs) / one.seconds
        print(f"  {one.name}: {cpu:.2f}× the best by hand ({best.name}) in CPU seconds, {seconds:.2f}× in seconds")
    return len({one.matches for one in (*ours, *theirs)}) == 1


PARTS: dict[str, Callable[[Any, Path, int], Part]] = {
    "ranges-10": lambda spark, folder, events: ranges_part(spark, folder, events, 10),
    "ranges-30": lambda spark, folder, events: ranges_part(spark, folder, events, 30),
    "ranges-100": lambda spark, folder, events: ranges_part(spark, folder, events, 100),
    "ranges-1000": lambda spark, folder, events: ranges_part(spark, folder, events, 1_000),
    "devices-10k": lambda spark, folder, events: devices_part(spark, folder, events, 10_000),
    "devices-100k": lambda spark, folder, events: devices_part(spark, folder, events, 100_000),
    "mixed": lambda spark, folder, events: mixed_part(spark, folder, events, 10_000),
    "mixed-apart": lambda spark, folder, events: mixed_part(spark, folder, events, 10_000, step=10),
    "text": lambda spark, folder, events: text_part(spark, folder, min(events, 200_000), 1_000),
}


def main(arguments: list[str]) -> int:
    """Run the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_plans")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--longest", type=float, default=6.0, help="CPU seconds for the rounds of one call")
    parser.add_argument("--rounds", type=int, default=15, help="rounds at the most")
    parser.add_argument("--part", choices=[*PARTS, "all"], nargs="+", default=["all"])
    asked = parser.parse_args(arguments)
    from rookery.spark import session

    events = asked.events // 10 if asked.quick else asked.events
    spark = session(master="local[2,4]", memory="2g")
    folder = Path(tempfile.mkdtemp(prefix="rookery-benchmark-"))
    try:
        names = PARTS if "all" in asked.part else asked.part
        agree = [
            run(spark, PARTS[name](spark, folder, events), events, folder, longest=asked.longest, rounds=asked.rounds)
            for name in names
        ]
        print(f"\nmatch counts {'identical everywhere' if all(agree) else 'DIFFER'}")
        return 0 if all(agree) else 1
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
