"""A small recorded run, a server in a process of its own, and a real browser for what only a browser shows."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from rookery.web import Recorder, records
from rookery.web.producers.simulation import Scenario, Simulation

#: Milliseconds after which a browser hangs: on a busy machine it needs longer than Playwright's own half a minute.
HANG_MS = 600_000
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four seconds of a simulated network, and a stream's batches as a producer would write them."""
    path = tmp_path_factory.mktemp("run") / "run.jsonl"
    with Recorder(path, title="a small run") as recorder:
        scenario = Scenario(brokers=12, subscriptions=40, rate=50, participants=12, islands=3)
        Simulation(scenario, recorder).record(4_000_000)
        at = recorder.clock()
        for number in range(6):
            recorder.write(
                records.BatchRecord(
                    at=at,
                    query="stream",
                    number=number,
                    rows=8_000,
                    seconds=0.5 + 0.1 * number,
                    rows_per_second=8_000 / (0.5 + 0.1 * number),
                    set_version=1 if number < 4 else 2,
                )
            )
        recorder.write(records.SkewRecord(at=at, query="batch", zones=((100, 10, 1_100, 1.5), (50, 7, 400, 0.5))))
        recorder.write(records.NoteRecord(at=at, text="</script><script>throw 1</script> & <b>"))
    return path


@contextlib.contextmanager
def served(*arguments: str | Path) -> Iterator[str]:
    """Run `rookery serve` until the block ends; it must then stop cleanly, and have said nothing but its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rookery", "serve", "--port", "0", "--json", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"rookery serve did not start: {process.communicate()[1]}")
        yield json.loads(line)["url"]
        process.terminate()
        rest, said = process.communicate(timeout=600)
        assert (process.returncode, rest) == (0, ""), said
        assert said.startswith("rookery: http://"), said
        assert said.count("\n") == 1, said
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Start servers."""
    return served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The machine's Chromium, driven by Playwright; its event loop must be gone before other modules want one."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=list(SWITCHES), timeout=HANG_MS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh page; whatever it complains of in its console fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(HANG_MS)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert not complaints
