"""The demonstration behind `rookery demo`: one set of rules live and on Spark, a rule edited on the way, a proof.

One generated workload: telemetry, and limits of which some change on a date. *discovery*: participants find each other
on loopback, with plain SEDP and with summaries. *live*: events go through brokers, which are processes of their own.
*bulk*: millions of events on Spark, for the rate. *batch*: the events of the live run again. *stream*: these and more
in micro-batches; one rule is replaced in its file while the stream runs, and the log of set versions says from which
batch on it counted, so the oracle knows what each batch should have given.

All pairs of live, batch and stream are compared with the oracle: plain NumPy on the bounds of the rules, which shares
no code with the matcher and never sees a WHERE clause.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rookery.errors import PipelineError
from rookery.spark.compat import table_of
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
#: Events of the live run and of the batch, and of the stream.
JUDGED = 50_000
EVENTS = 120_000
EVENTS_PER_BATCH = 8_000
#: What the brokers divide among themselves.
SPACE = "temperature:-30:70,voltage:20:36,pressure:0:170"  # events lie about the middle of each, where zones are cut
#: The rule that is edited while the stream runs: a voltage limit, undated, so the edit counts from when it is seen.
EDITED = 2_500


@dataclass(frozen=True, slots=True)
class Proof:
    """What the brokers and Spark found in the same events, what the oracle says, and where anything differs from it."""

    live: int
    spark: int
    oracle: int
    missed: int
    extra: int
    discovery_saved_percent: float
    batch: int

    @property
    def holds(self) -> bool:
        """Whether all agree on a result that is not empty."""
        return self.live == self.spark == self.oracle > 0 and not self.missed and not self.extra

    def __str__(self) -> str:
        left, right = ("=" if count == self.oracle else "≠" for count in (self.live, self.spark))
        return (
            f"live {self.live} {left} spark {self.spark} {right} oracle {self.oracle} | "
            f"missed {self.missed} extra {self.extra} | "
            f"discovery bytes {-self.discovery_saved_percent:+.0f} % vs simple | rule change seen in batch {self.batch}"
        )


class Observer(Protocol):
    """Whoever wants to show the demonstration while it runs: the page does."""

    def discovered(self, octets: Mapping[str, int]) -> None:
        """Take what discovery cost, by protocol."""
        ...

    async def brokers(self, entry: str) -> None:
        """Watch a network of live brokers through one of them, until cancelled."""
        ...

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
    events = telemetry.table(EVENTS)
    expected = oracle(events.slice(0, JUDGED), bounds)
    judged_events = events.slice(0, JUDGED)
    saved = _discovery(say, observer)
    live = _live(records, judged_events, folder, len(expected), say, observer)
    say(_bulk(spark, rules, bulk))
    if observer is not None:
        observer.began(_events(spark), records)
    found = _pairs(table_of(match(_events(spark, rows=JUDGED), rules, time="ts").drop("zone")))
    say(f"batch   {JUDGED:,} events, {len(found):,} matches, oracle {len(expected):,}")
    streamed, changed = _stream(spark, rules, records, folder, say, observer)
    # Batches before the change are judged by the old bounds, the rest by the new.
    edge = changed * EVENTS_PER_BATCH
    judged = np.concatenate([oracle(events.slice(0, edge), bounds), oracle(events.slice(edge), _edited(bounds))])
    say(f"stream  {EVENTS:,} events, {len(streamed):,} matches, oracle {len(judged):,}")
    runs = {
        "live": (judged_events, live, expected),
        "spark batch": (judged_events, found, expected),
        "spark stream": (events, streamed, judged),
    }
    differences = {source: _differ(pairs, right) for source, (_, pairs, right) in runs.items()}
    if observer is not None:
        for source, (seen, pairs, right) in runs.items():
            missed, extra = differences[source]
            observer.found(source, seen, pairs, expected=len(right), missed=missed, extra=extra)
    missed, extra = (sum(pair) for pair in zip(*differences.values(), strict=True))
    return Proof(len(live), len(found), len(expected), missed, extra, saved, changed)


def _discovery(say: Callable[[str], None], observer: Observer | None) -> float:
    """Let participants find each other with two protocols side by side; return the percentage of octets saved."""
    from rookery.live.demonstration import PARTICIPANTS, TOPICS, discover

    async def both() -> dict[str, int]:
        first = 20 + os.getpid() * 2 % 200
        domains = {"simple": first, "ribbon": first + 1}
        octets = await asyncio.gather(*(discover(name, domain_id=number) for name, number in domains.items()))
        return dict(zip(domains, octets, strict=True))

    octets = asyncio.run(both())
    if observer is not None:
        observer.discovered(octets)
    saved = 100 * (1 - octets["ribbon"] / octets["simple"])
    say(
        f"discovery  {PARTICIPANTS} participants, {2 * PARTICIPANTS * TOPICS} endpoints on loopback: "
        f"simple {octets['simple']:,} bytes, ribbon {octets['ribbon']:,}"
    )
    return saved


def _live(
    records: pa.Table,
    events: pa.Table,
    folder: Path,
    expected: int,
    say: Callable[[str], None],
    observer: Observer | None,
) -> Pairs:
    """Send events through live brokers with all rules subscribed; return the pairs that were delivered."""
    from rookery.live.demonstration import through_brokers
    from rookery.model import Schema

    started = time.perf_counter()
    conditions = {f"{row['subscription_id']}/{row['version']}": _dated(row) for row in records.to_pylist()}
    got, loads = asyncio.run(
        through_brokers(
            conditions,
            events.to_pylist(),
            schema=Schema.from_arrow(events.schema),
            space=SPACE,
            identify=lambda event: int(event["event_id"]),
            expected=expected,
            folder=folder,
            watch=None if observer is None else observer.brokers,
        )
    )
    seconds = time.perf_counter() - started
    shares = ", ".join(f"{load / max(1, sum(loads)):.0%}" for load in loads)
    say(
        f"live    {events.num_rows:,} events through {len(loads)} brokers in {seconds:.1f} s: {len(got):,} matches, "
        f"oracle {expected:,}; load by zone {shares}"
    )
    named = [(event, *map(int, name.split("/"))) for event, name in got]
    return np.array(named, np.int64).reshape(-1, 3)


def _dated(row: dict[str, Any]) -> str:
    """Return the condition of one version of a rule, with the time in which it is in force: brokers know no dates."""
    condition = f"({row['where']})"
    if row["valid_from"] is not None:
        condition += f" AND ts >= TIMESTAMP '{row['valid_from'].isoformat()}'"
    if row["valid_to"] is not None:
        condition += f" AND ts < TIMESTAMP '{row['valid_to'].isoformat()}'"
    return condition


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
        if not query.isActive:
            raise query.exception() or PipelineError("the stream ended before the edit")
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
