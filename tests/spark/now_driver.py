"""A stream in a process of its own, to be killed in its first batch: `now()` is bound, matched, and nothing committed.

`python now_driver.py EVENTS RULES OUT CHECKPOINT HELD` creates the file HELD when a task has matched its rows, and
waits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA = "event_id bigint, ts timestamp"


def matches(spark: Any, events: str, rules: str, checkpoint: str) -> Any:
    """Return the matches of a stream over a folder of files, one file a batch."""
    from rookery.spark import Subscriptions, match

    frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(events)
    return match(frame, Subscriptions.files(rules), time="ts", checkpoint=checkpoint)


def main(arguments: list[str]) -> None:
    from rookery.spark import session, write_stream

    events, rules, out, checkpoint, held = arguments

    def hold(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in batches:
            Path(held).touch()
            while True:
                time.sleep(60)
        yield from ()

    spark = session(master="local[2,4]", memory="1g", settings={"spark.sql.shuffle.partitions": "2"})
    found = matches(spark, events, rules, checkpoint)
    held_up = found.mapInArrow(hold, found.schema)
    write_stream(held_up, out, checkpoint=checkpoint, trigger={"availableNow": True}).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
