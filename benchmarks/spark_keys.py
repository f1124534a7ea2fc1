"""Rules that no process holds: the plan of keys on small executors whose memory the system limits.

`python -m benchmarks spark_keys [--rules N] [--events N] [--executors N] [--heap M] [--python M] [--hot PART]
[--texts]`. Rules and events are Parquet; the driver and each executor is a JVM with a heap of so many MiB, and each
Python worker, and the driver's own Python, has so many MiB of address space (`spark.executor.pyspark.memory`,
RLIMIT_AS). The largest memory of each kind of process is printed, the CPU seconds of all, and what the tasks that
matched took: the CPU seconds of the task in the JVM and in its Python worker, since by the clock a task waits for
whatever else the machine does, and the clock beside it. With `--texts` the rules ask for texts alone. With `--hot` that
part of the events and of the rules is of one device. With `--stream` 500,000 events are a micro-batch of a stream. The
pairs of some devices are compared with the oracle. Returns 1 where they differ, or where the plan has a nested loop.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from benchmarks.kill9 import descendants
from benchmarks.spark import cpu_seconds

__all__ = ["main"]

PIECE = 500_000
#: States of a device, where rules ask for texts alone.
STATES = 8
#: Devices whose pairs are compared with the oracle.
CHECKED = 40


def joined(*parts: Any) -> Any:
    """Return texts put together from columns and from what is the same in all."""
    return pc.binary_join_element_wise(*(pa.scalar(one) if isinstance(one, str) else one for one in parts), "")


def make(folder: Path, *, rules: int, events: int, hot: float, texts_alone: bool) -> None:
    """Write rules and events: device-like, a part of them of one device. Texts: a device is in one of `STATES`."""
    generator = np.random.Generator(np.random.Philox(key=[5, rules]))
    devices = max(100, rules // 10)
    for name, count in (("rules", rules), ("events", events)):
        (folder / name).mkdir(parents=True)
        for number, first in enumerate(range(0, count, PIECE)):
            size = min(PIECE, count - first)
            device = np.where(generator.random(size) < hot, 0, generator.integers(0, devices, size))
            texts = joined("d", pc.utf8_lpad(pa.array(device).cast(pa.string()), 8, "0"))
            ids, states = pa.array(np.arange(first, first + size)), pa.array(generator.integers(0, STATES, size))
            state = joined("s", states.cast(pa.string()))
            if name == "events":
                values = {"state": state} if texts_alone else {axis: generator.random(size) for axis in "xy"}
                table = pa.table({"event_id": ids, "device": texts, **values})
            elif texts_alone:
                wheres = joined("device = '", texts, "' AND state = '", state, "'")
                table = pa.table({"subscription_id": ids, "where": wheres, "device": texts, "state": state})
            else:
                # The hot device's rules are few in a thousand, or half of the pairs of all would match.
                low = pa.array(np.where(device == 0, 0.9999, 0.4 + 0.5 * generator.random(size)))
                high = pa.array(0.3 + 0.5 * generator.random(size))
                bounds = low.cast(pa.string()), high.cast(pa.string())
                wheres = joined("device = '", texts, "' AND x >= ", bounds[0], " AND y < ", bounds[1])
                table = pa.table({"subscription_id": ids, "where": wheres, "device": texts, "low": low, "high": high})
            pq.write_table(table, folder / name / f"{number:04d}.parquet", row_group_size=100_000)


class Watch(threading.Thread):
    """Watches the largest resident memory of each kind of process below this one."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest: dict[str, int] = {}
        self.addresses: dict[str, int] = {}
        self.ended = threading.Event()

    def run(self) -> None:
        """Look twice a second."""
        while not self.ended.wait(0.5):
            for one in descendants(os.getpid()):
                try:
                    command = Path(f"/proc/{one}/cmdline").read_bytes()
                    status = Path(f"/proc/{one}/status").read_text()
                    size, peak = (int(status.partition(name)[2].split()[0]) * 1024 for name in ("VmHWM:", "VmPeak:"))
                except (OSError, IndexError, ValueError):
                    continue
                kind = (
                    "driver's Python" if one == os.getpid() else "executor's JVM" if b"CoarseGrained" in command
                    else "driver's JVM" if b"java" in command[:200] else "worker"
                )  # fmt: skip
                self.largest[kind] = max(self.largest.get(kind, 0), size)
                if "JVM" not in kind:
                    self.addresses[kind] = max(self.addresses.get(kind, 0), peak)


def streamed(spark: Any, folder: Path) -> None:
    """Match the events as a stream, and print what its micro-batches took."""
    from rookery.spark import Subscriptions, match

    schema = spark.read.parquet(str(folder / "events")).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    begun, state = time.monotonic(), str(folder / "state")
    hits = match(events, Subscriptions.files(folder / "rules"), plan="keys", checkpoint=state)
    print(f"  compiled in parts after {time.monotonic() - begun:.0f} s")
    writer = hits.writeStream.trigger(availableNow=True).option("checkpointLocation", state)
    query = writer.format("parquet").option("path", str(folder / "out")).start()
    query.awaitTermination()
    took = [one.batchDuration / 1e3 for one in query.recentProgress if one.numInputRows]
    print(f"  {len(took)} micro-batches: median {statistics.median(took):.1f} s, longest {max(took):.1f} s")


class Timed:
    """A task that leaves the CPU seconds of its Python worker in a file named by its stage and its part."""

    def __init__(self, task: Any, folder: Path) -> None:
        self.task, self.folder = task, folder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task."""
        from pyspark import TaskContext

        begun = time.process_time()
        yield from self.task(batches)
        told = TaskContext.get()
        assert told is not None
        name = f"{told.stageId()}-{told.partitionId()}"
        (self.folder / name).write_text(str(time.process_time() - begun))


def watch_tasks(folder: Path) -> None:
    """Have the tasks of the plan *keys* that match tell their CPU seconds."""
    from rookery.spark import columns, key_streams, keys

    folder.mkdir()
    for module in (keys, key_streams):
        module.__dict__["map_batches"] = lambda frame, task, schema: columns.map_batches(
            frame, Timed(task, folder), schema
        )


def drive(folder: Path, *, executors: int, heap: int, python: int, stream: bool) -> None:
    """Match, write the pairs, and print what the tasks took."""
    from rookery.spark import match, session

    settings = {
        "spark.executor.memory": f"{heap}m", "spark.executor.pyspark.memory": f"{python}m",
        "spark.sql.adaptive.enabled": "false", "spark.local.dir": str(folder / "local"),
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": str(folder / "log"),
        "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
    }  # fmt: skip
    (folder / "log").mkdir()
    watch_tasks(folder / "cpu")
    spark = session(master=f"local-cluster[{executors},1,{heap}]", memory=f"{heap}m", settings=settings)
    resource.setrlimit(resource.RLIMIT_AS, (python << 20, python << 20))  # the JVM has started, without it
    watch = Watch()
    watch.start()
    begun = time.monotonic()
    if stream:
        streamed(spark, folder)
    else:
        events = spark.read.parquet(str(folder / "events"))
        rules = spark.read.parquet(str(folder / "rules")).select("subscription_id", "where")
        hits = match(events, rules, plan="keys")
        plan = hits._jdf.queryExecution().executedPlan().toString()
        if "NestedLoop" in plan or "Cartesian" in plan:
            raise SystemExit(f"the plan has a nested loop:\n{plan}")
        print(f"  no nested loop in the plan; planned after {time.monotonic() - begun:.0f} s", flush=True)
        hits.write.parquet(str(folder / "out"))
    seconds = time.monotonic() - begun
    watch.ended.set()
    print("  " + ", ".join(f"{kind} {size / 2**20:.0f} MiB" for kind, size in sorted(watch.largest.items())))
    print("  addresses: " + ", ".join(f"{kind} {size / 2**20:.0f} MiB" for kind, size in watch.addresses.items()))
    print(f"  {cpu_seconds():.0f} CPU s of all processes; a load of {os.getloadavg()[2]:.0f}")
    spark.stop()
    print(f"  {seconds:.0f} s by the clock, on {executors} executors and {os.cpu_count()} cores")


def spread(folder: Path) -> str:
    """Say what the tasks of the last stage took, by their own CPU where they told it, and by the clock."""
    tasks: dict[int, dict[int, tuple[float, float]]] = {}
    for file in (folder / "log").iterdir():
        if file.name.startswith("."):
            continue
        for line in file.read_text().splitlines():
            told = json.loads(line)
            if told["Event"] == "SparkListenerTaskEnd" and not told["Task Info"]["Failed"]:
                stage, about = told["Stage ID"], told["Task Info"]
                own = folder / "cpu" / f"{stage}-{about['Partition ID']}"
                spent = told["Task Metrics"]["Executor CPU Time"] / 1e9
                spent += float(own.read_text()) if own.exists() else 0.0
                took = (about["Finish Time"] - about["Launch Time"]) / 1e3
                tasks.setdefault(stage, {})[about["Partition ID"]] = spent, took
    last = list(tasks[max(tasks)].values())
    found = [f"{len(last)} tasks matched"]
    for name, some in zip(("CPU s", "s by the clock"), zip(*last, strict=True), strict=True):
        middle, most = statistics.median(some), max(some)
        found.append(f"{name}: median {middle:.1f}, longest {most:.1f} ({most / middle:.1f}×)")
    return "; ".join(found)


def check(folder: Path) -> tuple[int, int, int]:
    """Compare the pairs of some devices with the oracle: matches in all, missed, extra."""
    first = pq.read_table(sorted((folder / "rules").iterdir())[0], columns=["device"])
    names = sorted(set(first["device"].to_pylist()))
    checked = [names[0], *names[1 :: max(1, len(names) // CHECKED)]][:CHECKED]
    of_devices = pc.field("device").isin(checked)
    rules, events = (ds.dataset(folder / name).to_table(filter=of_devices) for name in ("rules", "events"))
    wanted = []
    for name in checked:
        mine, theirs = (one.filter(pc.equal(one["device"], name)) for one in (rules, events))
        columns = {column: theirs[column].to_numpy() for column in theirs.column_names}
        for rule in mine.to_pylist():
            if "state" in rule:
                hit = columns["event_id"][columns["state"] == rule["state"]]
            else:
                hit = columns["event_id"][(columns["x"] >= rule["low"]) & (columns["y"] < rule["high"])]
            wanted.append(np.column_stack([hit, np.full(len(hit), rule["subscription_id"])]))
    out = ds.dataset(folder / "out")
    chosen = out.to_table(
        columns=["event_id", "subscription_id"],
        filter=pc.field("subscription_id").isin(rules["subscription_id"].combine_chunks()),
    )
    found = np.column_stack([chosen[name].to_numpy() for name in ("event_id", "subscription_id")])
    both, place = np.unique(np.concatenate([found, *wanted]), axis=0, return_inverse=True)
    have = np.bincount(place[: len(found)].ravel(), minlength=len(both))
    want = np.bincount(place[len(found) :].ravel(), minlength=len(both))
    print(f"  {len(checked)} devices: {int(want.sum()):,} pairs by the oracle")
    return out.count_rows(), int(np.maximum(want - have, 0).sum()), int(np.maximum(have - want, 0).sum())


def main(arguments: list[str]) -> int:
    """Run the benchmark, or with --drive one part of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_keys", description=__doc__)
    parser.add_argument("--rules", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--executors", type=int, default=8)
    parser.add_argument("--heap", type=int, default=512, help="MiB of the heap of the driver and of each executor")
    parser.add_argument("--python", type=int, default=1024, help="MiB of address space of a Python worker")
    parser.add_argument("--hot", type=float, default=0.0)
    parser.add_argument("--texts", action="store_true", help="rules of texts alone")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--drive", type=Path)
    asked = parser.parse_args(arguments)
    if asked.drive is not None:
        drive(asked.drive, executors=asked.executors, heap=asked.heap, python=asked.python, stream=asked.stream)
        return 0
    with tempfile.TemporaryDirectory(prefix="rookery-keys-") as place:
        folder = Path(place)
        make(folder, rules=asked.rules, events=asked.events, hot=asked.hot, texts_alone=asked.texts)
        sizes = [sum(one.stat().st_size for one in (folder / name).iterdir()) / 2**20 for name in ("rules", "events")]
        print(f"{asked.rules:,} rules ({sizes[0]:.0f} MiB) × {asked.events:,} events ({sizes[1]:.0f} MiB)", flush=True)
        command = [sys.executable, "-m", "benchmarks.spark_keys", "--drive", str(folder)]
        for name in ("executors", "heap", "python"):
            command += [f"--{name}", str(getattr(asked, name))]
        command += ["--stream"] * asked.stream
        from rookery.spark.sessions import LEAN

        subprocess.run(command, check=True, env={**os.environ, **LEAN})
        print(f"  {spread(folder)}")
        matches, missed, extra = check(folder)
        print(f"  {matches:,} matches; of the checked devices missed {missed}, extra {extra}")
        return 0 if matches and not missed and not extra else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
