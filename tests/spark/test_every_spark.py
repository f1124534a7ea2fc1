"""Every way to match, on every Spark that people have: the same pairs in each, or the reason why there is none.

The oldest PySpark runs in CI, where all other tests run on the locked one; all five run with `./rookery test --sparks`.
An older one is installed into the cache folder, once; where it cannot be had the test skips.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.spark.every_spark import CHANGED, RULES, digest, events
from tests.spark.packages import installed

from rookery.kernels import cache_folder

ROOT = Path(__file__).parents[2]

#: What the rules mean, said again without them: a comparison with NULL or NaN does not hold.
MEANING: dict[str, Callable[[dict[str, Any]], bool]] = {
    "hot": lambda e: _is(e["temp"], lambda x: x > 40) and e["ok"] is True,
    "cold": lambda e: _is(e["temp"], lambda x: x < -10.5),
    "unknown": lambda e: e["count"] is None or _is(e["device"], lambda x: x.startswith("d1")),
    "some": lambda e: e["device"] in ("d3", "d5", "d7") and _is(e["count"], lambda x: 2**53 - 2 <= x <= 2**53 + 7),
    "exact": lambda e: e["price"] == Decimal("1.25") and _is(e["temp"], lambda x: x != 7),
    "late": lambda e: e["seen"] >= datetime(2026, 3, 1, 10, tzinfo=UTC),
    "hotter": lambda e: _is(e["temp"], lambda x: x > 45) and e["ok"] is True,
    "new": lambda e: _is(e["small"], lambda x: x > 20),
}

#: What an older Spark does not have.
MISSING = {"3.5": {"table function", "stream, rookery.parquet"}}


def _is(value: Any, holds: Callable[[Any], bool]) -> bool:
    return value is not None and value == value and holds(value)


def expected() -> dict[str, dict[str, Any]]:
    """Return what each way must give, from the meaning of the rules alone."""
    rows = events().to_pylist()
    pairs = [(row["event_id"], rule) for row in rows for rule in RULES if MEANING[rule](row)]
    after = {(row["event_id"], "hot") for row in rows if MEANING["hotter"](row)}
    after |= {(row["event_id"], "new") for row in rows if MEANING["new"](row)}
    before = {pair for pair in pairs if pair[1] == "hot"}
    assert set(CHANGED) - set(RULES) == {"new"}
    changed = [(*pair, "added") for pair in after - before] + [(*pair, "removed") for pair in before - after]
    text = [pair for pair in pairs if pair[1] in ("hot", "cold", "unknown", "some")]
    counts = [(rule, sum(1 for pair in pairs if pair[1] == rule)) for rule in RULES]
    whole = digest(pairs)
    other = {"diff": digest(changed), "backtest": digest(counts), "command": digest(text)}
    ways = ("match", "zoned", "files", "table function", "scalar function")
    streams = ("stream, Spark's sink", "stream, rookery.parquet")
    return {**dict.fromkeys((*ways, *streams), whole), **other}


def spark_folder(version: str) -> Path:
    """Return a folder with this PySpark, installed at the first call; skips where it cannot be had."""
    named = os.environ.get("ROOKERY_SPARKS")
    folder = (Path(named) if named else cache_folder() / "sparks") / version
    return installed(f"pyspark=={version}.*", folder, holds="pyspark")


@pytest.mark.parametrize(
    "version",
    [
        pytest.param("locked", marks=pytest.mark.slow),  # all other tests of Spark run on it
        "3.5",
        pytest.param("4.0", marks=pytest.mark.slow),
        pytest.param("4.1", marks=pytest.mark.slow),
        pytest.param("4.2", marks=pytest.mark.slow),
    ],
)
def test_every_way_gives_the_same_pairs(version: str, tmp_path: Path) -> None:
    path = [str(ROOT / "src"), str(ROOT)]
    if version != "locked":
        path.insert(0, str(spark_folder(version)))
    out = tmp_path / "found.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.every_spark", str(out)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "TZ": "America/New_York"},  # rows come in local time
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    if version != "locked":
        assert found["spark"].startswith(version)
    for way, pairs in expected().items():
        if way in MISSING.get(version, ()):
            assert "came with Spark 4.0" in found[way]["missing"]
        else:
            assert found[way] == pairs, way


def test_a_spark_that_is_too_old_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from rookery.errors import SparkUnavailableError
    from rookery.spark import compat

    monkeypatch.setattr(compat, "version", lambda: (3, 4))
    with pytest.raises(SparkUnavailableError, match=r"too old: Rookery runs on PySpark 3\.5, 4\.0"):
        compat.check_version()
