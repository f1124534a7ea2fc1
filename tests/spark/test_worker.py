"""The engine that is asked for matches in the workers: every task, every plan, the same pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matching.probes import probes
from rookery.errors import PipelineError
from rookery.matching import INDEXES
from rookery.spark import backtest, diff, match, match_files
from rookery.spark.carriers import FileSet
from rookery.spark.rules import Reading, compile_rules, schema_of
from rookery.spark.worker import MatchRows, crossing_schema

from .conftest import pairs

pytestmark = pytest.mark.spark

RULES = pa.table({"subscription_id": ["hot", "mild", "not 3"], "where": ["x > 30", "x > 10 AND x < 30", "n <> 3"]})
EVENTS = pa.table({"event_id": range(40), "x": [float(n) for n in range(40)], "n": [n % 5 for n in range(40)]})


@pytest.mark.parametrize("engine", INDEXES)
def test_a_task_asks_the_engine_once_built(tmp_path: Path, engine: str) -> None:
    """The task itself, in this process: its structure is built from the set that was sent, and answers every event."""
    compiled = compile_rules(RULES, schema_of(EVENTS.schema)).compiled
    compiled.save(tmp_path / "set")
    output = crossing_schema(pa.int64(), pa.string(), explain=False)
    key = f"{compiled.content_hash}-{tmp_path}"
    with probes() as asked:
        task = MatchRows(FileSet(key, str(tmp_path / "set")), Reading(engine=engine), output)
        found = pa.Table.from_batches(task(iter(EVENTS.to_batches(max_chunksize=15))), schema=output)
    assert asked.events == ({} if engine == "bitmap" else {engine: len(EVENTS)})
    assert sum(map(len, found["subscription_ids"].to_pylist())) == compiled.match_many(EVENTS).num_rows == 60


def test_every_plan_gives_the_same_pairs_with_the_matrix(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(EVENTS)
    wanted = pairs(match(frame, RULES))
    assert len(wanted) == 60
    for plan in ("broadcast", "zoned"):
        assert pairs(match(frame, RULES, plan=plan, zones=2, engine="matrix")) == wanted
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    outcome = match_files(
        spark, tmp_path / "events.parquet", RULES, tmp_path / "out", event_id="event_id", engine="matrix"
    )
    assert outcome.matches == len(wanted)
    counted = {
        row["subscription_id"]: row["matches"] for row in backtest(frame, RULES, engine="matrix").counts.collect()
    }
    assert counted == {"hot": 9, "mild": 19, "not 3": 32}
    changed = diff(frame, RULES, RULES.slice(1), engine="matrix").collect()
    assert [(row["subscription_id"], row["change"]) for row in changed] == [("hot", "removed")] * 9


def test_an_engine_that_no_worker_has_is_refused_with_the_reason() -> None:
    with pytest.raises(PipelineError, match=r"scan is the oracle .* there are bitmap, matrix, index, counting"):
        Reading(engine="scan")
    with pytest.raises(PipelineError, match="no such engine"):
        Reading(engine="btree")
