"""What the page is told of Spark: the batches of a real stream, and the zones of a real job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rookery.spark import Subscriptions, VersionLog, match, write_stream
from rookery.spark.workloads import workload
from rookery.web import Recorder, records
from rookery.web.producers.streams import record_skew, watch_stream

pytestmark = pytest.mark.spark

ROWS, PER_BATCH = 400, 200


def test_batches_and_zones_are_recorded_as_they_were(classic: Any, tmp_path: Path) -> None:
    rules = workload("telemetry").rules(300, 1)
    (tmp_path / "rules").mkdir()
    pq.write_table(rules, tmp_path / "rules" / "limits.parquet")
    heard: list[Any] = []
    recorder = Recorder(listener=heard.append)
    events = classic.readStream.format("rookery").option("workload", "telemetry").option("rows", ROWS)
    checkpoint = str(tmp_path / "checkpoint")
    hits = match(
        events.option("rowsPerBatch", PER_BATCH).load(),
        Subscriptions.files(tmp_path / "rules"),
        time="ts",
        checkpoint=checkpoint,
    )
    query = write_stream(hits, str(tmp_path / "out"), checkpoint=checkpoint, trigger={"availableNow": True})
    finish = watch_stream(recorder, query, checkpoint, name="telemetry")
    query.awaitTermination(120)
    finish()
    batches = [one for one in heard if isinstance(one, records.BatchRecord)]
    history = VersionLog(checkpoint).history()
    assert sum(batch.rows for batch in batches) == ROWS
    assert [batch.number for batch in batches] == sorted({batch.number for batch in batches})
    assert all(batch.set_version == history[batch.number] == 1 for batch in batches)
    assert all(batch.rows_per_second == pytest.approx(batch.rows / batch.seconds) for batch in batches)

    stored = classic.read.format("rookery").option("workload", "telemetry").option("rows", ROWS).load()
    record_skew(recorder, stored, rules, name="telemetry", time="ts")
    (skew,) = [one for one in heard if isinstance(one, records.SkewRecord)]
    assert sum(zone[0] for zone in skew.zones) == ROWS
    assert sum(zone[3] for zone in skew.zones) == pytest.approx(len(skew.zones)), (
        "the mean of load over the mean is one"
    )
