"""The constants: fitted to runs with up to 8 participants, they predict the octets of 16 within ten percent."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from benchmarks.plan import PROTOCOLS, _simulate, expected, fitted, predictions

from rookery.discovery.planning.constants import constants_of

CASES = Path(__file__).parents[2] / "cases" / "discovery"
#: The summaries of `tree` and `bloom` have another size than when scenes were last played live: they are simulated.
LIVE = ("simple", "cuckoo", "ribbon", "hashes")
KEPT = [(CASES / f"{kind}.json", name) for kind, names in (("live", LIVE), ("simulated", PROTOCOLS)) for name in names]
SCENES = [pytest.param(path, name, id=f"{name}-{path.stem}") for path, name in KEPT]


def load(path: Path) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads(path.read_text())
    return runs


@pytest.mark.parametrize(("path", "protocol"), SCENES)
def test_sixteen_participants_are_predicted(path: Path, protocol: str) -> None:
    scenes = predictions(load(path), protocol)
    assert {shape for shape, _ in scenes} == {"ring", "disjoint", "dense"}
    for scene, row in scenes.items():
        assert row["runs"] == 5
        assert row["predicted_bytes"] == pytest.approx(row["bytes"], rel=0.10), (protocol, scene)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_constants_are_those_of_the_kept_runs(protocol: str) -> None:
    octets, datagrams = fitted(load(CASES / "live.json"), protocol)
    assert constants_of(protocol).octets.row() == pytest.approx(octets.row(), abs=1e-3)
    assert constants_of(protocol).datagrams.row() == pytest.approx(datagrams.row(), abs=1e-3)


@pytest.mark.parametrize(("path", "protocol"), SCENES)
def test_the_constants_hold_live_and_simulated(path: Path, protocol: str) -> None:
    constants = constants_of(protocol).octets.row()
    for scene in ("ring", "disjoint", "dense"):
        runs = [
            run
            for run in load(path)
            if (run["protocol"], run["shape"], run["participants"], run["endpoints"]) == (protocol, scene, 16, 10)
        ]
        octets = sum(often * once for often, once in zip(constants, expected(runs[0])[0].row(), strict=True))
        assert octets == pytest.approx(median(run["bytes"] for run in runs), rel=0.10), (protocol, scene)


def test_the_kept_runs_are_what_participants_do_today() -> None:
    """One seed gives one run: a change of the protocol shows here, and the runs are to be made again."""
    kept = {
        (run["protocol"], run["shape"], run["participants"], run["endpoints"], run["seed"]): run
        for run in load(CASES / "simulated.json")
    }
    for scene in (
        ("ribbon", "ring", 8, 10, 0),
        ("simple", "dense", 4, 10, 1),
        ("cuckoo", "disjoint", 8, 10, 0),
        ("tree", "disjoint", 8, 10, 0),
        ("bloom", "ring", 4, 10, 1),
    ):
        again = _simulate(*scene)
        assert again["bytes"] == pytest.approx(kept[scene]["bytes"], rel=0.10), scene
