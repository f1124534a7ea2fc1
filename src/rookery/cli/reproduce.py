"""`rookery reproduce`: the claims of the five seeds, run again, each with a figure and a verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import Json, Master, note, write, write_json
from rookery.cli.unused import refuse_all_but

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery reproduce --list",
    "rookery reproduce --quick",
    "rookery reproduce seed-003 seed-001/occupancy",
    "rookery reproduce --seed 7 --master 'spark://HOST:7077' --out results-7",
]


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Claims, or whole seeds such as seed-003; all if none.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small parameters: minutes instead of a long run.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=10**9, help="Where the random numbers begin.")] = 1,
    master: Master = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder of the results.  [default: results, or results-quick]")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the claims with their committed verdicts.")] = False,
    json: Json = False,
) -> int:
    """Check what the seeds claim: run the experiments on Spark, draw figures, and give each claim a verdict.

    Results go to OUT/NAME/ (data, figure, verdict, manifest) and OUT/index.html. An interrupted run goes on where it
    stood. The exit code is 3 if a verdict is not the committed one; one that rests on a time never counts.
    """
    from rookery.papers.claims import chosen

    claims = chosen(names or [])
    if listing:
        refuse_all_but("listing", "json", where="where claims are only listed", instead="run them without --list")
        _list(claims, json=json)
        return ExitCode.DONE

    from rookery.papers.drawing import require_matplotlib
    from rookery.papers.reproduce import expected_seconds, reproduce
    from rookery.spark.sessions import session

    require_matplotlib()
    folder = out or Path("results-quick" if quick else "results")
    seconds = expected_seconds(folder, claims, quick=quick)
    note(f"{len(claims)} claims, about {_duration(seconds)} on this machine; results in {folder}")
    spark = session(master=master, name="rookery-reproduce")
    try:
        with _TaskCount() as progress:
            ledger = reproduce(
                spark, claims, folder, quick=quick, seed=seed, job_size=8 if quick else 4, progress=progress
            )
    except KeyboardInterrupt:
        note("interrupted; what is finished is kept, and the same command goes on from here")
        raise
    finally:
        spark.stop()
    if json:
        write_json([result.summary() for result in ledger.results])
    else:
        for result in ledger.results:
            write(f"{result.claim.name:<36} {result.judgment.verdict:<22} {result.judgment.figure}")
    note(f"the page is {folder / 'index.html'}")
    for result in ledger.changed_by_time:
        note(f"{result.claim.name}: {result.judgment.verdict} here, {result.claim.verdict} when committed (a time)")
    for result in ledger.changed:
        note(f"{result.claim.name}: {result.judgment.verdict}, but {result.claim.verdict} was committed")
    return ExitCode.NOT_REPRODUCED if ledger.changed else ExitCode.DONE


def _list(claims: Any, *, json: bool) -> None:
    if json:
        write_json(
            [
                {
                    "name": claim.name,
                    "section": claim.section,
                    "says": claim.says,
                    "verdict": str(claim.verdict),
                    "rests_on_a_time": claim.timed,
                }
                for claim in claims
            ]
        )
        return
    for claim in claims:
        write(f"{claim.name:<36} {claim.verdict:<22} {claim.says}")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class _TaskCount:
    """Say how many tasks are finished: a bar where a person is watching, else a line now and then."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._said = 0.0

    def __enter__(self) -> Any:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("reproducing"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total} tasks"),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("tasks", total=None)
        return self._tell

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _tell(self, done: int, total: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
        elif done == total or done >= self._said + max(1, total // 10):
            self._said = done
            note(f"{done} of {total} tasks")
