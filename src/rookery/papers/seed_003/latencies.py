"""Matrices of round-trip times for the claims about network distance.

Two are real and not part of the package: PlanetLab's 490 hosts, and 235 cities. They are read from the folder that
`ROOKERY_DATA` names, or from `shared/data` beside a checkout; where they are not, experiments run on the other two
alone. Of these `made` suits coordinates: hosts in clusters on a plane, with a detour for each pair. `drawn` does not:
the time of every pair is drawn on its own, whatever the times of its hosts to others are, and no place fits a host.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MATRICES", "data_folder", "latency_matrix"]

Array = np.ndarray[Any, Any]
MATRICES = ["planetlab", "cities", "made", "drawn"]


def data_folder() -> Path:
    """Return the folder of the real data sets, whether it is there or not."""
    named = os.environ.get("ROOKERY_DATA")
    return Path(named) if named else Path(__file__).parents[5] / "shared" / "data"


@functools.lru_cache(maxsize=4)
def latency_matrix(name: str, hosts: int) -> Array | None:
    """Return round-trip times in ms between the first `hosts` hosts, or None where the matrix is not at hand."""
    if name in ("made", "drawn"):
        return _made(hosts) if name == "made" else _drawn(hosts)
    path = data_folder() / "latency" / ("planetlab490_t1.txt" if name == "planetlab" else "wonder_cities_rtt_ms.csv")
    if not path.is_file():
        return None
    if name == "planetlab":
        times = np.loadtxt(path)
    else:
        times = np.genfromtxt(path, delimiter=",", skip_header=1)[:, 1:]
    times = np.nan_to_num(times)
    times = np.maximum(times, times.T)[:hosts, :hosts]
    np.fill_diagonal(times, 0)
    return np.asarray(np.maximum(times, np.where(np.eye(len(times)), 0, 0.1)))


def _made(hosts: int) -> Array:
    dice = np.random.default_rng(hosts)
    centers = dice.random((8, 2)) * 200
    places = centers[dice.integers(8, size=hosts)] + dice.normal(0, 8, (hosts, 2))
    direct = np.linalg.norm(places[:, None] - places[None, :], axis=2)
    detour = dice.lognormal(0.1, 0.2, (hosts, hosts))
    times = (direct + 2) * np.maximum(detour, detour.T)
    np.fill_diagonal(times, 0)
    return np.asarray(times)


def _drawn(hosts: int) -> Array:
    times = np.triu(np.random.default_rng([hosts, 1]).lognormal(4, 0.6, (hosts, hosts)), 1)
    return np.asarray(times + times.T)
