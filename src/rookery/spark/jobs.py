"""What Rookery's own jobs are called in Spark's UI: what they do, of which rules, and where to.

A DataFrame of matches is the caller's, and so is the name of the job that reads it. Named here is what Rookery starts
by itself: the sample for the zones, the reading of rules from a table, what the commands collect, the files plan, and
the output of a job. A stream has a name of its own, which Spark puts before the number of each micro-batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rookery.spark.carriers import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["free_query_name", "job_description"]

_PROPERTY = "spark.job.description"


@contextlib.contextmanager
def job_description(spark: SparkSession, text: str) -> Iterator[None]:
    """Name the jobs of a block; Spark Connect has no such name."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(_PROPERTY)
    context.setLocalProperty(_PROPERTY, f"rookery: {text}")
    try:
        yield
    finally:
        context.setLocalProperty(_PROPERTY, before)


def free_query_name(spark: SparkSession, text: str) -> str | None:
    """Return the name of a stream; None where a stream that still runs has it, since Spark takes a name once."""
    name = f"rookery: {text}"
    return None if any(query.name == name for query in spark.streams.active) else name
