"""A program as a user gives it to `spark-submit`: read, match, write, and say what happened as one line of JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from rookery.spark import match, match_files, register, session
from rookery.spark.workloads import oracle, workload

ROWS, RULES = 8_000, 60


def main(out: str) -> None:
    spark = session()
    register(spark)
    load = workload("ranges")
    events = spark.read.format("rookery").option("workload", "ranges").option("rows", ROWS).load()
    found = match(events, load.rules(RULES, 1)).count()
    events.write.parquet(f"{out}.events")
    done = match_files(spark, f"{out}.events", load.rules(RULES, 1), out, event_id="event_id")
    assert done.matches == found
    said = {
        "master": spark.sparkContext.master,
        "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
        "daemon": spark.conf.get("spark.python.daemon.module", None),
        "places": places(spark),
        "matches": found,
        "oracle": len(oracle(load.table(ROWS), load.bounds(RULES, 1))),
    }
    sys.stdout.write(json.dumps(said) + "\n")
    spark.stop()


def places(spark: Any) -> list[str]:
    """Return from where the workers import Rookery."""

    def where(batches: Any) -> Any:
        import pyarrow as pa

        import rookery

        for _ in batches:
            yield pa.record_batch([[str(rookery.__file__)]], names=["place"])

    return sorted({row["place"] for row in spark.range(4).mapInArrow(where, "place string").collect()})


if __name__ == "__main__":
    main(sys.argv[1])
