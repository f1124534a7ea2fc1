"""`rookery test`: everything CI runs, in a checkout.

The steps go from the quickest to the slowest, all of them even when one fails, and pytest comes last, so that its
closing line closes the output. Naming tests (paths, `-k`, `-m`) runs pytest alone: that is the loop of someone at work.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

import rookery
from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import Json, note, write_json
from rookery.errors import CheckoutError

__all__ = ["EXAMPLES", "Step", "checkout", "command", "steps"]

EXAMPLES = [
    "rookery test",
    "rookery test --slow",
    "rookery test --sparks",
    "rookery test --hostile",
    "rookery test tests/filters -k ribbon",
    "rookery test tests/model -- --pdb -x",
]

#: Twice as many processes as cores and one, since many tests wait for a peer, a disk or a JVM; at most six. Each file
#: is in one process; tests/spread.py says in which, and when.
PROCESSES = min(2 * len(os.sched_getaffinity(0)) + 1, 6)
SPREAD = ("-n", str(PROCESSES), "--dist", "loadfile", "--no-loadscope-reorder")


#: The tests behind --sparks.
EVERY_SPARK = ("tests/spark/test_every_spark.py", "-v")


#: The tests behind --hostile.
HOSTILE = ("tests/hostile", "-v")


@dataclass(frozen=True, slots=True)
class Step:
    """One step, and when it has run, its seconds and exit code."""

    name: str
    command: tuple[str, ...]
    seconds: float = 0.0
    exit_code: int | None = None


def command(
    tests: Annotated[
        list[str] | None,
        typer.Argument(metavar="TESTS", help="Files, folders or tests to run; after --, options for pytest."),
    ] = None,
    keyword: Annotated[str | None, typer.Option("-k", help="Run the tests whose names match.", metavar="WORDS")] = None,
    marker: Annotated[str | None, typer.Option("-m", help="Run the tests of a marker.", metavar="MARKER")] = None,
    slow: Annotated[bool, typer.Option("--slow", help="Run the on-demand proofs too.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Say which lines no test runs; takes twice as long.")
    ] = False,
    sparks: Annotated[
        bool,
        typer.Option("--sparks", help="Run one job in every way on each PySpark, 3.5 to 4.3, and nothing else."),
    ] = False,
    hostile: Annotated[
        bool,
        typer.Option("--hostile", help="Run each attack on a broker's port, and the long ones too, and nothing else."),
    ] = False,
    json: Json = False,
) -> int:
    """Run everything CI runs: lint, format, types, import layers and tests.

    With names of tests, -k or -m only pytest runs.
    """
    root = checkout()
    selection = [*(tests or []), *(["-k", keyword] if keyword else []), *(["-m", marker] if marker else [])]
    if sparks:
        selection, slow = [*EVERY_SPARK, *selection], True
    if hostile:
        selection, slow = [*HOSTILE, *selection], True
    finished = []
    # A run starts hundreds of Pythons; each would compile every module again where a machine forbids to keep bytecode.
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for step in steps(selection, slow=slow, coverage=coverage):
        note(f"{step.name}: {' '.join(step.command[1:])}")
        started = time.perf_counter()
        # With --json the document is the only data, and what the tools print is progress.
        done = subprocess.run(step.command, cwd=root, env=settings, stdout=sys.stderr if json else None, check=False)
        seconds = round(time.perf_counter() - started, 2)
        finished.append(Step(step.name, step.command, seconds, done.returncode))
    for step in finished:
        note(f"{'ok    ' if step.exit_code == 0 else 'FAILED'} {step.name:<14} {step.seconds:7.1f} s")
    passed = all(step.exit_code == 0 for step in finished)
    if json:
        write_json({"passed": passed, "steps": [asdict(step) for step in finished]})
    return ExitCode.DONE if passed else ExitCode.FAILED


def steps(selection: list[str], *, slow: bool, coverage: bool = False) -> list[Step]:
    """Return the steps: all of them, or pytest alone when `selection` names tests."""
    python = sys.executable
    measured = ["--cov", "--cov-report=term"] if coverage else []
    pytest = (python, "-m", "pytest", *(["--slow"] if slow else []), *measured)
    if selection:
        return [Step("pytest", (*pytest, *selection))]
    return [
        Step("ruff check", (python, "-m", "ruff", "check")),
        Step("ruff format", (python, "-m", "ruff", "format", "--check")),
        Step("mypy", (python, "-m", "mypy")),
        Step("import layers", (python, "-c", "from importlinter.cli import lint_imports_command as main; main()")),
        Step("pytest", (*pytest, *SPREAD)),
    ]


def checkout() -> Path:
    """Return the root of the checkout that this package runs from."""
    root = Path(rookery.__file__).parents[2]
    if not (root / "requirements.lock").is_file() or not (root / "tests").is_dir():
        raise CheckoutError(
            "`rookery test` needs a checkout, and this Rookery is an installed package: "
            "clone the repository and run ./rookery test there"
        )
    return root
