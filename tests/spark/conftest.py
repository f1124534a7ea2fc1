"""One Spark session for all tests: it costs seconds to start, and a test that wants its own runs its own process.

`ROOKERY_TEST_REMOTE=sc://…` runs the same tests over Spark Connect, `ROOKERY_TEST_MASTER` on another master.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="the Spark tests need `pip install rookery[spark]`")

#: For a JVM that lives a few minutes: no second compiler, no collector threads. It takes a fifth off the tests.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from rookery.spark import register, session
    from rookery.spark.sessions import options

    remote = os.environ.get("ROOKERY_TEST_REMOTE")
    settings = {
        "spark.driver.extraJavaOptions": f"{options()['spark.driver.extraJavaOptions']} {QUICK}",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",  # mapInArrow does not cast
        "spark.sql.streaming.stateStore.maintenanceInterval": "600s",
    }
    master = remote or os.environ.get("ROOKERY_TEST_MASTER", "local[2,4]")
    made = session(master=master, name="rookery-tests", memory="2g", settings={} if remote else settings)
    register(made)
    yield made
    made.stop()


@pytest.fixture
def classic(spark: Any) -> Any:
    """The session, for a test of what only a classic one has."""
    from rookery.spark.carriers import is_connect

    if is_connect(spark):
        pytest.skip("Spark Connect has no SparkContext")
    return spark


def pairs(frame: Any) -> list[tuple[Any, ...]]:
    """Return the matches of a DataFrame as sorted tuples."""
    table = frame.select("event_id", "subscription_id", "version").toArrow()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def read_pairs(path: Path) -> list[tuple[Any, ...]]:
    """Return the matches in the raw files of a folder, as any reader of Parquet sees them."""
    import pyarrow.parquet as pq

    files = sorted(file for file in path.rglob("*.parquet"))
    tables = [pq.ParquetFile(file).read() for file in files]
    if not tables:
        return []
    table = pa.concat_tables(tables).select(["event_id", "subscription_id", "version"])
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))
