"""The list of claims is complete: each has an experiment, each experiment a claim, and the committed results agree."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from rookery.errors import SettingsError
from rookery.papers import claims as module
from rookery.papers.claims import chosen, claims
from rookery.papers.page import SEEDS

ROOT = Path(__file__).parents[2]
PACKAGE = Path(module.__file__).parent
NAMES = [claim.name for claim in claims()]
RESULTS = ROOT / "results"


def test_every_claim_has_an_experiment_and_every_experiment_a_claim() -> None:
    entered = {
        f"{seed}/{name}" for seed in SEEDS for name in import_module(f"rookery.papers.{seed.replace('-', '_')}").CLAIMS
    }
    assert entered - set(NAMES) == set(), "experiments without a claim in claims.toml"
    assert set(NAMES) - entered == set(), "claims in claims.toml without an experiment"
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("claim", claims(), ids=NAMES)
def test_an_experiment_has_its_parts(claim: module.Claim) -> None:
    experiment = claim.experiment
    for quick in (True, False):
        sweep = experiment.sweep(quick=quick)
        assert sweep.configurations
        assert sweep.runs >= 1
        assert len({json.dumps(dict(one)) for one in sweep.configurations}) == len(sweep.configurations)
    assert bool(experiment.times) <= claim.timed, "a table with times makes a claim that rests on one"


def test_no_file_of_claims_is_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > 600} == {}


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
        chosen([f"seed-000/theorem-{half}"])[0].experiment.tasks(quick=True, seed=4)
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
    assert manifest["runs"] == claim.experiment.sweep(quick=False).runs
    for file in ("data.csv", "data.parquet", "figure.svg", "figure.png"):
        assert (folder / file).stat().st_size < 300_000
