"""`rookery test`, run on a checkout of one test file: the real tools, a second each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rookery
from rookery.cli import test as command_module
from rookery.errors import CheckoutError, RookeryError

PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests"]
[tool.mypy]
strict = true
files = ["src"]
[tool.coverage.run]
source = ["src"]
[tool.importlinter]
root_package = "pebble"
[[tool.importlinter.contracts]]
name = "layers"
type = "layers"
layers = ["pebble.upper", "pebble.lower"]
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of a package of two modules in which every step passes."""
    package = tmp_path / "src" / "pebble"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "lower.py").write_text("WEIGHT: int = 3\n")
    (package / "upper.py").write_text("from pebble.lower import WEIGHT\n\nDOUBLE = 2 * WEIGHT\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_pebble.py").write_text(
        "from pebble.upper import DOUBLE\n\n\ndef test_six() -> None:\n    assert DOUBLE == 6\n\n\n"
        "def test_even() -> None:\n    assert DOUBLE % 2 == 0\n"
    )
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"))
    monkeypatch.delenv("COVERAGE_FILE", raising=False)
    monkeypatch.setattr(command_module, "checkout", lambda: tmp_path)
    return tmp_path


def test_runs_every_step_and_ends_with_the_line_of_pytest(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_module.command() == 0
    data, errors = capfd.readouterr()
    assert "2 passed" in data.splitlines()[-1]
    for name in ("ruff check", "ruff format", "mypy", "import layers", "pytest"):
        assert f"ok     {name}" in errors


def test_every_step_finds_its_own_fault(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lower = "import os\nimport pebble.upper as upper\nWEIGHT: int = (4)\nNAME: int = 'three'\nUPPER = upper\n"
    (small / "src" / "pebble" / "lower.py").write_text(lower)
    assert command_module.command(json=True) == 1
    document = json.loads(capfd.readouterr().out)
    assert document["passed"] is False
    assert [step["name"] for step in document["steps"] if step["exit_code"] != 0] == [
        "ruff check",
        "ruff format",
        "mypy",
        "import layers",
        "pytest",
    ]


def test_naming_tests_runs_pytest_alone(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_module.command(["tests/test_pebble.py"], keyword="even") == 0
    data, errors = capfd.readouterr()
    assert "1 passed, 1 deselected" in data.splitlines()[-1]
    assert "mypy" not in errors
    assert command_module.command(keyword="nothing_of_this_name") == 1


def test_slow_reaches_pytest() -> None:
    assert "--slow" in command_module.steps([], slow=True)[-1].command
    assert "--slow" not in command_module.steps([], slow=False)[-1].command


def test_an_installed_package_says_that_it_needs_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rookery, "__file__", str(tmp_path / "lib" / "rookery" / "__init__.py"))
    with pytest.raises(CheckoutError, match=r"needs a checkout.*clone the repository") as raised:
        command_module.checkout()
    assert isinstance(raised.value, RookeryError)


def test_continuous_integration_runs_exactly_this() -> None:
    root = Path(__file__).parents[2]
    script = (root / ".ci" / "run").read_text()
    assert script.splitlines()[-1] == "exec ./rookery test"
    assert script.count("./rookery") == 1  # what comes before installs programs, and runs nothing of ours
    subprocess.run(["bash", "-n", root / ".ci" / "run"], check=True)
    assert command_module.steps([], slow=False)[-1].command[0] == sys.executable


def test_coverage_is_measured_when_asked_for(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command_module.command(coverage=True) == 0
    assert "TOTAL" in capfd.readouterr().out
    assert command_module.command() == 0
    assert "TOTAL" not in capfd.readouterr().out
