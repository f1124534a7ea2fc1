"""Delta's own connector beside Rookery: its tables by path, by name, at a version, as a stream and as a sink.

It is made for one Spark at a time; the newest that has one is not the locked one. So this runs on demand, on that
PySpark in an environment of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.delta_connector import rows
from tests.spark.kafka_server import fetch_jars
from tests.spark.test_every_spark import ROOT, spark_folder

pytest.importorskip("deltalake")

SPARK, CONNECTOR = "4.2", "4.4.0"


def meant(events: list[tuple[int, str, float]]) -> list[list[object]]:
    """Say again what the rules of the program mean."""
    found = []
    for number, device, x in events:
        found += [[number, "hot"]] if x > 90 else []
        found += [[number, "d1"]] if device == "d1" and x < 20 else []
        found += [[number, "later"]] if number >= 300 else []
    return sorted(found)


@pytest.mark.slow
def test_tables_of_deltas_own_connector_give_the_pairs_that_the_rules_mean(tmp_path: Path) -> None:
    pyspark = spark_folder(SPARK)
    fetched = fetch_jars("io.delta", f"delta-spark_{SPARK}_2.13", CONNECTOR)
    here = {_artifact(path) for path in (pyspark / "pyspark" / "jars").glob("*.jar")}
    jars = ",".join(str(path) for path in fetched.glob("*.jar") if _artifact(path) not in here)
    out = tmp_path / "found.json"
    path = os.pathsep.join(map(str, (pyspark, ROOT / "src", ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.delta_connector", str(out), jars],
        env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    first, later = rows(0, 300), rows(300, 60)
    now = [(number, device, x + (x == 90)) for number, device, x in first if x >= 10] + later
    assert found.pop("signed") is True
    for way in ("load", "table", "files"):
        assert found.pop(way) == meant(now), way
    for way in ("version", "time"):
        assert found.pop(way) == meant(first), way
    for way in ("stream into delta", "stream into rookery.delta"):
        assert found.pop(way) == meant(rows(0, 100) + later), way
    assert not found


def _artifact(path: Path) -> str:
    return re.split(r"-\d", path.name, maxsplit=1)[0]
