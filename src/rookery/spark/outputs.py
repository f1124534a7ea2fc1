"""The output of a batch job: staged by its tasks, published as one folder, read again without Spark.

A task that stages files reports each by a line of the manifest: its name, the events that it read, the matches in it,
and the most frequent subscriptions as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.model.datasets import find_dataset
from rookery.model.storage import source_of
from rookery.spark.jobs import job_description
from rookery.spark.manifests import Output
from rookery.spark.staging import Staged
from rookery.spark.types import arrow_schema_of, spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["MANIFEST", "publish_staged", "read_published", "write_frame"]

MANIFEST = pa.schema([("name", pa.string()), ("events", pa.int64()), ("matches", pa.int64()), ("top", pa.string())])


def write_frame(frame: DataFrame, output: Output, *, overwrite: bool = False) -> int:
    """Write a DataFrame as one folder of Parquet files, all or nothing, on any Spark; returns its rows."""
    output.check_free(overwrite=overwrite)
    with job_description(frame.sparkSession, f"matches to {output.path}"):
        manifest = publish_staged(frame, StageRows(output, arrow_schema_of(frame.schema)), output, overwrite=overwrite)
    return sum(line["matches"] for line in manifest)


def publish_staged(frame: DataFrame, task: Any, output: Output, *, overwrite: bool) -> list[Any]:
    """Run a task that stages files, make them visible as one folder, and return the lines of its manifest."""
    try:
        manifest = frame.mapInArrow(task, spark_schema_of(MANIFEST)).collect()
    except Exception:
        output.sweep()
        raise
    output.publish([Staged(line["name"], line["matches"]) for line in manifest], task.output, overwrite=overwrite)
    return list(manifest)


def read_published(out: Any, columns: list[str]) -> pa.Table:
    """Read columns of what was published, without Spark, which may have no file system for that place."""
    import pyarrow.parquet as pq

    paths = find_dataset(out).paths
    return pa.concat_tables(pq.ParquetFile(source_of(path)).read(columns=columns) for path in paths)


@dataclass(frozen=True, slots=True)
class StageRows:
    """The task that writes a DataFrame: its rows into one staged file."""

    output_folder: Output
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the task's rows and report the file."""
        staged = self.output_folder.write(batches, self.output)
        yield pa.record_batch([[staged.name], [staged.rows], [staged.rows], ["[]"]], schema=MANIFEST)
