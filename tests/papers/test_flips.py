"""Every check can fail: the flip table (`flips/`, a module for each seed) against the checks of the claims.

Most rows are measured here, with quick parameters. Those of a claim that rests on a time, and of those that a module
names in `COMMITTED` because they take long, are the committed ones of the last full run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.papers.flips import Flip, beyond, seed_000, seed_001, seed_002, seed_003, seed_004

from rookery.papers.claims import chosen
from rookery.papers.experiments import Task, table_of
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Verdict

SEEDS = (seed_000, seed_001, seed_002, seed_003, seed_004, beyond)
FLIPS: dict[str, list[Flip]] = {name: flips for seed in SEEDS for name, flips in seed.FLIPS.items()}
BROKEN = [broken for seed in SEEDS for broken in seed.BROKEN]
COMMITTED = {name for seed in SEEDS for name in getattr(seed, "COMMITTED", ())}
#: A verdict that rests on a time is asked of no machine: another may decide otherwise.
UNTIMED = [name for name in FLIPS if not chosen([name])[0].timed]
RESULTS = Path(__file__).parents[2] / "results"
CLAIMS = Path(__file__).parents[2] / "docs" / "claims.md"


@functools.cache
def outcome(maker: str, parameters: tuple[tuple[str, Any], ...], seed: int) -> tuple[Row, ...]:
    return tuple(Task(maker, dict(parameters), seed).rows())


def rows_of(name: str, seed: int | None = None) -> list[Row]:
    """Run the quick parameters of a claim, what claims share once; without a seed, long ones are as committed."""
    experiment = chosen([name])[0].experiment
    if seed is None:
        if name in COMMITTED or chosen([name])[0].timed:
            parquet = pytest.importorskip("pyarrow.parquet", reason="committed rows are in Parquet")
            listed = parquet.read_table(RESULTS / name / "data.parquet").to_pylist()
            return [{key: value for key, value in row.items() if value is not None} for row in listed]
        seed = 1
    tasks: list[Task] = experiment.tasks(quick=True, seed=seed)
    found = [outcome(task.maker, tuple(task.parameters.items()), task.seed) for task in tasks]
    return list(table_of(tasks, found))


def judged(name: str, rows: Sequence[Row]) -> Verdict:
    return chosen([name])[0].experiment.check(Table(rows)).verdict


@pytest.mark.parametrize("name", UNTIMED)
def test_what_was_measured_gets_the_committed_verdict(name: str) -> None:
    assert judged(name, rows_of(name)) is chosen([name])[0].verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", UNTIMED)
def test_five_seeds_give_the_same_verdict(name: str) -> None:
    """Or in as many of the five as `docs/claims.md` says."""
    verdicts = [judged(name, rows_of(name, seed)) for seed in (1, 101, 201, 301, 401)]
    stated = chosen([name])[0].verdict
    assert sum(verdict is stated for verdict in verdicts) == shares().get(name, (stated.value, 5))[1]


def shares() -> dict[str, tuple[str, int]]:
    """Return the stated verdicts that not every seed gives, and how many of five do, as the page says."""
    page = CLAIMS.read_text(encoding="utf-8").partition("### Verdicts that hang on the seed")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| s")
    ]
    return {name: (verdict, int(share)) for name, verdict, share, _ in rows}


def test_the_page_names_claims_with_their_verdicts() -> None:
    listed = shares()
    assert set(listed) <= set(UNTIMED)
    assert {name: verdict for name, (verdict, _) in listed.items()} == {
        name: chosen([name])[0].verdict.value for name in listed
    }
    assert all(3 <= share <= 4 for _, share in listed.values())


@pytest.mark.parametrize(
    ("name", "flip"), [pytest.param(name, flip, id=f"{name}: {flip.label}") for name in FLIPS for flip in FLIPS[name]]
)
def test_rows_that_contradict_a_claim_flip_its_verdict(name: str, flip: Flip) -> None:
    assert flip.verdict is not chosen([name])[0].verdict
    assert judged(name, [{**row, **flip.change(row)} for row in rows_of(name)]) is flip.verdict


@pytest.mark.parametrize(
    ("name", "change"), [pytest.param(name, change, id=f"{name}: {label}") for name, label, change in BROKEN]
)
def test_a_broken_product_flips_the_verdict(
    name: str, change: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch)
    experiment = chosen([name])[0].experiment
    tasks = experiment.tasks(quick=True, seed=1)
    found = table_of(tasks, [task.rows() for task in tasks])
    assert experiment.check(found).verdict is not chosen([name])[0].verdict


def test_every_claim_of_these_seeds_is_in_the_table() -> None:
    seeds = {name.partition("/")[0] for name in FLIPS}
    assert {claim.name for claim in chosen([]) if claim.seed in seeds} == set(FLIPS)
