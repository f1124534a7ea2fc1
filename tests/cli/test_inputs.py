"""A path at which nothing is ends a command before Spark starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rookery import cli
from rookery.cli.inputs import look_for
from rookery.errors import PipelineError

LINES = (
    "match -s rules.csv -e nosuch -o out",
    "match -s nosuch -e events.csv -o out",
    "match -s nosuch -e events -o out --stream --checkpoint place",
    "backtest -s rules.csv -e nosuch",
    "diff rules.csv nosuch --events events.csv",
    "diff nosuch rules.csv --events events.csv",
)


@pytest.mark.parametrize("line", LINES)
def test_nothing_is_started_for_it(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark")

    def session(**_: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("rookery.spark.sessions.session", session)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.csv").write_text("subscription_id,where\n1,price < 10\n")
    (tmp_path / "events.csv").write_text("event_id,price\n1,1.0\n")
    with pytest.raises(SystemExit) as ended:
        cli.main(line.split())
    assert ended.value.code == 1
    assert capsys.readouterr().err.endswith("nosuch: no such file or folder\n")


def test_what_only_a_reader_can_know_is_left_to_it() -> None:
    look_for("table:ops.events", "s3://bucket/events", str(Path(__file__)), str(Path(__file__).parent))
    with pytest.raises(PipelineError, match="not hdfs://"):
        look_for("hdfs:///events")
