"""A job on Delta tables through Delta's own connector: run as a program, on the PySpark and the jars that are named.

Writes JSON to the file that is named: for each way the pairs that it gave.
"""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rookery.errors import RookeryError
from rookery.spark import Subscriptions, match, match_files, session, write_stream
from rookery.spark.events import read_events
from rookery.spark.outputs import read_published

RULES = [("hot", "x > 90"), ("d1", "device = 'd1' and x < 20"), ("later", "id >= 300")]


def rows(first: int, count: int) -> list[tuple[int, str, float]]:
    """Return events as they are written."""
    return [(number, f"d{number % 3}", float(number % 100)) for number in range(first, first + count)]


def pairs(frame: Any) -> list[list[Any]]:
    return sorted([row["event_id"], row["subscription_id"]] for row in frame.collect())


def main() -> None:
    """Run every way and write what it gave."""
    out, jars = sys.argv[1:]
    settings = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    with tempfile.TemporaryDirectory() as folder:
        spark = session(
            name="delta", memory="1g", settings={**settings, "spark.sql.warehouse.dir": f"{folder}/warehouse"}
        )
        found = run(spark, Path(folder))
        spark.stop()
    Path(out).write_text(json.dumps(found), encoding="utf-8")


def run(spark: Any, folder: Path) -> dict[str, Any]:
    """Write a table by the connector, change it by its SQL, and match it in each way."""
    place = str(folder / "events")
    columns = "id bigint, device string, x double"
    spark.createDataFrame(rows(0, 300), columns).write.format("delta").partitionBy("device").save(place)
    spark.sql(f"create table events using delta location '{place}'")
    first = datetime.now(UTC)
    spark.sql("delete from events where x < 10")
    spark.sql("update events set x = x + 1 where x = 90")
    spark.createDataFrame(rows(300, 60), columns).write.format("delta").mode("append").save(place)
    spark.createDataFrame(RULES[:2], "subscription_id string, where string").write.format("delta").saveAsTable("rules")
    rules = Subscriptions.named(spark, "table:rules")
    before = rules.source.fingerprint()
    same = rules.source.fingerprint() == before
    spark.createDataFrame(RULES[2:], "subscription_id string, where string").write.format("delta").insertInto("rules")
    found: dict[str, Any] = {"signed": same and rules.source.fingerprint() != before}
    rules.refresh()
    found["load"] = pairs(match(spark.read.format("delta").load(place), rules, event_id="id"))
    found["table"] = pairs(match(spark.table("events"), rules, event_id="id"))
    for name, state in (("version", {"version": 0}), ("time", {"at": first})):
        found[name] = pairs(match(read_events(spark, "table:events", event_id="id", **state)[0], rules, event_id="id"))
    try:
        match_files(spark, place, rules, folder / "files", event_id="id")
        written = read_published(folder / "files", ["event_id", "subscription_id"])
        found["files"] = sorted(map(list, zip(*(column.to_pylist() for column in written.columns), strict=True)))
    except RookeryError as error:
        found["files"] = str(error)
    for name in ("delta", "rookery.delta"):
        found[f"stream into {name}"] = stream(spark, folder, rules, name)
    return found


def stream(spark: Any, folder: Path, rules: Any, sink: str) -> list[list[Any]]:
    """Follow the table as it grew, without what was deleted and updated."""
    out, state = str(folder / f"out-{sink}"), str(folder / f"state-{sink}")
    spark.createDataFrame(rows(0, 100), "id bigint, device string, x double").write.format("delta").mode(
        "overwrite"
    ).save(str(folder / "grown"))
    spark.createDataFrame(rows(300, 60), "id bigint, device string, x double").write.format("delta").mode(
        "append"
    ).save(str(folder / "grown"))
    followed = spark.readStream.format("delta").option("ignoreChanges", "true").load(str(folder / "grown"))
    hits = match(followed, rules, event_id="id", checkpoint=state)
    if sink == "delta":
        writer = hits.drop("zone").writeStream.format("delta").option("checkpointLocation", state)
        writer.trigger(availableNow=True).start(out).awaitTermination()
    else:
        trigger = {"availableNow": True}
        write_stream(hits, out, checkpoint=state, format="delta", trigger=trigger).awaitTermination()
    return pairs(spark.read.format("delta").load(out))


if __name__ == "__main__":
    main()
