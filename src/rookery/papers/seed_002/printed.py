"""Seed 002 in `paper` mode: the same claims where tables, links, joining and entry are as printed.

Rows, check and figure are those of the claim of the same name; the sweeps are smaller: printed tables take long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rookery.papers.experiments import Experiment, Sweep, grid
from rookery.papers.seed_002 import identities, others, spreading

__all__ = ["CLAIMS"]

_SOUND = {**identities.CLAIMS, **spreading.CLAIMS, **others.CLAIMS}
_ALPHAS = {"mode": "paper", "alpha": [0, 1.0, 2.0, 3.0, 4.0]}
_PARETO = grid(mode="paper", alpha=[0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], peers=500, events=60, runs=10)
_BOUND: dict[str, Any] = {"cells": 900, "others": 12_000, "bits": 1024}
_WAYS: dict[str, Any] = {"both_ways": [True, False], "hash_count": [2, 4]}

CLAIMS: dict[str, Experiment] = {}


def _enter(*names: str, full: Sweep, quick: Sweep) -> None:
    """Enter claims that share rows, with sweeps of their own."""
    for name in names:
        CLAIMS[f"{name}-paper"] = replace(_SOUND[name], full=full, quick=quick)


_enter(
    "table-bound",
    full=grid(mode="paper", crowd=["market", "hub"], peers=1024, **_BOUND, runs=3),
    quick=grid(mode="paper", crowd=["market", "hub"], peers=256, **_BOUND),
)
_enter(
    "clusters",
    full=grid(mode="paper", members=[3, 8, 20], others=20, runs=3),
    quick=grid(mode="paper", members=[3, 8], others=10, runs=2),
)
_enter(
    "shared-interest",
    full=grid(mode="paper", peers=[64, 256], events=80, runs=3),
    quick=grid(mode="paper", peers=[64, 128], events=40),
)
_enter(
    "static-depth",
    "static-table",
    "only-interested",
    full=grid(mode="paper", peers=[64, 128, 256, 512, 1024], events=100, runs=3),
    quick=grid(mode="paper", peers=[64, 256, 512], events=150, runs=2),
)
_enter(
    "dynamic-table",
    "dynamic-depth",
    "hops-and-tables",
    "join-overhead",
    full=grid(mode="paper", peers=[64, 128, 256, 512], events=100, runs=2),
    quick=grid(mode="paper", peers=[64, 200], events=80),
)
_enter(
    "diameter",
    full=grid(mode="paper", peers=[64, 128, 256, 512, 1024], asked=20, runs=3),
    quick=grid(mode="paper", peers=[64, 256], asked=10),
)
_enter("pareto-false-positives", full=_PARETO, quick=grid(**_ALPHAS, peers=100, events=30, runs=12))
_enter("pareto-table", full=_PARETO, quick=grid(**_ALPHAS, peers=200, events=5, runs=3))
_enter(
    "false-negatives",
    full=grid(mode="paper", **_WAYS, peers=512, events=80, runs=3),
    quick=grid(mode="paper", **_WAYS, peers=256, events=60),
)
_enter(
    "resilience",
    full=grid(mode="paper", crashed=[0.1, 0.3], peers=60, events=60, runs=2),
    quick=grid(mode="paper", crashed=[0.1, 0.3], peers=40, events=60),
)
_enter(
    "messages-per-event",
    full=grid(mode="paper", system=others.SYSTEMS, peers=[64, 128], events=60),
    quick=grid(mode="paper", system=others.SYSTEMS, peers=64, events=40),
)
_enter(
    "equal-false-positives",
    full=grid(mode="paper", peers=512, events=200, runs=5),
    quick=grid(mode="paper", peers=512, events=80, runs=2),
)
_enter(
    "publish-more",
    "figure-6a",
    "figure-6b",
    full=grid(mode="paper", peers=[64, 256, 512], bits=1024, events=100),
    quick=grid(mode="paper", peers=[64, 400], bits=1024, events=40),
)
