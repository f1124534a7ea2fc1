"""Columns with dots in their names cross to the workers and are themselves there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from rookery.spark.columns import map_batches

pytestmark = pytest.mark.spark


def test_dots_are_kept(spark: Any) -> None:
    def names(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"names": [",".join(batch.schema.names)], "count": [batch.num_rows]})

    frame = spark.createDataFrame([("x", 1), ("y", 2)], "`a.b#text` string, c long").coalesce(1)
    assert [tuple(row) for row in map_batches(frame, names, "names string, count long").collect()] == [
        ("a.b#text,c", 2)
    ]
    assert [row[0] for row in map_batches(frame.select("c"), names, "names string, count long").collect()] == ["c"]
