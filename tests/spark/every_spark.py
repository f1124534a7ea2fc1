"""One small job in each of the ways that Rookery works on Spark: run as a program, on whichever PySpark is found.

Writes JSON to the file that is named: for each way the number of its matches and a digest of their pairs, or why this
Spark lacks it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rookery.errors import PipelineError
from rookery.spark import (
    Subscriptions,
    backtest,
    diff,
    match,
    match_files,
    matches_of,
    register,
    session,
)

ROWS = 3_000
RULES = {
    "hot": "temp > 40 AND ok = TRUE",
    "cold": "temp < -10.5",
    "unknown": "count IS NULL OR device LIKE 'd1%'",
    "some": "device IN ('d3', 'd5', 'd7') AND count BETWEEN 9007199254740990 AND 9007199254740999",
    "exact": "price = 1.25 AND temp <> 7",
    "late": "seen >= TIMESTAMP '2026-03-01T10:00:00Z'",
}
CHANGED = {**RULES, "hot": "temp > 45 AND ok = TRUE", "new": "small > 20"}


def events() -> pa.Table:
    """Return events with NULLs, NaN, whole numbers that no float holds, decimals and instants."""
    number = range(ROWS)
    return pa.table(
        {
            "event_id": pa.array(number, pa.int64()),
            "device": pa.array([None if i % 11 == 0 else f"d{i % 23}" for i in number], pa.string()),
            "temp": pa.array([[float(i % 100) - 30, None, float("nan")][i % 7 % 3] for i in number], pa.float64()),
            "small": pa.array([None if i % 5 == 0 else i % 60 - 20 for i in number], pa.int16()),
            "count": pa.array([None if i % 13 == 0 else 2**53 - 8 + i % 32 for i in number], pa.int64()),
            "price": pa.array([pa.scalar(i % 9).cast(pa.float64()).as_py() / 4 for i in number]).cast(
                pa.decimal128(9, 2)
            ),
            "ok": pa.array([None if i % 17 == 0 else i % 2 == 0 for i in number], pa.bool_()),
            "seen": pa.array([1_772_352_000_000_000 + i * 10_000_000 for i in number], pa.timestamp("us", tz="UTC")),
        }
    )


def digest(pairs: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    """Return the number of matches and a short hash of them, whatever their order."""
    ordered = sorted(map(str, pairs))
    return {"matches": len(ordered), "digest": blake2b("\n".join(ordered).encode(), digest_size=8).hexdigest()}


def rows(frame: Any, *names: str) -> list[tuple[Any, ...]]:
    """Collect these columns of a DataFrame."""
    return [tuple(row) for row in frame.select(*names).collect()]


def into_spark(hits: Any, out: str, checkpoint: str) -> Any:
    """Start a stream into Spark's own Parquet sink."""
    writer = hits.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start(out)


def into_rookery(hits: Any, out: str, checkpoint: str) -> Any:
    """Start a stream into the two-phase sink."""
    from rookery.spark import write_stream

    return write_stream(hits, out, checkpoint=checkpoint, trigger={"availableNow": True})


def main() -> None:
    """Run every way and print what it gave."""
    import pyspark

    spark = session(name="every-spark", memory="1g")
    with tempfile.TemporaryDirectory() as folder:
        found = {"spark": pyspark.__version__, **Ways(spark, Path(folder)).run()}
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
    spark.stop()


class Ways:
    """The ways, each a method of its own."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        (folder / "events").mkdir()
        pq.write_table(events(), folder / "events" / "events.parquet", row_group_size=700)
        self.frame = spark.read.parquet(str(folder / "events"))
        self.rules = self._rules("rules.jsonl", RULES)

    def _rules(self, name: str, rules: dict[str, str]) -> Subscriptions:
        lines = [json.dumps({"subscription_id": one, "where": text}) for one, text in rules.items()]
        (self.folder / name).write_text("\n".join(lines), encoding="utf-8")
        return Subscriptions.files(self.folder / name)

    def run(self) -> dict[str, Any]:
        """Run them in turn; one that this Spark lacks says so."""
        ways: dict[str, Callable[[], list[tuple[Any, ...]]]] = {
            "match": lambda: rows(match(self.frame, self.rules), "event_id", "subscription_id"),
            "zoned": lambda: rows(match(self.frame, self.rules, plan="zoned", zones=4), "event_id", "subscription_id"),
            "files": self.files,
            "table function": self.table_function,
            "scalar function": self.scalar_function,
            "diff": lambda: rows(
                diff(self.frame, self.rules, self._rules("changed.jsonl", CHANGED)),
                "event_id", "subscription_id", "change",
            ),
            "backtest": lambda: rows(backtest(self.frame, self.rules).counts, "subscription_id", "matches"),
            "stream, Spark's sink": lambda: self.stream("spark", into_spark),
            "stream, rookery.parquet": lambda: self.stream("rookery", into_rookery),
            "command": self.command,
        }  # fmt: skip
        found: dict[str, Any] = {}
        for name, way in ways.items():
            try:
                found[name] = digest(way())
            except PipelineError as error:
                found[name] = {"missing": str(error)}
        return found

    def files(self) -> list[tuple[Any, ...]]:
        """Parquet in, Parquet out."""
        out = self.folder / "files"
        match_files(self.spark, self.folder / "events", self.rules, out, event_id="event_id")
        return self._written(out)

    def table_function(self) -> list[tuple[Any, ...]]:
        """The function of SQL that gives a table."""
        register(self.spark, rules=self.rules, id_type="bigint")
        self.frame.createOrReplaceTempView("events")
        found = self.spark.sql("select event_id, subscription_id from rookery_match(table(events))")
        return rows(found, "event_id", "subscription_id")

    def scalar_function(self) -> list[tuple[Any, ...]]:
        """The function of SQL that gives a list, and the same function from Python."""
        register(self.spark, rules=self.rules, events=self.frame)
        self.frame.createOrReplaceTempView("events")
        found = self.spark.sql("select event_id, explode(rookery_matches(struct(*))) as subscription_id from events")
        by_name = rows(found, "event_id", "subscription_id")
        from pyspark.sql.functions import explode, struct

        wanted = matches_of(self.spark, self.rules, events=self.frame)
        found = self.frame.select("event_id", explode(wanted(struct("*"))).alias("subscription_id"))
        assert sorted(by_name) == sorted(rows(found, "event_id", "subscription_id"))
        return by_name

    def stream(self, name: str, start: Callable[[Any, str, str], Any]) -> list[tuple[Any, ...]]:
        """A stream of files into one sink or the other."""
        followed = self.spark.readStream.schema(self.frame.schema).parquet(str(self.folder / "events"))
        out, place = str(self.folder / f"out-{name}"), str(self.folder / f"checkpoint-{name}")
        start(match(followed, self.rules, checkpoint=place), out, place).awaitTermination()
        return self._written(Path(out))

    def command(self) -> list[tuple[Any, ...]]:
        """`rookery match` on events as text."""
        import pyarrow.json  # noqa: F401 - the reader of the command

        from rookery.cli.match import command

        text = self.folder / "events.jsonl"
        keep = ["event_id", "device", "temp", "small", "count", "ok"]
        lines = [
            json.dumps({name: value for name, value in row.items() if value == value})
            for row in events().select(keep).to_pylist()
        ]
        text.write_text("\n".join(lines), encoding="utf-8")
        rules = {name: RULES[name] for name in ("hot", "cold", "unknown", "some")}
        self._rules("text.jsonl", rules)
        out = self.folder / "command"
        schema = "event_id:int64,device:str,temp:float64,small:int16,count:int64,ok:bool"
        command(self.folder / "text.jsonl", text, out, event_id="event_id", schema=schema, json=True)
        return self._written(out)

    def _written(self, out: Path) -> list[tuple[Any, ...]]:
        tables = [pq.ParquetFile(path).read() for path in sorted(out.rglob("*.parquet"))]
        return [
            (row["event_id"], row["subscription_id"]) for table in tables for row in table.to_pylist()
        ]  # fmt: skip


if __name__ == "__main__":
    main()
