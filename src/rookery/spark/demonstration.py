"""The demonstration behind `rookery demo`: telemetry, dated limits, a rule edited while a stream runs, a proof.

Three runs over one generated workload. *bulk*: millions of events, for the rate. *batch*: the first events, all pairs
compared with the oracle. *stream*: the same events in micro-batches; one rule is replaced in its file while the
stream runs, and the log of set versions says from which batch on it counted, so the oracle knows what each batch
should have given. The oracle is plain NumPy on the bounds of the rules; it shares no code with the matcher and never
sees a WHERE clause.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rookery.errors import PipelineError
from rookery.spark.pipeline import match
from rookery.spark.sinks import write_stream
from rookery.spark.sql import register_sources
from rookery.spark.subscriptions import Subscriptions
from rookery.spark.versions import VersionLog
from rookery.spark.workloads import Bounds, oracle, workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Observer", "Proof", "demonstrate"]

Pairs = NDArray[np.int64]

RULES = 10_000
EVENTS = 120_000
EVENTS_PER_BATCH = 8_000
#: The rule that is edited while the stream runs: a voltage limit, undated, so the edit counts from when it is seen.
EDITED = 2_500


@dataclass(frozen=True, slots=True)
class Proof:
    """What Spark found, what the oracle says, and where they differ."""

    spark: int
    oracle: int
    missed: int
    extra: int
    batch: int

    @property
    def holds(self) -> bool:
        """Whether the two agree on a result that is not empty."""
        return self.spark == self.oracle > 0 and not self.missed and not self.extra

    def __str__(self) -> str:
        sign = "=" if self.spark == self.oracle else "≠"
        return (
            f"spark {self.spark} {sign} oracle {self.oracle} | missed {self.missed} extra {self.extra} | "
            f"rule change seen in batch {self.batch}"
        )


class Observer(Protocol):
    """Whoever wants to show the demonstration while it runs: the page does."""

    def began(self, events: Any, rules: pa.Table) -> None:
        """Take the events (a DataFrame) and the rules."""
        ...

    def streaming(self, query: Any, checkpoint: str) -> None:
        """Take the stream that has started."""
        ...

    def edited(self, rules: pa.Table) -> None:
        """Take the rules after the edit."""
        ...

    def found(self, source: str, events: pa.Table, pairs: Pairs, *, expected: int, missed: int, extra: int) -> None:
        """Take what one run found, and how that compares with the oracle."""
        ...


def demonstrate(
    spark: SparkSession, folder: Path, *, bulk: int, say: Callable[[str], None], observer: Observer | None = None
) -> Proof:
    """Run the three, and return the proof."""
    register_sources(spark)
    telemetry = workload("telemetry")
    bounds = telemetry.bounds(RULES, 1)
    records = telemetry.rules(RULES, 1)
    rules = folder / "rules"
    rules.mkdir(parents=True)
    _replace_file(records, rules / "limits.parquet")
    say(f"{RULES:,} subscriptions, {records.num_rows - RULES:,} of them with a dated change of limit")
    say(_bulk(spark, rules, bulk))
    if observer is not None:
        observer.began(_events(spark), records)
    events = telemetry.table(EVENTS)
    found = _pairs(match(_events(spark), rules, time="ts").drop("zone").toArrow())
    expected = oracle(events, bounds)
    say(f"batch   {EVENTS:,} events, {len(found):,} matches, oracle {len(expected):,}")
    streamed, changed = _stream(spark, rules, records, folder, say, observer)
    # Batches before the change are judged by the old bounds, the rest by the new.
    edge = changed * EVENTS_PER_BATCH
    judged = np.concatenate([oracle(events.slice(0, edge), bounds), oracle(events.slice(edge), _edited(bounds))])
    say(f"stream  {EVENTS:,} events, {len(streamed):,} matches, oracle {len(judged):,}")
    differences = _differ(found, expected), _differ(streamed, judged)
    if observer is not None:
        for source, pairs, right, (missed, extra) in zip(
            ("spark batch", "spark stream"), (found, streamed), (expected, judged), differences, strict=True
        ):
            observer.found(source, events, pairs, expected=len(right), missed=missed, extra=extra)
    missed, extra = (sum(pair) for pair in zip(*differences, strict=True))
    return Proof(len(found) + len(streamed), len(expected) + len(judged), missed, extra, changed)


def _events(spark: SparkSession, *, rows: int = EVENTS) -> Any:
    return spark.read.format("rookery").option("workload", "telemetry").option("rows", rows).load()


def _bulk(spark: SparkSession, rules: Path, rows: int) -> str:
    match(_events(spark, rows=10_000), rules, time="ts").count()  # the first job of a session pays for its start
    started = time.perf_counter()
    matches = match(_events(spark, rows=rows), rules, time="ts").count()
    seconds = time.perf_counter() - started
    rate = f"{rows / seconds:,.0f} events/s"
    return f"bulk    {rows:,} events generated and matched in {seconds:.1f} s: {matches:,} matches, {rate}"


def _stream(
    spark: SparkSession,
    rules: Path,
    records: pa.Table,
    folder: Path,
    say: Callable[[str], None],
    observer: Observer | None,
) -> tuple[Pairs, int]:
    """Stream the events, edit one rule on the way, and return the raw output and the first batch of the new rule."""
    events = (
        spark.readStream.format("rookery")
        .option("workload", "telemetry")
        .option("rows", EVENTS)
        .option("rowsPerBatch", EVENTS_PER_BATCH)
        .load()
    )
    checkpoint, out = str(folder / "checkpoint"), folder / "matches"
    hits = match(events, Subscriptions.files(rules), time="ts", checkpoint=checkpoint)
    query = write_stream(hits, str(out), checkpoint=checkpoint, trigger={"processingTime": "300 milliseconds"})
    log = VersionLog(checkpoint)
    if observer is not None:
        observer.streaming(query, checkpoint)
    try:
        while len(log.history()) < 4 and query.isActive:
            time.sleep(0.05)
        place = records["subscription_id"].to_pylist().index(EDITED)
        texts = records["where"].to_pylist()
        texts[place] = f"device = 'd{EDITED % 2500:05d}'"
        versions = records["version"].to_pylist()
        versions[place] = 2
        edited = records.set_column(1, "where", pa.array(texts)).set_column(2, "version", pa.array(versions))
        _replace_file(edited, rules / "limits.parquet")
        if observer is not None:
            observer.edited(edited)
        say(f"stream  rule {EDITED} replaced while batch {max(log.history())} runs")
        query.processAllAvailable()
    finally:
        query.stop()
    history = log.history()
    changed = min((batch for batch, number in history.items() if number > min(history.values())), default=None)
    if changed is None:
        raise PipelineError("the stream ended before the edit was seen: the machine is too busy for the demonstration")
    tables = [pq.ParquetFile(file).read() for file in sorted(out.rglob("*.parquet"))]
    return _pairs(pa.concat_tables(tables)), changed


def _edited(bounds: Bounds) -> Bounds:
    """Return the bounds after the edit: the rule has version 2 and no limit, so every event of its device matches."""
    versions = bounds.versions.copy()
    lower = {name: values.copy() for name, values in bounds.lower.items()}
    place = int(np.flatnonzero(bounds.ids == EDITED)[0])
    versions[place] = 2
    lower["voltage"][place] = -np.inf
    return replace(bounds, versions=versions, lower=lower)


def _replace_file(table: pa.Table, path: Path) -> None:
    """Write a file whole: a reader sees the old one or the new one."""
    fresh = path.with_name(f".{path.name}.new")
    pq.write_table(table, fresh)
    fresh.replace(path)


def _pairs(table: pa.Table) -> Pairs:
    columns = [table[name].to_numpy() for name in ("event_id", "subscription_id", "version")]
    return np.column_stack(columns).astype(np.int64)


def _differ(found: Pairs, expected: Pairs) -> tuple[int, int]:
    """Count what is missing and what is too much, a repeated match included."""
    rows, counts = np.unique(np.concatenate([found, expected]), axis=0, return_inverse=True)
    have = np.bincount(counts[: len(found)].ravel(), minlength=len(rows))
    want = np.bincount(counts[len(found) :].ravel(), minlength=len(rows))
    return int(np.maximum(want - have, 0).sum()), int(np.maximum(have - want, 0).sum())
