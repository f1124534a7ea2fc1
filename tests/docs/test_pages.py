"""The documentation is true: it builds strictly as a site, its blocks run, and its reference is the code's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rookery.cli import COMMANDS
from rookery.cli.application import application
from rookery.cli.config import EVERYWHERE
from rookery.cli.exit_codes import ExitCode

from .command_line import page as command_line_page
from .pages import blocks, commands_of, run_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Pages whose blocks are run here; those of some parts are run by the tests of the parts.
SPARK = ["tutorials/first-spark-job.md", "spark.md"]
WIRE = ["tutorials/first-domain.md", "tutorials/first-service.md", "brokers.md", "client.md"]
PLAIN = [
    "index.md",
    "tutorials/first-match.md",
    "tutorials/first-plan.md",
    "tutorials/first-claim.md",
    "dialects.md",
    "how-to/add-a-matcher.md",
    "how-to/install.md",
    "how-to/deploy.md",
    "how-to/kafka-and-delta.md",
    "how-to/read-a-plan.md",
    "how-to/run-on-a-cluster.md",
    "how-to/tune-a-summary.md",
    "how-to/watch.md",
    "reference/configuration.md",
    "reference/results.md",
    "reference/wire-formats.md",
    "spool.md",
    "islands.md",
    "demo.md",
    "discovery.md",
    "overlay.md",
    "plan.md",
    "page.md",
    "claims.md",
    "benchmarks.md",
]
PARTS = ["subscriptions.md", "rtps.md", "filters.md"]


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize("name", PLAIN)
def test_the_blocks_of_a_page_run(name: str, tmp_path: Path, commands: Path) -> None:
    run_page(DOCS / name, folder=tmp_path, commands=commands)


@pytest.mark.spark
@pytest.mark.parametrize("name", SPARK)
def test_the_blocks_of_a_page_run_on_spark(name: str, tmp_path: Path, commands: Path) -> None:
    assert run_page(DOCS / name, folder=tmp_path, commands=commands) > 0


@pytest.mark.wire
@pytest.mark.parametrize("name", WIRE)
def test_the_blocks_of_a_page_run_on_the_wire(name: str, tmp_path: Path, commands: Path) -> None:
    assert run_page(DOCS / name, folder=tmp_path, commands=commands) > 0


@pytest.mark.parametrize("name", [str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))])
def test_commands_that_are_not_run_are_understood(name: str) -> None:
    group: Any = get_command(application(list(COMMANDS)))
    for block in blocks(DOCS / name):
        for command, *arguments in commands_of(block) if block.language == "sh" and not block.is_run else ():
            group.commands[command].make_context(command, arguments)


def test_no_page_is_left_out() -> None:
    known = {*PLAIN, *SPARK, *WIRE, *PARTS, "reference/command-line.md"}
    with_blocks = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if blocks(page)}
    assert with_blocks <= known


def test_the_reference_of_the_command_line_is_what_help_prints() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert text == command_line_page(), "run `python -m tests.docs.command_line` to make the page again"
    assert all(f"## rookery {name}\n" in text for name in COMMANDS)


def test_the_configuration_names_every_variable_and_exit_code() -> None:
    text = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    assert all(f"| `{variable}` |" in text for variable in EVERYWHERE)
    assert all(f"| {int(code)} |" in text for code in ExitCode)
