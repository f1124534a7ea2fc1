"""The list of claims is complete: each has an experiment, each experiment a claim, and the committed results agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rookery.errors import SettingsError
from rookery.papers import claims as module
from rookery.papers.claims import Experiment, chosen, claims
from rookery.papers.page import SEEDS

ROOT = Path(__file__).parents[2]
PACKAGE = Path(module.__file__).parent
FOLDERS = ("seed_000", "seed_001", "seed_002", "seed_003", "seed_004", "beyond")
NAMES = [claim.name for claim in claims()]
RESULTS = ROOT / "results"


def test_every_claim_has_an_experiment_and_every_experiment_a_claim() -> None:
    files = {
        f"{folder.replace('_', '-')}/{path.stem.replace('_', '-')}"
        for folder in FOLDERS
        for path in (PACKAGE / folder).glob("*.py")
        if path.stem != "__init__"
    }
    assert files - set(NAMES) == set(), "experiments without a claim in claims.toml"
    assert set(NAMES) - files == set(), "claims in claims.toml without an experiment"
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("claim", claims(), ids=NAMES)
def test_an_experiment_has_its_parts_and_is_short(claim: module.Claim) -> None:
    experiment = Experiment.of(claim)
    for quick in (True, False):
        sweep = experiment.sweep(quick=quick)
        assert sweep.configurations
        assert sweep.runs >= 1
        assert len({json.dumps(dict(one)) for one in sweep.configurations}) == len(sweep.configurations)
    for part in ("run", "plot", "check"):
        assert callable(getattr(experiment.module, part))
    source = Path(str(experiment.module.__file__)).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 100
    assert claim.seed in SEEDS
    assert bool(experiment.times) <= claim.timed, "a table with times makes a claim that rests on one"


def test_every_seed_has_claims() -> None:
    assert {claim.seed for claim in claims()} == set(SEEDS)


def test_claims_are_chosen_by_name_and_by_seed() -> None:
    assert [claim.name for claim in chosen(["seed-000/deletion"])] == ["seed-000/deletion"]
    assert {claim.seed for claim in chosen(["seed-003", "beyond"])} == {"seed-003", "beyond"}
    assert chosen([]) == claims()
    with pytest.raises(SettingsError, match=re.escape("did you mean 'seed-000/deletion'?")):
        chosen(["seed-000/deletoin"])
    with pytest.raises(SettingsError, match="--list"):
        chosen(["zzz"])


def test_claims_that_share_a_run_share_its_tasks() -> None:
    union, intersection = (
        Experiment.of(chosen([f"seed-000/theorem-{half}"])[0]).tasks(quick=True, seed=4)
        for half in ("union", "intersection")
    )
    assert union == intersection
    assert {task.seed for task in union} == {4, 5}


@pytest.mark.skipif(not RESULTS.is_dir(), reason="no results/ here: an installed package has none")
@pytest.mark.parametrize("claim", claims(), ids=NAMES)
def test_the_committed_results_are_those_of_the_list(claim: module.Claim) -> None:
    folder = RESULTS / claim.name
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert verdict["says"] == claim.says
    assert claim.timed or verdict["verdict"] == str(claim.verdict)
    assert not manifest["quick"]
    assert manifest["runs"] == Experiment.of(claim).sweep(quick=False).runs
    for file in ("data.csv", "data.parquet", "figure.svg", "figure.png"):
        assert (folder / file).stat().st_size < 300_000
