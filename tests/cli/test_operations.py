"""Logs as JSON and metrics, as the commands that stay running have them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from rookery.cli.operations import announce, set_up_logs
from rookery.web import Recorder, records


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    """The logger of Rookery, left as it was."""
    found = logging.getLogger("rookery")
    before = found.handlers, found.level, found.propagate
    yield found
    found.handlers, found.level, found.propagate = before[0], before[1], before[2]


def test_json_logs_are_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("json")
    log = logging.getLogger("rookery.live")
    log.warning("peer %s said\n%r", "a", '"', extra={"peer": "a", "count": 3, "odd": Path("/x")})
    try:
        raise ValueError("no")
    except ValueError:
        log.exception("it failed")
    log.debug("not shown")
    announce("ready", url="u")
    first, second, third = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["logger"], first["message"]) == ("warning", "rookery.live", "peer a said\n'\"'")
    assert (first["peer"], first["count"], first["odd"]) == ("a", 3, "/x")
    assert first["time"].endswith("+00:00")
    assert "ValueError: no" in second["error"]
    assert (third["message"], third["url"], third["logger"]) == ("ready", "u", "rookery.cli")


def test_text_logs_are_warnings_alone(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs("text")
    logging.getLogger("rookery.live").info("chatter")
    logging.getLogger("rookery.live").warning("look")
    announce("ready", url="u")
    assert capsys.readouterr().err == "rookery: WARNING: look\nrookery: ready\n"


def test_a_page_is_measured_and_logs_in_json(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with Recorder(file, clock=lambda: 1) as recorder:
        recorder.write(records.ParticipantRecord(at=1, id="a"))
    command = ("serve", str(file), "--port", "0", "--metrics", "0", "--log-format", "json")
    process = subprocess.Popen([sys.executable, "-m", "rookery", *command], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        urls = [json.loads(process.stderr.readline())["url"] for _ in range(2)]
        (metrics,) = [url for url in urls if url.endswith("/metrics")]
        with urllib.request.urlopen(metrics, timeout=600) as answer:
            text = answer.read().decode()
        assert 'rookery_page_entries{table="participants"}' in text
        assert "rookery_page_readers 0\n" in text
        process.terminate()
        assert process.communicate(timeout=600)[1] == ""
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
