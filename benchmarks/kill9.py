"""Kill -9 of a stream's driver at random moments, with rule edits in flight: is the raw output exact every time?

`python -m benchmarks kill9 [--kills 100] [--minutes 600] [--seed 1] [--store]`. A child process streams a generated
workload through `match` into the two-phase sink. The parent edits the rule file and kills the child, its JVM and its
Python workers at random moments, then starts it again on the same checkpoint; after the last kill the stream is
drained. Then every row of every raw output file is compared with what an unbroken run gives: each micro-batch judged,
by plain NumPy, with the rule set that was recorded for it.

With `--store` rules, checkpoint, version log and output are in an S3 server (`tests/spark/s3_server.py`), which
stays alive: Spark keeps its checkpoint there through s3a, Rookery all else through `model/storage`.

A cycle costs what starting Spark costs: one JVM, one driver and the half a dozen Python processes by which Spark plans
and commits a Python source and sink. The JVM compiles quickly instead of well (`QUICK`), which halves its part.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rookery.model.datasets import find_dataset
from rookery.model.storage import Location, ObjectPath, names_in, path_of, put_file, source_of
from rookery.spark.versions import VersionLog

ROWS_PER_BATCH = 2_000
#: Batches that are left to the unbroken end, after the last kill.
LAST_BATCHES = 5
RULES = 150
#: For a JVM that lives some seconds: no second compiler, no collector threads.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a run keeps its things: `folder` on this machine for the driver's log, all else below `place`."""

    folder: Path
    place: Location
    settings: dict[str, str]

    def __truediv__(self, name: str) -> Location:
        return self.place / name

    @property
    def checkpoint(self) -> str:
        return str(self.place / "checkpoint")


def rule_file(ground: Ground, edit: int) -> None:
    """Write the rules of one edit, whole: all limits change, and `subscriber` says which edit it is."""
    from rookery.spark.workloads import workload

    table = workload("ranges").rules(RULES, edit + 1)
    table = table.append_column("subscriber", pa.array([str(edit)] * table.num_rows))
    fresh, target = ground.folder / ".rules.new", ground / "rules.parquet"
    pq.write_table(table, fresh)
    if isinstance(target, ObjectPath):
        put_file(fresh, target)
    else:
        fresh.replace(target)


def drive(ground: Ground, *, rows: int) -> None:
    """Run the stream in this process until it is killed, or, given the number of its rows, to its end."""
    from rookery.spark import Subscriptions, match, register, session, write_stream
    from rookery.spark.sessions import options

    java = f"{options(memory='1g')['spark.driver.extraJavaOptions']} {QUICK}"
    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": java, **ground.settings}
    spark = session(master="local[2,4]", memory="1g", settings=settings)
    register(spark)
    reader = spark.readStream.format("rookery").option("workload", "ranges").option("rowsPerBatch", ROWS_PER_BATCH)
    events = (reader.option("rows", rows) if rows else reader).load()
    hits = match(events, Subscriptions.files(str(ground / "rules.parquet")), checkpoint=ground.checkpoint)
    trigger = {"availableNow": True} if rows else {"processingTime": "0 seconds"}
    query = write_stream(hits, str(ground / "out"), checkpoint=ground.checkpoint, trigger=trigger)
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


def start(ground: Ground, *, rows: int = 0) -> subprocess.Popen[bytes]:
    """Start the driver in a process of its own; what it says goes to a file. Without `rows` the stream has no end."""
    arguments = ["--drive", str(ground.folder), "--place", str(ground.place), "--rows", str(rows)]
    (ground.folder / "settings.json").write_text(json.dumps(ground.settings))
    with (ground.folder / "driver.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "benchmarks.kill9", *arguments], stdout=log, stderr=log)


def numbers(folder: Location) -> list[int]:
    """Return the numbers that name files of a folder."""
    return sorted(int(name) for name in names_in(folder) if name.isdigit())


def wait_for(child: subprocess.Popen[bytes], folder: Location) -> bool:
    """Wait until the child has added an entry to the folder; False when it ended before that."""
    before = set(names_in(folder))
    patience = time.monotonic() + 900
    while child.poll() is None and time.monotonic() < patience:
        if any(name not in before for name in names_in(folder) if not name.startswith(".")):
            return True
        time.sleep(0.01)
    return False


def too_busy(folder: Path) -> bool:
    """Say whether the last driver ended because Spark gives its Python workers ten seconds, and the machine did not."""
    said = (folder / "driver.log").read_text()
    (folder / "driver.log").write_text("")
    if "Python worker failed to connect back" not in said:
        (folder / "driver.log").write_text(said)
        return False
    print("Spark gave up on a Python worker: the machine is busy; started again", flush=True)
    return True


def verify(ground: Ground, rows: int) -> tuple[int, int, int]:
    """Compare the raw output with the oracle: matches, missed, extra."""
    from rookery.spark.workloads import oracle, workload

    log, load = VersionLog(ground.checkpoint), workload("ranges")
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
    tables = [pq.ParquetFile(source_of(path)).read() for path in find_dataset(ground / "out").paths]
    table = pa.concat_tables(tables)
    found = np.column_stack([table[name].to_numpy() for name in ("event_id", "subscription_id", "version")])
    both, place = np.unique(np.concatenate([found, wanted]), axis=0, return_inverse=True)
    have = np.bincount(place[: len(found)].ravel(), minlength=len(both))
    want = np.bincount(place[len(found) :].ravel(), minlength=len(both))
    return len(wanted), int(np.maximum(want - have, 0).sum()), int(np.maximum(have - want, 0).sum())


def torture(ground: Ground, *, kills: int, minutes: float, seed: int) -> int:
    """Run, kill, edit, restart; then drain and compare. No kill begins when the minutes are over."""
    dice = random.Random(seed)
    over = time.monotonic() + 60 * minutes
    done = 0
    edit = 0
    rule_file(ground, edit)
    in_flight = unrecorded = 0
    checkpoint = ground / "checkpoint"
    commits, offsets = checkpoint / "commits", checkpoint / "offsets"
    moments = [(commits, 0.3), (offsets, 1.2), (checkpoint / "rookery" / "versions", 1.2)]
    moments += [(ground / ".out.staging", 0.3), (ground / "out", 0.1)]
    if isinstance(ground.place, ObjectPath):  # a batch is decided by its manifest before it is copied
        moments.append((ground / "out" / "_manifests", 0.1))
    while done < kills and time.monotonic() < over:
        # A batch is begun, bound, staged, published and committed; on a slow machine these are seconds apart, on a
        # quick one milliseconds. The moment is counted from one of them, so that each gap is hit on either.
        sign, longest = dice.choice(moments)
        child = start(ground)
        if not wait_for(child, sign):
            if too_busy(ground.folder):
                continue  # it died without us: as good as a kill, but not one of ours
            print((ground.folder / "driver.log").read_text()[-3000:], file=sys.stderr)
            return 1
        if dice.random() < 0.7:
            edit += 1
            rule_file(ground, edit)
        time.sleep(dice.uniform(0, longest))
        kill(child)
        done += 1
        last = max(numbers(offsets), default=-1)
        open_batch = last not in numbers(commits)
        published = (ground / f"out/batch={last}").exists()
        in_flight += open_batch
        unrecorded += open_batch and published
        state = f"open{', published' if published else ''}" if open_batch else "committed"
        print(f"kill {done:3d} of {kills}: batch {last} {state}", flush=True)
        if dice.random() < 0.5:  # an edit while nothing runs: the replay must not see it
            edit += 1
            rule_file(ground, edit)
    rows = ROWS_PER_BATCH * (max(numbers(offsets), default=-1) + 1 + LAST_BATCHES)
    while (child := start(ground, rows=rows)).wait(timeout=1800) and too_busy(ground.folder):
        pass
    if child.returncode:
        print((ground.folder / "driver.log").read_text()[-3000:], file=sys.stderr)
        return 1
    wanted, missed, extra = verify(ground, rows)
    sets = len(set(VersionLog(ground.checkpoint).history().values()))
    print(
        f"kills {done} (a batch open in {in_flight}, published but not recorded in {unrecorded}) | "
        f"rule edits {edit}, sets in use {sets} | matches {wanted} missed {missed} extra {extra}"
    )
    return 0 if not missed and not extra and wanted else 1


def main(arguments: list[str]) -> int:
    """Run the benchmark, or with --drive the stream itself."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kill9", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=600, help="how long it may go on killing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", action="store_true", help="keep everything in an S3 server")
    parser.add_argument("--drive", type=Path)
    parser.add_argument("--place")
    parser.add_argument("--rows", type=int, default=0)
    asked = parser.parse_args(arguments)
    if asked.drive is not None:
        settings = json.loads((asked.drive / "settings.json").read_text())
        drive(Ground(asked.drive, path_of(asked.place), settings), rows=asked.rows)
        return 0
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rookery-kill9-")))
        ground = Ground(folder, folder, {})
        if asked.store:
            from tests.spark.s3_server import BUCKET, s3_server

            (folder / "s3").mkdir()
            server = stack.enter_context(s3_server(folder / "s3"))
            os.environ.update(server.environment)
            ground = Ground(folder, path_of(f"s3a://{BUCKET}/kill9"), server.spark_settings)
        return torture(ground, kills=asked.kills, minutes=asked.minutes, seed=asked.seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
