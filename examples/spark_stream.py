"""Follow a generated stream, change a rule while it runs, and see from which micro-batch on the change counted.

Run it: python examples/spark_stream.py
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from rookery.spark import Subscriptions, VersionLog, match, register, session, write_stream

folder = Path(tempfile.mkdtemp())
rules, checkpoint, out = folder / "rules.jsonl", str(folder / "checkpoint"), str(folder / "matches")


def set_rule(where: str) -> None:
    """Replace the rule file whole, as every editor of a live rule file should."""
    fresh = folder / "rules.new"
    fresh.write_text(json.dumps({"subscription_id": "hot", "where": where}) + "\n")
    fresh.replace(rules)


spark = session()
register(spark)
set_rule("temperature > 60")
events = (
    spark.readStream.format("rookery")
    .option("workload", "telemetry")
    .option("rows", 60_000)
    .option("rowsPerBatch", 5_000)
    .load()
)
hits = match(events, Subscriptions.files(rules), time="ts", checkpoint=checkpoint)
query = write_stream(hits, out, checkpoint=checkpoint)
log = VersionLog(checkpoint)
while len(log.history()) < 3:
    time.sleep(0.05)
set_rule("temperature > 20")
query.processAllAvailable()
query.stop()

print("set_version of each micro-batch:", log.history())  # noqa: T201 - an example speaks
spark.read.parquet(out).groupBy("batch").count().orderBy("batch").show()
spark.stop()
