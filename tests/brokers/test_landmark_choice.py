"""Who chooses landmarks, among whom, and what is done with times that are missing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rookery.brokers.configuration import BrokerProximity
from rookery.brokers.coordinates import relative_errors
from rookery.brokers.distance_messages import LandmarkMap, MeasurePeers, PeersMeasured
from rookery.brokers.landmark_choice import CHOSEN, FEWEST_BROKERS, MEASURE, SEARCH, fit_landmarks
from rookery.machine import Compute, ComputeFailed, Emit
from rookery.space.zones import ROOT, split

from .alone import alone, sent
from .invariants import SECOND

PLACES = np.random.default_rng(5).random((20, 2)) * 100
TIMES = np.linalg.norm(PLACES[:, None] - PLACES[None, :], axis=2)


def test_landmarks_lie_as_far_from_each_other_as_was_measured() -> None:
    chosen, positions, extent = fit_landmarks(TIMES, 2, 7)
    assert len(chosen) == len(positions) == CHOSEN
    assert relative_errors(np.array(positions), TIMES[np.ix_(chosen, chosen)]).max() < 0.05
    assert all(low < high for low, high in zip(*extent, strict=True))


def test_the_owner_of_the_lowest_corner_chooses() -> None:
    broker = alone(proximity=BrokerProximity.COORDINATES)
    assert broker.landmarks.choice.is_chooser
    low, high = split(ROOT, 0, 0.5)
    broker.owned = {high: broker.owned[ROOT]}
    assert not broker.landmarks.choice.is_chooser
    broker.owned = {low: broker.owned[high], high: broker.owned[high]}
    assert broker.landmarks.choice.is_chooser


def chosen(lacking: set[frozenset[int]], answering: int = 12) -> LandmarkMap | None:
    """Let brokers 2 to 12 tell what they have measured, but for some pairs; return the landmarks of broker 1."""
    broker = alone(proximity=BrokerProximity.COORDINATES)
    broker.now = SECOND
    for peer in range(2, 13):
        broker.round_trips.note(peer, round(1000 * TIMES[0, peer - 1]))
    choice = broker.landmarks.choice
    for _ in range(SEARCH + 1):
        choice.beat()
    broker._settle()
    asked = {to: message for to, message in sent(broker.effects()) if isinstance(message, MeasurePeers)}
    assert set(asked) == set(range(2, 13))
    for peer, message in asked.items():
        assert set(message.peers) == set(range(1, 13)) - {peer}
    numbers = {message.number for message in asked.values()}
    assert len(numbers) == 1
    for one in range(1, answering + 1):
        times = tuple(
            (other, round(1000 * TIMES[one - 1, other - 1]))
            for other in range(1, 13)
            if other != one and frozenset((one, other)) not in lacking
        )
        choice.told(PeersMeasured(min(numbers), times), one)
    choice.told(PeersMeasured(min(numbers) + 1, ()), 2)
    choice.told(PeersMeasured(min(numbers), ()), 99)
    for _ in range(MEASURE):
        choice.beat()
    fits = [effect for effect in broker.effects() if isinstance(effect, Compute)]
    for fit in fits:
        broker.completed(fit, fit.task(), broker.now)
    return broker.landmarks.map


def test_candidates_measure_each_other_and_are_placed() -> None:
    known = chosen(set())
    assert known is not None
    assert set(known.owners) <= set(range(1, 13))
    for one, other in pairwise(range(len(known.owners))):
        wanted = TIMES[known.owners[one] - 1, known.owners[other] - 1]
        assert abs(np.linalg.norm(np.subtract(known.positions[one], known.positions[other])) - wanted) < 1.0


def test_who_lacks_times_is_no_landmark() -> None:
    known = chosen({frozenset((5, other)) for other in range(1, 13)} | {frozenset((7, 9))})
    assert known is not None
    assert 5 not in known.owners
    assert not {7, 9} <= set(known.owners)


def test_too_few_that_answer_are_no_landmarks() -> None:
    assert chosen(set(), answering=FEWEST_BROKERS - 1) is None
    assert chosen(set(), answering=FEWEST_BROKERS) is not None


def test_a_fit_that_fails_is_told() -> None:
    broker = alone(proximity=BrokerProximity.COORDINATES)
    fit = Compute(lambda: None)
    broker.landmarks.choice._fitting = fit, (1, 2)
    broker.completed(fit, ComputeFailed("no SciPy"), broker.now)
    assert [effect.event.reason for effect in broker.effects() if isinstance(effect, Emit)] == ["no SciPy"]
    assert broker.landmarks.map is None
