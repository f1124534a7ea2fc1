"""Match a table of events against dated rules, see what fired, and what a change of the rules would do.

Run it: python examples/spark_batch.py
"""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from rookery.spark import Subscriptions, backtest, diff, match, session

spark = session()
day = lambda number: datetime(2026, 3, number, tzinfo=UTC)  # noqa: E731

events = spark.createDataFrame(
    [(1, day(1), "pump-1", 81.0), (2, day(9), "pump-1", 81.0), (3, day(9), "pump-2", 99.0)],
    "id bigint, ts timestamp, device string, temperature double",
)
rules = Subscriptions.arrow(
    pa.table(
        {
            "subscription_id": ["too hot", "too hot"],
            "where": ["temperature > 80", "temperature > 90"],
            "version": [1, 2],
            "valid_from": [day(1), day(5)],  # the limit was raised on the fifth
        }
    )
)

match(events, rules, event_id="id", time="ts").orderBy("event_id").show()
backtest(events, rules, event_id="id", time="ts", key="device").counts.show()

stricter = pa.table({"subscription_id": ["too hot"], "where": ["temperature > 50"], "version": [3]})
diff(events, rules, stricter, event_id="id", time="ts").orderBy("event_id").show()
spark.stop()
