"""Brokers find their coordinates by themselves, over links that take what a matrix says, and ways get shorter by it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rookery.brokers.configuration import BrokerProximity
from rookery.brokers.distance_messages import LandmarkMap
from rookery.brokers.events import CoordinatesMissing
from rookery.brokers.landmarks import BAD
from rookery.machine import Compute, ComputeFailed, Emit, Send
from rookery.papers.seed_003.latencies import latency_matrix
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.distances import brokers_at_hosts, stretch_of
from rookery.space.zones import Path, contains

from .invariants import SECOND, configuration, owned_zones, settled
from .turmoil import live_through

PAIRS = 1000


def grown(times: np.ndarray, proximity: BrokerProximity, *, seed: int = 1, **options: Any) -> SimulatedBrokers:
    """A broker at every host of a matrix, after a few refreshes."""
    given = configuration(proximity=proximity, stretch_probes=4, beat=SECOND, **options)
    made = brokers_at_hosts(given, times, seed=seed)
    for _ in range(len(times)):
        made.join()
        made.run(SECOND)
    made.run(90 * SECOND)
    return made


def stretches(times: np.ndarray) -> dict[BrokerProximity, tuple[float, SimulatedBrokers]]:
    found = {}
    for proximity in BrokerProximity:
        made = grown(times, proximity)
        found[proximity] = stretch_of(made, times, pairs=PAIRS, seed=1), made
    return found


def the_map(made: SimulatedBrokers) -> LandmarkMap:
    """Return the landmarks that all brokers know."""
    maps = {broker.landmarks.number: broker.landmarks.map for broker in made.brokers.values()}
    (only,) = maps.values()
    assert only is not None
    return only


def test_everybody_gets_coordinates_that_predict_and_ways_get_shorter() -> None:
    times = latency_matrix("made", 32)
    assert times is not None
    found = stretches(times)
    none, measured, placed = (found[one][0] for one in (BrokerProximity.NONE, BrokerProximity.MEASURED,
                                                       BrokerProximity.COORDINATES))  # fmt: skip
    assert placed < 0.75 * none
    assert measured < 0.85 * none
    made = found[BrokerProximity.COORDINATES][1]
    assert len(the_map(made).owners) >= 8
    for broker in made.brokers.values():
        assert len(broker.position) == 2
        assert broker.landmarks.error is not None
        assert broker.landmarks.is_trusted
        assert all(owned.ownership.position == broker.position for owned in broker.owned.values())
        known = [one for owned in broker.owned.values() for one in owned.neighbors]
        assert all(one.position == made.brokers[one.owner].position for one in known), "heartbeats say where one is"
    assert not any(broker.position for broker in found[BrokerProximity.MEASURED][1].brokers.values())
    own = [broker.round_trips.stretch for broker in made.brokers.values() if broker.round_trips.stretch is not None]
    assert np.mean(own) == pytest.approx(placed, rel=0.3), "what brokers see themselves is what the matrix says"


def test_where_coordinates_predict_badly_measured_times_decide() -> None:
    drawn = np.triu(np.random.default_rng(1).lognormal(4, 1, (32, 32)), 1)  # round trips of no space at all
    found = stretches(drawn + drawn.T)
    made = found[BrokerProximity.COORDINATES][1]
    errors = [broker.landmarks.error for broker in made.brokers.values() if broker.landmarks.error is not None]
    assert np.median(errors) > BAD
    assert found[BrokerProximity.COORDINATES][0] < 0.8 * found[BrokerProximity.NONE][0]


@pytest.mark.real
def test_planetlab_with_and_without_coordinates() -> None:
    times = latency_matrix("planetlab", 64)
    if times is None:
        pytest.skip("the matrix of PlanetLab is not at hand")
    found = stretches(times)
    assert found[BrokerProximity.COORDINATES][0] < 0.65 * found[BrokerProximity.NONE][0]
    assert found[BrokerProximity.COORDINATES][0] < found[BrokerProximity.MEASURED][0]


def noted_and_due(made: SimulatedBrokers) -> tuple[set[tuple[Path, int, int]], set[tuple[Path, int, int]]]:
    """Return the whole index, and what Algorithm 2 says it has: zone, resident, and at whose broker."""
    owners = owned_zones(made)
    noted = {
        (zone, resident, owned.ownership.owner)
        for owned in owners.values()
        for zone, entries in owned.index.items()
        for resident in entries
    }
    due = set()
    for path, owned in owners.items():
        for depth in range(owned.bits, len(path) + 1, owned.bits):
            point = made.brokers[owned.ownership.owner].proximity._own_point(path[:depth])
            (holder,) = (other.ownership.owner for other in owners.values() if contains(other.box, point))
            due.add((path[:depth], owned.ownership.owner, holder))
    return noted, due


def test_who_gets_other_coordinates_is_noted_where_these_fall_and_nowhere_else() -> None:
    """Nothing is ever renewed here: what is noted was noted, and struck off, by messages."""
    times = latency_matrix("made", 16)
    assert times is not None
    given = configuration(proximity=BrokerProximity.COORDINATES, beat=SECOND)
    settings = {name: getattr(given, name) for name in given.__slots__} | {"ancestors": 10_000_000 * SECOND}
    made = brokers_at_hosts(type(given)(**settings), times, seed=3)
    for _ in range(16):
        made.join()
        made.run(SECOND)
    made.run(120 * SECOND)
    noted, due = noted_and_due(made)
    assert noted == due
    assert noted
    broker = made.brokers[5]
    far = max(made.brokers.values(), key=lambda one: math.dist(one.position, broker.position))
    broker.move(far.position)
    made.perform(5)
    made.run(10 * SECOND)
    noted, moved = noted_and_due(made)
    assert noted == moved != due


def test_landmarks_that_died_are_chosen_anew_by_whoever_has_the_corner_now() -> None:
    times = latency_matrix("made", 24)
    assert times is not None
    made = grown(times, BrokerProximity.COORDINATES)
    before = the_map(made)
    chooser = next(number for number, broker in made.brokers.items() if broker.landmarks.choice.is_chooser)
    for number in sorted({chooser, *before.owners[:6]}):
        made.crash(number)
        made.run(60 * SECOND)
    assert settled(made)
    made.run(120 * SECOND)
    after = the_map(made)
    assert after.number > before.number
    assert sum(owner in made.brokers for owner in after.owners) > 0.75 * len(after.owners)
    made.join()
    made.run(60 * SECOND)
    assert the_map(made) == after, "a newcomer is told"
    assert all(broker.position for broker in made.brokers.values())


def test_a_few_brokers_need_no_coordinates() -> None:
    times = latency_matrix("made", 5)
    assert times is not None
    made = grown(times, BrokerProximity.COORDINATES)
    assert all(broker.landmarks.map is None for broker in made.brokers.values())
    assert all(not broker.counters["MeasurePeers"] for broker in made.brokers.values())


def test_without_scipy_a_broker_says_so_once_and_goes_by_measured_times() -> None:
    times = latency_matrix("made", 16)
    assert times is not None
    made = grown(times, BrokerProximity.COORDINATES)
    broker = next(one for one in made.brokers.values() if one.id not in the_map(made).owners)
    told = []
    for _ in range(2):
        broker.landmarks._left = 0
        broker.landmarks.beat()
        (fit,) = [effect for effect in broker.effects() if isinstance(effect, Compute)]
        broker.completed(fit, ComputeFailed("MissingExtraError: scipy"), made.world.time(broker.id))
        told += [effect.event for effect in broker.effects() if isinstance(effect, Emit)]
    assert told == [CoordinatesMissing("MissingExtraError: scipy")]
    broker.move(())
    assert not broker.landmarks.is_trusted


def test_maps_that_cannot_be_are_rejected_and_older_ones_are_not_taken() -> None:
    times = latency_matrix("made", 12)
    assert times is not None
    made = grown(times, BrokerProximity.COORDINATES)
    known, broker = the_map(made), made.brokers[4]
    extent = ((0.0, 0.0), (1.0, 1.0))
    for bad in (
        LandmarkMap(1 << 40, (1,), ((1.0,),), extent),
        LandmarkMap(1 << 40, (1, 2), ((1.0, 1.0),), extent),
        LandmarkMap(1 << 40, (1,), ((1.0, math.nan),), extent),
        LandmarkMap(1 << 40, (1,), ((1.0, 1.0),), ((0.0,), (1.0,))),
    ):
        before = broker.counters["rejected"]
        broker.receive(bad, 3, made.world.time(4))
        assert broker.counters["rejected"] == before + 1
    broker.receive(LandmarkMap(known.number - 1, (1,), ((1.0, 1.0),), extent), 3, made.world.time(4))
    assert broker.landmarks.map == known
    broker.effects()
    broker.landmarks.heard(known.number - 1, 3)
    assert broker.effects() == [Send(3, known)], "who knows older ones is given the later"
    broker.landmarks.heard(-1, 3)
    assert broker.effects() == [], "and who wants none gets none"


@pytest.mark.parametrize("seed", range(3))
def test_histories_with_coordinates_keep_what_was_promised(seed: int) -> None:
    """Joins, leaves, crashes and cuts while brokers find their places: invariants hold, nothing is lost or doubled."""
    history = live_through(seed, brokers=12, steps=20, apart=60 * SECOND, proximity=BrokerProximity.COORDINATES)
    assert sum(broker.counters["AskRoundTrip"] for broker in history.made.brokers.values())
    assert sum(broker.counters["MeasurePeers"] for broker in history.made.brokers.values())
