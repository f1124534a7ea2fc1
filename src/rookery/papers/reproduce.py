"""Run claims: sweep on Spark, judge, write `results/`, make the page, and compare with the committed verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rookery.errors import ExperimentError
from rookery.papers.claims import Claim
from rookery.papers.claims import claims as all_claims
from rookery.papers.drawing import require_matplotlib
from rookery.papers.experiments import table_of
from rookery.papers.journal import Journal
from rookery.papers.page import make_page
from rookery.papers.results import Result, read_result, read_seconds, write_result
from rookery.papers.sweep import Progress, sweep

__all__ = ["Ledger", "expected_seconds", "reproduce"]

#: Seconds of CPU of a claim whose manifest is not there: the mean of the last full run, and of the last quick one.
USUAL_SECONDS = {False: 6.0, True: 0.7}


@dataclass(frozen=True, slots=True)
class Ledger:
    """The judged claims of one run."""

    results: tuple[Result, ...]

    @property
    def changed(self) -> list[Result]:
        """The claims whose verdict is not the committed one, those that rest on a time left out."""
        return [result for result in self.results if result.changed and not result.claim.timed]

    @property
    def changed_by_time(self) -> list[Result]:
        """The claims whose verdict changed and rests on a time: worth a word, never a failure."""
        return [result for result in self.results if result.changed and result.claim.timed]


def expected_seconds(folder: Path, claims: Sequence[Claim], *, quick: bool, cores: int | None = None) -> float:
    """Return how long a run will take, from the seconds that earlier manifests state for a task of each claim."""
    together: dict[str, float] = {}
    alone: dict[str, float] = {}
    for claim in claims:  # those that share a run cost it once
        known = read_seconds(folder, claim, quick=quick)
        tasks = len(claim.experiment.tasks(quick=quick, seed=0))
        counted = alone if claim.timed else together
        counted.setdefault(
            claim.experiment.maker, USUAL_SECONDS[quick] if known is None else known[0] * tasks / known[1]
        )
    return 10 + sum(alone.values()) + sum(together.values()) / max(1, cores or os.cpu_count() or 1)


def reproduce(
    spark: Any,
    claims: Sequence[Claim],
    folder: Path,
    *,
    quick: bool,
    seed: int,
    job_size: int = 1,
    progress: Progress | None = None,
    tell: Callable[[Result], None] | None = None,
) -> Ledger:
    """Run claims and write what comes out into `folder`."""
    require_matplotlib()
    if not claims:
        raise ExperimentError("no claim to run")
    tasks = {claim.name: claim.experiment.tasks(quick=quick, seed=seed) for claim in claims}
    timed = frozenset(claim.experiment.maker for claim in claims if claim.timed)
    journal = Journal(folder / ".journal")
    outcomes = sweep(
        spark,
        [task for listed in tasks.values() for task in listed],
        journal,
        alone=timed,
        job_size=job_size,
        progress=progress,
    )
    results = []
    for claim in claims:
        mine = tasks[claim.name]
        found = [outcomes[task.key("")] for task in mine]
        table = table_of(mine, [rows for rows, _ in found])
        seconds = sum(spent for _, spent in found)
        result = write_result(folder, claim, table, seed=seed, quick=quick, seconds=seconds)
        results.append(result)
        if tell is not None:
            tell(result)
    fresh = {result.claim.name: result for result in results}
    kept = [fresh.get(claim.name) or read_result(folder, claim, quick=quick) for claim in all_claims()]
    # The page has what earlier runs left for the claims that this one did not run.
    shown = [result for result in kept if result is not None]
    (folder / "index.html").write_text(make_page(shown), encoding="utf-8")
    journal.clear()
    return Ledger(tuple(results))
