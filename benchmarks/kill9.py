"""Kill -9 of a stream's driver at random moments, with rule edits in flight: is the raw output exact every time?

`python -m benchmarks kill9 [--kills 100] [--minutes 600] [--seed 1]`. A child process streams a generated workload
through `match` into the two-phase sink. The parent edits the rule file and kills the child, its JVM and its Python
workers at random moments, then starts it again on the same checkpoint; after the last kill the stream is drained. Then
every row of every raw output file is compared with what an unbroken run gives: each micro-batch judged, by plain NumPy,
with the rule set that was recorded for it.

A cycle costs what starting Spark costs: one JVM, one driver and the half a dozen Python processes by which Spark plans
and commits a Python source and sink. The JVM compiles quickly instead of well (`QUICK`), which halves its part.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_BATCH = 2_000
#: Batches that are left to the unbroken end, after the last kill.
LAST_BATCHES = 5
RULES = 150
#: For a JVM that lives some seconds: no second compiler, no collector threads.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def rule_file(folder: Path, edit: int) -> None:
    """Write the rules of one edit, whole: all limits change, and `subscriber` says which edit it is."""
    from rookery.spark.workloads import workload

    table = workload("ranges").rules(RULES, edit + 1)
    table = table.append_column("subscriber", pa.array([str(edit)] * table.num_rows))
    fresh = folder / ".rules.new"
    pq.write_table(table, fresh)
    fresh.replace(folder / "rules.parquet")


def drive(folder: Path, *, rows: int) -> None:
    """Run the stream in this process until it is killed, or, given the number of its rows, to its end."""
    from rookery.spark import Subscriptions, match, register, session, write_stream
    from rookery.spark.sessions import options

    java = f"{options(memory='1g')['spark.driver.extraJavaOptions']} {QUICK}"
    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": java}
    spark = session(master="local[2,4]", memory="1g", settings=settings)
    register(spark)
    reader = spark.readStream.format("rookery").option("workload", "ranges").option("rowsPerBatch", ROWS_PER_BATCH)
    events = (reader.option("rows", rows) if rows else reader).load()
    checkpoint = str(folder / "checkpoint")
    hits = match(events, Subscriptions.files(folder / "rules.parquet"), checkpoint=checkpoint)
    trigger = {"availableNow": True} if rows else {"processingTime": "0 seconds"}
    query = write_stream(hits, str(folder / "out"), checkpoint=checkpoint, trigger=trigger)
    query.awaitTermination()
    spark.stop()


def descendants(process: int) -> list[int]:
    """Return a process and everything that it started, from /proc."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, pending = [], [process]
    while pending:
        one = pending.pop()
        found.append(one)
        pending += parents.get(one, [])
    return found


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill the driver, its JVM and its workers with -9, the driver first."""
    for process in descendants(child.pid):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    child.wait()


def start(folder: Path, *, rows: int = 0) -> subprocess.Popen[bytes]:
    """Start the driver in a process of its own; what it says goes to a file. Without `rows` the stream has no end."""
    arguments = ["--drive", str(folder), "--rows", str(rows)]
    with (folder / "driver.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "benchmarks.kill9", *arguments], stdout=log, stderr=log)


def numbers(folder: Path) -> list[int]:
    """Return the numbers that name files of a folder."""
    return sorted(int(path.name) for path in folder.glob("*") if path.name.isdigit())


def wait_for(child: subprocess.Popen[bytes], folder: Path) -> bool:
    """Wait until the child has added an entry to the folder; False when it ended before that."""
    before = {path.name for path in folder.glob("[!.]*")}
    patience = time.monotonic() + 900
    while child.poll() is None and time.monotonic() < patience:
        if any(path.name not in before for path in folder.glob("[!.]*")):
            return True
        time.sleep(0.01)
    return False


def verify(folder: Path, rows: int) -> tuple[int, int, int]:
    """Compare the raw output with the oracle: matches, missed, extra."""
    from rookery.spark.versions import VersionLog
    from rookery.spark.workloads import oracle, workload

    log, load = VersionLog(str(folder / "checkpoint")), workload("ranges")
    edits: dict[int, int] = {}
    expected = []
    for batch, number in log.history().items():
        if number not in edits:
            edits[number] = int(log.records(log.read(number))["subscriber"][0].as_py())
        first = batch * ROWS_PER_BATCH
        events = pa.Table.from_batches(load.events(first, min(rows, first + ROWS_PER_BATCH)), schema=load.schema)
        expected.append(oracle(events, load.bounds(RULES, edits[number] + 1)))
    wanted = np.concatenate(expected)
    assert len(log.history()) == -(-rows // ROWS_PER_BATCH), "the stream did not reach its end"
    tables = [pq.ParquetFile(file).read() for file in (folder / "out").rglob("*.parquet")]
    table = pa.concat_tables(tables)
    found = np.column_stack([table[name].to_numpy() for name in ("event_id", "subscription_id", "version")])
    both, place = np.unique(np.concatenate([found, wanted]), axis=0, return_inverse=True)
    have = np.bincount(place[: len(found)].ravel(), minlength=len(both))
    want = np.bincount(place[len(found) :].ravel(), minlength=len(both))
    return len(wanted), int(np.maximum(want - have, 0).sum()), int(np.maximum(have - want, 0).sum())


def torture(folder: Path, *, kills: int, minutes: float, seed: int) -> int:
    """Run, kill, edit, restart; then drain and compare. No kill begins when the minutes are over."""
    dice = random.Random(seed)
    over = time.monotonic() + 60 * minutes
    done = 0
    edit = 0
    rule_file(folder, edit)
    in_flight = unrecorded = 0
    commits, offsets = folder / "checkpoint" / "commits", folder / "checkpoint" / "offsets"
    moments = [(commits, 0.3), (offsets, 1.2), (folder / "checkpoint" / "rookery" / "versions", 1.2)]
    moments += [(folder / ".out.staging", 0.3), (folder / "out", 0.1)]
    while done < kills and time.monotonic() < over:
        # A batch is begun, bound, staged, published and committed; on a slow machine these are seconds apart, on a
        # quick one milliseconds. The moment is counted from one of them, so that each gap is hit on either.
        sign, longest = dice.choice(moments)
        child = start(folder)
        if not wait_for(child, sign):
            print((folder / "driver.log").read_text()[-3000:], file=sys.stderr)
            return 1
        if dice.random() < 0.7:
            edit += 1
            rule_file(folder, edit)
        time.sleep(dice.uniform(0, longest))
        kill(child)
        done += 1
        last = max(numbers(offsets), default=-1)
        open_batch = last not in numbers(commits)
        published = (folder / "out" / f"batch={last}").exists()
        in_flight += open_batch
        unrecorded += open_batch and published
        state = f"open{', published' if published else ''}" if open_batch else "committed"
        print(f"kill {done:3d} of {kills}: batch {last} {state}", flush=True)
        if dice.random() < 0.5:  # an edit while nothing runs: the replay must not see it
            edit += 1
            rule_file(folder, edit)
    rows = ROWS_PER_BATCH * (max(numbers(offsets), default=-1) + 1 + LAST_BATCHES)
    child = start(folder, rows=rows)
    if child.wait(timeout=1800):
        print((folder / "driver.log").read_text()[-3000:], file=sys.stderr)
        return 1
    wanted, missed, extra = verify(folder, rows)
    sets = len(set(_history(folder).values()))
    print(
        f"kills {done} (a batch open in {in_flight}, published but not recorded in {unrecorded}) | "
        f"rule edits {edit}, sets in use {sets} | matches {wanted} missed {missed} extra {extra}"
    )
    return 0 if not missed and not extra and wanted else 1


def _history(folder: Path) -> dict[int, int]:
    from rookery.spark.versions import VersionLog

    return VersionLog(str(folder / "checkpoint")).history()


def main(arguments: list[str]) -> int:
    """Run the benchmark, or with --drive the stream itself."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kill9", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=600, help="how long it may go on killing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", type=Path)
    parser.add_argument("--rows", type=int, default=0)
    asked = parser.parse_args(arguments)
    if asked.drive is not None:
        drive(asked.drive, rows=asked.rows)
        return 0
    with tempfile.TemporaryDirectory(prefix="rookery-kill9-") as folder:
        return torture(Path(folder), kills=asked.kills, minutes=asked.minutes, seed=asked.seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
