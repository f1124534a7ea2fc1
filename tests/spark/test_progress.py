"""What a streaming match says of itself in `lastProgress` and to listeners, beside what it wrote."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.spark import MatchProgress, Subscriptions, match, match_listener, write_stream
from rookery.spark.progress import COUNT_RULES

from .conftest import read_pairs

pytestmark = pytest.mark.spark


def test_each_micro_batch_tells_what_it_did(classic: Any, tmp_path: Path) -> None:
    events, rules = tmp_path / "events", tmp_path / "rules.csv"
    events.mkdir()
    heard: list[MatchProgress] = []
    listener = match_listener(heard.append)
    classic.streams.addListener(listener)
    classic.conf.set(COUNT_RULES, "true")
    try:
        for batch, (texts, wanted) in enumerate(
            [
                ("hot,x > 5\nall,x >= 0\nbad,x >\n", {"all": 10, "hot": 4}),
                ("never,x > 100\n", {}),
            ]
        ):
            rules.write_text(f"subscription_id,where\n{texts}")
            table = pa.table({"id": list(range(10)), "x": [float(number) for number in range(10)]})
            pq.write_table(table, events / f"{batch}.parquet")
            stream = classic.readStream.schema("id bigint, x double").parquet(str(events))
            found = match(stream, Subscriptions.files(rules), event_id="id", checkpoint=str(tmp_path / "state"))
            query = write_stream(
                found, str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), trigger={"availableNow": True}
            )
            query.awaitTermination()
            told = next(one for last in query.recentProgress if (one := MatchProgress.of(last)) and one.events)
            assert (told.batch, told.events, told.matches) == (batch, 10, sum(wanted.values()))
            assert (told.set_version, told.quarantined, told.rules) == (batch + 1, int(batch == 0), wanted)
            assert told.seconds > 0
        for _ in range(600):  # listeners are called in their own time
            if len([one for one in heard if one.events]) == 2:
                break
            time.sleep(0.1)
        assert [(one.batch, one.matches) for one in heard if one.events] == [(0, 14), (1, 0)]
    finally:
        classic.conf.unset(COUNT_RULES)
        classic.streams.removeListener(listener)
    assert len(read_pairs(tmp_path / "out")) == 14  # the row that tells is no match


def test_a_query_that_does_not_match_tells_nothing(spark: Any) -> None:
    assert MatchProgress.of(None) is None
    query = spark.readStream.format("rate").load().writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    assert MatchProgress.of(query.lastProgress) is None
