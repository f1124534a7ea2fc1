"""Network coordinates predict round-trip times, and residents chosen by them shorten routes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.brokers.invariants import SECOND, SETTLED, network, owned_zones

from rookery.brokers.coordinates import (
    choose_landmarks,
    extent_of,
    place_host,
    place_landmarks,
    relative_errors,
)
from rookery.brokers.proximity import scale
from rookery.errors import SpaceError
from rookery.papers.seed_003.latencies import latency_matrix
from rookery.papers.seed_003.static import StaticBrokers
from rookery.papers.seed_003.stretch import stretch
from rookery.space.zones import ZoneBox, contains, inside


def on_a_plane(hosts: int, dimensions: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    at = np.random.default_rng(seed).random((hosts, dimensions)) * 100
    return at, np.linalg.norm(at[:, None] - at[None, :], axis=2)


def place_all(times: np.ndarray, dimensions: int, landmarks: int = 15) -> tuple[np.ndarray, np.ndarray]:
    chosen = choose_landmarks(times, landmarks)
    placed = place_landmarks(times[np.ix_(chosen, chosen)], dimensions, np.random.default_rng(1))
    return np.array([place_host(placed, times[host, chosen]) for host in range(len(times))]), placed


@pytest.mark.parametrize("dimensions", [2, 3])
def test_times_that_are_distances_are_predicted_exactly(dimensions: int) -> None:
    _, times = on_a_plane(40, dimensions)
    positions, _ = place_all(times, dimensions, landmarks=8)
    assert np.percentile(relative_errors(positions, times), 95) < 0.01


def test_a_fit_gives_the_same_bits_in_every_process() -> None:
    """MINPACK's `lm` did not: it ended in another minimum from the same start, one process in four."""
    fit = (
        "import sys, numpy as np\n"
        "from rookery.brokers.coordinates import place_landmarks\n"
        "pads = [bytearray(int(size)) for size in np.random.default_rng(int(sys.argv[1])).integers(1, 5000, 200)]\n"
        "times = np.random.default_rng(1).lognormal(4, 1, (15, 15))\n"
        "print(place_landmarks(times + times.T, 2, np.random.default_rng(1)).tobytes().hex())\n"
    )
    seen = {subprocess.run([sys.executable, "-c", fit, str(heap)], capture_output=True, check=True).stdout
            for heap in range(4)}  # fmt: skip
    assert len(seen) == 1


def test_landmarks_are_spread() -> None:
    at = np.concatenate([np.random.default_rng(2).normal(center, 1, (10, 2)) for center in (0, 100, 200)])
    times = np.linalg.norm(at[:, None] - at[None, :], axis=2)
    assert sorted(landmark // 10 for landmark in choose_landmarks(times, 3)) == [0, 1, 2]
    with pytest.raises(SpaceError):
        choose_landmarks(times, 31)


def test_scale_stays_inside_and_keeps_the_order() -> None:
    box = ZoneBox((0.25, 0.5), (0.5, 0.75))
    extent = ((-10.0, 0.0), (10.0, 5.0))
    points = [scale((x, y), box, extent) for x in (-99.0, -3.0, 4.0, 99.0) for y in (-1.0, 2.0, 5.0, 9.0)]
    assert all(contains(box, point) for point in points)
    assert sorted(points) == points
    assert scale((0.0, 2.5), box, extent) == (0.375, 0.625)


def test_brokers_find_close_residents() -> None:
    """Algorithms 2 and 3 over messages: the first resident of an entry is closer than residents are on average."""
    _, times = on_a_plane(60, 2, seed=3)
    positions, landmarks = place_all(times, 2)
    made = network(0, extent=extent_of(landmarks))
    for host in range(60):
        made.join(position=tuple(positions[host].tolist()))
        made.run(SECOND)
    made.run(SETTLED)
    chosen, average = [], []
    all_owned = owned_zones(made)
    for owned in all_owned.values():
        host = owned.ownership.owner - 1
        for entries in owned.levels[1:]:
            for zone, residents in entries.items():
                within = [other.ownership.owner - 1 for path, other in all_owned.items() if inside(path, zone)]
                if len(within) > 4:
                    chosen.append(times[host, residents[0].owner - 1])
                    average.append(times[host, within].mean())
    assert len(chosen) > 30
    assert np.mean(chosen) < 0.6 * np.mean(average)


@pytest.mark.real
def test_residents_chosen_by_coordinates_halve_the_stretch_on_planetlab() -> None:
    times = latency_matrix("planetlab", 490)
    if times is None:
        pytest.skip("the matrix of planetlab is not in the folder that ROOKERY_DATA names")
    positions, landmarks = place_all(times, 2)
    generator = np.random.default_rng(1)
    paths = StaticBrokers.grown(490, dimensions=2, generator=generator).paths()
    paths = [paths[number] for number in generator.permutation(490)]
    pairs = generator.integers(490, size=(1200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    found = {
        choice: stretch(
            choice,
            paths=paths,
            times=times,
            positions=positions,
            extent=extent_of(landmarks),
            bits=2,
            pairs=pairs,
            generator=generator,
        )
        for choice in ("inherited", "mgnp")
    }
    assert found["mgnp"] <= 2.0
    assert found["inherited"] > 1.8 * found["mgnp"]
