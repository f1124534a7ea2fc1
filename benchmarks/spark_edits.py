"""Rules that are edited while a stream runs: how long a micro-batch takes, and what an edit costs.

`python -m benchmarks spark_edits [--rules N] [--seconds N] [--rate N]`. A stream of device readings is matched with so
many rules; first nothing is edited, then one rule every few seconds, then so many a second for so many seconds, each
edit a file in a folder of edits. Of each part the median and the longest micro-batch are printed, and the CPU seconds
of the tasks of one, which do not depend on who else uses the machine. At the end the driver, its JVM and its workers
are killed with -9 while a batch is open, an edit is made while nothing runs, the stream is drained in a new process,
and the matches of the last batches are compared with those of the set that is recorded for each, by an oracle that
knows the edits by their numbers alone. Returns 1 where they differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.kill9 import descendants, kill, numbers

__all__ = ["main"]

ROWS = 2_000
#: Batches that are left to the unbroken end, after the kill.
LAST_BATCHES = 3


def edit_rule(folder: Path, rules: pa.Table, number: int) -> None:
    """Write one edit: a rule of a seed of its own takes the place of rule `number`."""
    from rookery.spark.edits import write_edits

    last = f"{number:012d}.parquet" if number else None  # edits are numbered from 1
    write_edits(str(folder / "edits"), rules.slice(number % rules.num_rows, 1), after=last)


def drive(folder: Path, *, rows: int) -> None:
    """Run the stream in this process until it is killed, or, given the number of its rows, to its end."""
    from rookery.spark import MatchProgress, Subscriptions, match, register, session, write_stream

    spark = session(master="local[2,4]", memory="2g", settings={"spark.sql.shuffle.partitions": "2"})
    register(spark)
    reader = spark.readStream.format("rookery").option("workload", "devices").option("rowsPerBatch", ROWS)
    events = (reader.option("rows", rows) if rows else reader).load()
    rules = Subscriptions.files(str(folder / "rules.parquet"), edits=str(folder / "edits"))
    hits = match(events, rules, checkpoint=str(folder / "checkpoint"))
    trigger = {"availableNow": True} if rows else {"processingTime": "0 seconds"}
    query = write_stream(hits, str(folder / "out"), checkpoint=str(folder / "checkpoint"), trigger=trigger)
    seen = -1
    with (folder / "batches.jsonl").open("a") as told:
        while not query.awaitTermination(0.2):
            for progress in query.recentProgress:
                known = MatchProgress.of(progress)
                if known is not None and progress.batchId > seen and known.events:
                    seen = progress.batchId
                    line = {"at": time.time(), "batch": seen, "milliseconds": progress.batchDuration,
                            "cpu": known.seconds, "set": known.set_version}  # fmt: skip
                    told.write(json.dumps(line) + "\n")
            told.flush()
    spark.stop()


def start(folder: Path, *, rows: int = 0) -> subprocess.Popen[bytes]:
    """Start the driver in a process of its own."""
    with (folder / "driver.log").open("ab") as log:
        arguments = ["--drive", str(folder), "--rows", str(rows)]
        return subprocess.Popen([sys.executable, "-m", "benchmarks.spark_edits", *arguments], stdout=log, stderr=log)


def batches(folder: Path) -> list[dict[str, Any]]:
    """Return what the micro-batches told."""
    path = folder / "batches.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def used(process: int) -> dict[str, float]:
    """Return the CPU seconds of the driver, of its JVM, and of the Python workers."""
    found = {"driver": 0.0, "jvm": 0.0, "workers": 0.0}
    for one in descendants(process):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            name = Path(f"/proc/{one}/comm").read_text().strip()
        except OSError:
            continue
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        found["driver" if one == process else "jvm" if name == "java" else "workers"] += seconds
    return found


def part(folder: Path, child: subprocess.Popen[bytes], name: str, seconds: float, edit: Any) -> dict[str, float]:
    """Let the stream run for so long, editing by a call, and say what its micro-batches took."""
    before, cpu = len(batches(folder)), used(child.pid)
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        edit(over - seconds)
        if child.poll() is not None:
            raise SystemExit((folder / "driver.log").read_text()[-3000:])
    time.sleep(1)
    found, spent = batches(folder)[before:], used(child.pid)
    took = [one["milliseconds"] for one in found]
    tasks = [one["cpu"] for one in found]
    sets = len({one["set"] for one in found})
    last = sorted(took)[math.ceil(0.99 * len(took)) - 1]
    print(
        f"  {name}: {len(found)} batches, {sets} sets, a load of {os.getloadavg()[0]:.0f} | batch median "
        f"{statistics.median(took):,.0f} ms, 99 % {last:,.0f} ms, longest {max(took):,.0f} ms | CPU of tasks median "
        f"{1e3 * statistics.median(tasks):,.0f} ms, longest {1e3 * max(tasks):,.0f} ms | "
        + ", ".join(f"{who} {spent[who] - cpu[who]:.1f} CPU s" for who in spent),
        flush=True,
    )
    return {"median": statistics.median(took), "longest": max(took), "cpu": max(tasks)}


def verify(folder: Path, rules: pa.Table, other: pa.Table, rows: int) -> tuple[int, int, int]:
    """Compare the raw output with the oracle: matches, missed, extra."""
    from rookery.model.datasets import find_dataset
    from rookery.spark.versions import VersionLog
    from rookery.spark.workloads import Bounds, oracle, workload

    log, load = VersionLog(str(folder / "checkpoint")), workload("devices")
    first, second = load.bounds(rules.num_rows, 1), load.bounds(rules.num_rows, 2)
    history = log.history()
    assert len(history) == -(-rows // ROWS), "the stream did not reach its end"
    checked = sorted(history)[-20:]
    expected = []
    for batch in checked:
        known = log.read(history[batch]).taken
        edited = np.arange(rules.num_rows) < (0 if known is None else known.edits)
        events = pa.Table.from_batches(load.events(batch * ROWS, min(rows, (batch + 1) * ROWS)), schema=load.schema)
        bounds = Bounds(
            first.ids, first.versions,
            {name: np.where(edited, second.lower[name], first.lower[name]) for name in first.lower},
            {name: np.where(edited, second.upper[name], first.upper[name]) for name in first.upper},
            np.where(edited, second.device, first.device),
        )  # fmt: skip
        expected.append(_oracle(events, bounds, oracle))
    wanted = np.concatenate(expected)
    files = [path for path in find_dataset(folder / "out").paths if int(path.parent.name[6:]) in set(checked)]
    table = pa.concat_tables([pq.ParquetFile(path).read() for path in files])
    found = np.column_stack([table[name].to_numpy() for name in ("event_id", "subscription_id", "version")])
    both, place = np.unique(np.concatenate([found, wanted]), axis=0, return_inverse=True)
    have = np.bincount(place[: len(found)].ravel(), minlength=len(both))
    want = np.bincount(place[len(found) :].ravel(), minlength=len(both))
    return len(wanted), int(np.maximum(want - have, 0).sum()), int(np.maximum(have - want, 0).sum())


def _oracle(events: pa.Table, bounds: Any, oracle: Any) -> Any:
    """Ask the oracle about the rules of the devices that are there: it looks at one rule after the other."""
    from rookery.spark.workloads import Bounds

    devices = {int(name[1:]) for name in events["device"].unique().to_pylist()}
    there = np.flatnonzero(np.isin(bounds.device, list(devices)))
    part = Bounds(
        bounds.ids[there], bounds.versions[there], {name: one[there] for name, one in bounds.lower.items()},
        {name: one[there] for name, one in bounds.upper.items()}, bounds.device[there],
    )  # fmt: skip
    return oracle(events, part)


def main(arguments: list[str]) -> int:
    """Run the benchmark, or with --drive the stream itself."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_edits", description=__doc__)
    parser.add_argument("--rules", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=120, help="how long so many rules a second are edited")
    parser.add_argument("--quiet", type=float, default=20, help="how long the parts before are")
    parser.add_argument("--rate", type=int, default=100, help="edits a second")
    parser.add_argument("--drive", type=Path)
    parser.add_argument("--rows", type=int, default=0)
    asked = parser.parse_args(arguments)
    if asked.drive is not None:
        drive(asked.drive, rows=asked.rows)
        return 0
    from rookery.spark.workloads import workload

    with tempfile.TemporaryDirectory(prefix="rookery-edits-") as place:
        folder = Path(place)
        rules, other = (workload("devices").rules(asked.rules, seed) for seed in (1, 2))
        pq.write_table(rules, folder / "rules.parquet")
        (folder / "edits").mkdir()
        child = start(folder)
        begun = time.monotonic()
        while len(batches(folder)) < 5:
            time.sleep(0.2)
            if child.poll() is not None or time.monotonic() - begun > 1800:
                raise SystemExit((folder / "driver.log").read_text()[-3000:])
        print(
            f"{asked.rules:,} rules, batches of {ROWS:,} events; the first five after {time.monotonic() - begun:.0f} s"
        )
        done = 0

        def nothing(_: float) -> None:
            time.sleep(0.2)

        def one(_: float) -> None:
            nonlocal done
            edit_rule(folder, other, done)
            done += 1
            time.sleep(3)

        def many(begin: float) -> None:
            nonlocal done
            due = base + int((time.monotonic() - begin) * asked.rate)
            while done < due:
                edit_rule(folder, other, done)
                done += 1
            time.sleep(0.01)

        seen = [part(folder, child, "nothing edited", asked.quiet, nothing)]
        seen.append(part(folder, child, "one edit every 3 s", asked.quiet, one))
        base = done
        seen.append(part(folder, child, f"{asked.rate} edits a second", asked.seconds, many))
        print(f"  {done - base:,} edits in {asked.seconds:.0f} s")
        bound = folder / "checkpoint" / "rookery" / "versions"
        open_batch = False
        while not open_batch:  # killed after a batch is bound and before it is committed
            known = max(numbers(bound))
            while max(numbers(bound)) == known:
                time.sleep(0.002)
            kill(child)
            open_batch = max(numbers(bound)) not in numbers(folder / "checkpoint" / "commits")
            if not open_batch:
                child = start(folder)
                time.sleep(30)
        edit_rule(folder, other, done)
        done += 1
        rows = ROWS * (max(numbers(folder / "checkpoint" / "offsets")) + 1 + LAST_BATCHES)
        begun = time.monotonic()
        for _ in range(3):  # on a busy machine Spark gives up a worker that does not answer in ten seconds
            ended = start(folder, rows=rows).wait(timeout=1800)
            if not ended:
                break
        else:
            raise SystemExit((folder / "driver.log").read_text()[-3000:])
        wanted, missed, extra = verify(folder, rules, other, rows)
        merged = len(numbers(folder / "checkpoint" / "rookery" / "merged"))
        print(
            f"  killed with a batch open, drained in {time.monotonic() - begun:.0f} s | merges {merged} | the last 20 "
            f"batches: matches {wanted} missed {missed} extra {extra}"
        )
        return 0 if wanted and not missed and not extra else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
