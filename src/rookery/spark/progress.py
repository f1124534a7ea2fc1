"""What a streaming match tells of each micro-batch, where Spark people look: `query.lastProgress.observedMetrics`.

    rookery         events, matches, seconds (CPU time of the matching, all tasks), set_version, quarantined
    rookery_rules   the most frequent subscriptions and their matches (from Spark 4.1, where it is asked for)

Each task sends one row more than its matches: an event without an id and without subscriptions, which vanishes when
matches are unfolded, and which says what the task did. Spark adds these rows up (`observe`) on their way.

    spark.streams.addListener(match_listener(print))    # a MatchProgress at each micro-batch
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.spark.compat import has

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "COUNT_RULES",
    "TOLD",
    "MatchProgress",
    "match_listener",
    "observe_batch",
    "observe_rules",
    "told_row",
    "with_told",
]

#: The column in which a task tells what it did.
TOLD = pa.field(
    "_rookery_told",
    pa.struct(
        [("events", pa.int64()), ("seconds", pa.float64()), ("set_version", pa.int64()), ("quarantined", pa.int64())]
    ),
)

#: How many subscriptions are counted by name in each micro-batch.
COUNTED = 100
#: The setting of a session that asks for matches by rule.
COUNT_RULES = "spark.rookery.countRules"


def with_told(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return matches that cross, with nothing told."""
    return batch.append_column(TOLD, pa.nulls(batch.num_rows, TOLD.type))


def told_row(output: pa.Schema, told: dict[str, Any]) -> pa.RecordBatch:
    """Return the row of a task: no event, no match, and what it did."""
    empty: dict[str, list[Any]] = {"subscription_ids": [[]]}
    columns = [pa.array(empty.get(field.name, [None]), field.type) for field in output]
    return pa.record_batch([*columns, pa.array([told], TOLD.type)], schema=output.append(TOLD))


def observe_batch(found: DataFrame) -> DataFrame:
    """Return matches as they crossed, counted by Spark on the way, without what was told."""
    from pyspark.sql.functions import coalesce, col, lit, max, size, sum

    told = {name: col(f"{TOLD.name}.{name}") for name in ("events", "seconds", "set_version", "quarantined")}
    counted = found.observe(
        "rookery",
        coalesce(sum(told["events"]), lit(0)).alias("events"),
        coalesce(sum(size("subscription_ids")), lit(0)).alias("matches"),
        coalesce(sum(told["seconds"]), lit(0.0)).alias("seconds"),
        max(told["set_version"]).alias("set_version"),
        max(told["quarantined"]).alias("quarantined"),
    )
    return counted.drop(TOLD.name)


def observe_rules(found: DataFrame) -> DataFrame:
    """Return unfolded matches, counted by subscription on the way if the session asks for that (from Spark 4.1).

    Every match is looked at once more for it, and Spark's library of sketches prints a warning of its own.
    """
    if not has((4, 1)) or found.sparkSession.conf.get(COUNT_RULES, "false") != "true":
        return found
    from pyspark.sql.functions import expr

    return found.observe("rookery_rules", expr(f"approx_top_k(subscription_id, {COUNTED})").alias("rules"))


@dataclass(frozen=True, slots=True)
class MatchProgress:
    """One micro-batch of a streaming match; `rules` are the most frequent subscriptions with their matches."""

    batch: int
    events: int
    matches: int
    seconds: float
    set_version: int | None
    quarantined: int | None
    rules: dict[Any, int]

    @classmethod
    def of(cls, progress: Any) -> MatchProgress | None:
        """Return what a query's progress says of matching; None where it is no streaming match."""
        if progress is None:
            return None
        seen = progress.observedMetrics
        if "rookery" not in seen:
            return None
        told = seen["rookery"]
        counted = seen["rookery_rules"]["rules"] if "rookery_rules" in seen else None
        return cls(
            progress.batchId, told["events"], told["matches"], told["seconds"], told["set_version"],
            told["quarantined"], {one["item"]: one["count"] for one in counted or ()},
        )  # fmt: skip


def match_listener(heard: Callable[[MatchProgress], None]) -> Any:
    """Return a StreamingQueryListener that hands over what each micro-batch of a streaming match did."""
    from pyspark.sql.streaming import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
            """Nothing yet."""

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
            found = MatchProgress.of(event.progress)
            if found is not None:
                heard(found)

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
            """Nothing new."""

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
            """Nothing more."""

    return Listener()
