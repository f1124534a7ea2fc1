"""The matrices of round-trip times: two generated ones, of which coordinates fit one, and two real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rookery
from rookery.brokers.coordinates import choose_landmarks, place_host, place_landmarks, relative_errors
from rookery.papers.seed_003.latencies import MATRICES, data_folder, latency_matrix


def median_error(times: np.ndarray, dimensions: int = 2) -> float:
    chosen = choose_landmarks(times, 15)
    landmarks = place_landmarks(times[np.ix_(chosen, chosen)], dimensions, np.random.default_rng(1), starts=1)
    positions = np.array([place_host(landmarks, times[host, chosen]) for host in range(len(times))])
    return float(np.median(relative_errors(positions, times)))


@pytest.mark.parametrize("name", ["made", "drawn"])
def test_a_generated_matrix_is_one_of_times(name: str) -> None:
    times = latency_matrix(name, 40)
    assert times is not None
    assert times.shape == (40, 40)
    assert np.array_equal(times, times.T)
    assert (np.diag(times) == 0).all()
    assert (times[~np.eye(40, dtype=bool)] > 0).all()
    again = latency_matrix.__wrapped__(name, 40)
    assert np.array_equal(times, again)


def test_coordinates_fit_the_one_and_not_the_other() -> None:
    made, drawn = latency_matrix("made", 32), latency_matrix("drawn", 32)
    assert made is not None
    assert drawn is not None
    assert median_error(made) < 0.2
    assert median_error(drawn) > 0.5


def test_a_real_matrix_that_is_not_at_hand_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("ROOKERY_DATA", str(tmp_path))
    assert [latency_matrix.__wrapped__(name, 10) is None for name in MATRICES] == [True, True, False, False]


def test_real_matrices_are_looked_for_beside_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOKERY_DATA", raising=False)
    source = Path(rookery.__file__).parents[1]
    assert data_folder() == source.parents[1] / "shared" / "data"


@pytest.mark.real
@pytest.mark.parametrize(("name", "hosts"), [("planetlab", 490), ("cities", 235)])
def test_a_real_matrix_is_whole(name: str, hosts: int) -> None:
    times = latency_matrix(name, 490)
    if times is None:
        pytest.skip(f"the matrix of {name} is not in the folder that ROOKERY_DATA names")
    assert times.shape == (hosts, hosts)
    assert np.array_equal(times, times.T)
    assert (times[~np.eye(hosts, dtype=bool)] >= 0.1).all()
    assert median_error(times[:32, :32]) < 0.35
