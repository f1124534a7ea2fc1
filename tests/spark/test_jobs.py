"""What Spark's own list of jobs says of those that Rookery starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.cli import backtest as backtest_command
from rookery.cli import diff as diff_command
from rookery.spark import Subscriptions, match, match_files, write_stream
from rookery.spark.jobs import free_query_name, job_description

pytestmark = pytest.mark.spark


def described(spark: Any) -> list[str]:
    """Return the descriptions of all jobs so far, the newest first, as Spark's UI shows them."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = [jobs.apply(place).description() for place in range(jobs.size())]
    return [one.get() if one.isDefined() else "" for one in found]


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, str]:
    pq.write_table(pa.table({"event_id": range(50), "x": [float(one) for one in range(50)]}), tmp_path / "e.parquet")
    (tmp_path / "rules.csv").write_text("subscription_id,where\nhot,x > 40\n")
    return str(tmp_path / "rules.csv"), str(tmp_path / "e.parquet")


def test_each_job_says_what_it_does(
    classic: Any, given: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, events = given
    frame = classic.read.parquet(events)
    match(frame, rules, plan="zoned")
    assert "rookery: a sample of the events, by x, for their zones" in described(classic)
    match_files(classic, events, rules, tmp_path / "files")
    assert described(classic)[0] == f"rookery: 1 rules over 1 files to {tmp_path / 'files'}"
    Subscriptions.dataframe(classic.read.csv(rules, header=True)).records()
    assert described(classic)[0] == "rookery: rules of a DataFrame"
    backtest_command.command(rules, events, json=True)
    assert described(classic)[0] == f"rookery: backtest of {rules} over {events}"
    diff_command.command(rules, rules, events, json=True)
    assert described(classic)[0] == f"rookery: diff of {rules} and {rules} over {events}"
    capsys.readouterr()


def test_a_name_of_the_callers_own_comes_back(classic: Any) -> None:
    context = classic.sparkContext
    context.setJobDescription("mine")
    try:
        with job_description(classic, "theirs"):
            classic.range(1).count()
            assert described(classic)[0] == "rookery: theirs"
        classic.range(1).count()
        assert described(classic)[0] == "mine"
    finally:
        context.setLocalProperty("spark.job.description", None)


def test_a_stream_has_a_name_and_its_jobs_have_it_too(classic: Any, given: tuple[str, str], tmp_path: Path) -> None:
    rules, events = given
    (tmp_path / "in").mkdir()
    pq.write_table(pq.read_table(events), tmp_path / "in" / "1.parquet")
    out, state = str(tmp_path / "out"), str(tmp_path / "state")
    stream = classic.readStream.schema("event_id bigint, x double").parquet(str(tmp_path / "in"))
    hits = match(stream, rules, checkpoint=state)
    query = write_stream(hits, out, checkpoint=state)
    try:
        query.processAllAvailable()
        assert query.name == f"rookery: matches to {out}"
        assert any(text.startswith(query.name) and "batch = 0" in text for text in described(classic))
        assert free_query_name(classic, f"matches to {out}") is None
    finally:
        query.stop()
    assert free_query_name(classic, f"matches to {out}") == query.name
