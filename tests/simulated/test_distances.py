"""A matrix of round-trip times between simulated brokers: what links take, and how long ways are."""

from __future__ import annotations

import numpy as np
import pytest
from tests.brokers.invariants import SECOND, configuration

from rookery.brokers.configuration import BrokerProximity
from rookery.simulated.distances import brokers_at_hosts, stretch_of

HOSTS = np.array([[0.0, 10.0, 80.0], [10.0, 0.0, 90.0], [80.0, 90.0, 0.0]])


def test_brokers_measure_what_the_matrix_says() -> None:
    network = brokers_at_hosts(configuration(proximity=BrokerProximity.MEASURED, beat=SECOND), HOSTS, seed=1)
    for _ in range(3):
        network.join()
        network.run(10 * SECOND)
    measured = {
        (one, other): broker.round_trips.of(other)
        for one, broker in network.brokers.items()
        for other in broker.round_trips.peers
    }
    assert measured == {
        (one, other): round(1_000 * HOSTS[one - 1, other - 1])
        for one in (1, 2, 3)
        for other in (1, 2, 3)
        if (one, other) in measured
    }
    assert len(measured) >= 4, "a broker in the middle has both others beside it"


def test_direct_ways_have_no_stretch() -> None:
    network = brokers_at_hosts(configuration(), HOSTS, seed=1)
    for _ in range(2):
        network.join()
        network.run(10 * SECOND)
    assert stretch_of(network, HOSTS, pairs=50, seed=1) == pytest.approx(1.0)
