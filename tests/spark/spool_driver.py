"""A stream in a process of its own, to be killed: a spool, `match`, and the two-phase sink.

`python spool_driver.py SPOOL RULES OUT CHECKPOINT` runs until it is killed; with `--drain` to the end of the spool.
"""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> None:
    from rookery.spark import Subscriptions, match, register, session, write_stream

    spool, rules, out, checkpoint = arguments[:4]
    spark = session(master="local[2,4]", memory="1g", settings={"spark.sql.shuffle.partitions": "2"})
    register(spark)
    events = spark.readStream.format("rookery").option("spool", spool).option("rowsPerBatch", 500).load()
    hits = match(events, Subscriptions.files(rules), event_id="_offset", checkpoint=checkpoint)
    trigger = {"availableNow": True} if "--drain" in arguments else {"processingTime": "0 seconds"}
    write_stream(hits, out, checkpoint=checkpoint, trigger=trigger).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
