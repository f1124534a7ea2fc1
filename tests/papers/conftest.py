"""A Spark session that ends with its module: the tests of `rookery.spark` start their own, with other settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="the sweep needs `pip install rookery[spark]`")
    from pyspark.sql import SparkSession

    from rookery.spark import session

    held = SparkSession.getActiveSession()
    made = held or session(master="local[2,4]", name="rookery-experiments", memory="2g")
    yield made
    if held is None:
        made.stop()
