"""Columns whose names have dots, on their way to the workers.

`mapInArrow` looks its columns up by name, and takes `a.b` for the field `b` of a column `a`, quoted or not. Columns of
documents have such names; they travel under names without dots, and the worker gives them their own again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.spark.documents import Documents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery.spark.documents import Events

__all__ = ["Task", "map_batches"]

#: What stands for a dot: a character for private use, which no field has.
DOT = "\ue02e"
Task = Callable[[Iterator[pa.RecordBatch]], Iterable[pa.RecordBatch]]


def map_batches(frame: Events, task: Task, schema: Any) -> DataFrame:
    """Run a task over the batches of a DataFrame, whatever its columns are called, or over documents."""
    if isinstance(frame, Documents) or not any("." in name for name in frame.columns):
        return frame.mapInArrow(task, schema)
    return frame.toDF(*(name.replace(".", DOT) for name in frame.columns)).mapInArrow(_OwnNames(task), schema)


class _OwnNames:
    """A task that sees columns by their own names."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        renamed = (batch.rename_columns([name.replace(DOT, ".") for name in batch.schema.names]) for batch in batches)
        return self.task(renamed)
