"""`rookery serve`: what it refuses, how it stops, and what it shows live."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.domains import new_domain
from tests.web.conftest import Serve

from rookery.cli import main
from rookery.web import Recorder, records
from rookery.web.runs import measure


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["serve", *arguments])
    captured = capsys.readouterr()
    assert captured.out == ""
    return int(left.value.code or 0), captured.err


def snapshot(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url + "snapshot", timeout=600) as answer:
        state: dict[str, Any] = json.load(answer)
    return state


def eventually(url: str, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Ask until something holds; the limit only turns a hang into a failure."""
    for _ in range(600):
        state = snapshot(url)
        if condition(state):
            return state
        time.sleep(0.1)
    raise AssertionError(f"never seen: {state}")


def test_what_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, run_file: Path) -> None:
    code, said = refused(capsys, str(tmp_path / "none.jsonl"))
    assert (code, said) == (1, f"rookery: {tmp_path / 'none.jsonl'}: No such file or directory\n")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("hello\n")
    assert "line 1: no record of a run" in refused(capsys, str(bad))[1]
    code, said = refused(capsys, "--host", "0.0.0.0", str(run_file))
    assert code == 1
    assert "give --token" in said
    for wrong in (
        ["--follow"],
        [str(run_file), "--simulate"],
        [str(run_file), str(run_file)],
        [str(run_file), "--record", "x"],
        ["--token", "two words"],
    ):
        assert refused(capsys, *wrong)[0] == 2, wrong
    assert "between 0.1 and 100" in refused(capsys, str(run_file), "--speed", "1000")[1]


def test_a_port_that_is_taken_says_so(capsys: pytest.CaptureFixture[str], run_file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = refused(capsys, str(run_file), "--port", str(port))
    assert (code, said) == (1, f"rookery: port {port} of 127.0.0.1 is taken: give another --port, or 0 for any\n")


def test_it_stops_on_ctrl_c_while_pages_are_open(run_file: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "rookery", "serve", run_file, "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    url = json.loads(process.stdout.readline())["url"]
    with urllib.request.urlopen(url + "stream", timeout=600) as stream:
        assert stream.readline().startswith(b'data: {"reset":true')
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=600)
    assert (process.returncode, rest, said) == (130, "", f"rookery: {url}  Ctrl-C stops\n")


def test_files_of_several_processes_are_followed(serve: Serve, tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    with serve("--follow", one, other) as url, Recorder(one, title="first") as first:
        eventually(url, lambda state: state["title"] == "first")
        first.write(records.ParticipantRecord(at=1, id="a"))
        with Recorder(other) as second:
            second.write(records.ParticipantRecord(at=2, id="b"))
        with other.open("a") as file:
            file.write("no record\n")
        state = eventually(url, lambda state: len(state["participants"]) == 2 and state["totals"]["rejected"])
        assert state["status"] == {"mode": "live"}


def test_a_simulation_is_shown_and_recorded_and_can_be_replayed(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    size = ("--brokers", "6", "--participants", "6", "--rate", "60")
    with serve("--simulate", *size, "--record", file) as url:
        shown = eventually(url, lambda state: state["totals"]["events"] > 50 and state["ledger"])
        assert len(shown["participants"]) == 6
        assert shown["title"] == "a simulated network"
        assert shown["ledger"]["brokers"].get("missed", 0) == 0
    with serve(file, "--speed", "100") as url:
        state = eventually(url, lambda state: not state["status"]["playing"])
        assert state["totals"]["events"] >= shown["totals"]["events"]
        assert set(state["participants"]) == set(shown["participants"])


@pytest.mark.wire
def test_a_node_records_its_domain(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "domain.jsonl"
    with pytest.raises(SystemExit) as left:
        main(["node", "--domain-id", "229", "--seconds", "0.3", "--record", str(file)])
    assert left.value.code == 0
    assert "joined domain 229" in capsys.readouterr().err
    assert measure(file).records >= 2
    with pytest.raises(SystemExit) as left:
        main(["node", "--topic", "t", "--schema", "x:float64", "--record", str(file)])
    assert left.value.code == 2


@pytest.mark.wire
def test_a_live_domain_is_shown(serve: Serve) -> None:
    import asyncio

    import rookery

    domain_id = new_domain()

    async def test(url: str) -> dict[str, Any]:
        async with (
            rookery.open(f"dds://{domain_id}", rookery.DdsOptions(name="one")) as one,
            rookery.open(f"dds://{domain_id}", rookery.DdsOptions(name="other")) as other,
        ):
            one.advertise("quotes", schema={"price": "float64"})
            async with other.subscribe("quotes", overflow="wait", schema={"price": "float64"}):
                found = await asyncio.to_thread(eventually, url, lambda state: state["edges"])
        await asyncio.to_thread(eventually, url, lambda state: not state["participants"])
        return found

    with serve("--domain-id", str(domain_id)) as url:
        state = asyncio.run(test(url))
    assert {one["name"] for one in state["participants"].values()} == {"one", "other"}
    (edge,) = state["edges"].values()
    assert edge["topic"] == "quotes"
    assert [state["participants"][edge[side]]["name"] for side in ("source", "target")] == ["one", "other"]
