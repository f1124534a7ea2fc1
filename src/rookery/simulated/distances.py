"""Simulated brokers whose links take what a matrix of round-trip times says, and how much longer ways over them are.

Broker `n` is the host `n - 1` of the matrix, in milliseconds; more brokers than hosts share them in turn.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.spanhop import next_hop
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.links import LinkConditions
from rookery.space.zones import contains

__all__ = ["brokers_at_hosts", "stretch_of"]

Array = np.ndarray[Any, Any]
#: Half a millisecond in microseconds: one way of a round trip of one.
HALF = 500


def brokers_at_hosts(configuration: BrokerConfiguration, times: Array, *, seed: int) -> SimulatedBrokers:
    """Return a network without brokers whose links take half of the round trips."""
    ways = (times * HALF).astype(int).tolist()

    def latency(one: int, other: int) -> int:
        return int(ways[(one - 1) % len(ways)][(other - 1) % len(ways)])

    return SimulatedBrokers(configuration, seed=seed, conditions=LinkConditions(latency=latency))


def stretch_of(network: SimulatedBrokers, times: Array, *, pairs: int, seed: int) -> float:
    """Route events from random brokers to random points by the brokers' own tables; return routed over direct time."""
    random, brokers = Random(seed), network.brokers
    dimensions = network.configuration.space.dimensions
    zones = [(owned.box, number) for number, broker in brokers.items() for owned in broker.owned.values()]
    routed = direct = 0.0
    for _ in range(pairs):
        at = source = random.choice(sorted(brokers))
        point = tuple(random.random() for _ in range(dimensions))
        target = next(owner for box, owner in zones if contains(box, point))
        while (broker := brokers[at]).owned_at(point) is None:
            hop = next_hop(next(iter(broker.owned.values())), point, usable=broker.is_usable)
            assert hop is not None, "a broker knows no way"
            routed += _between(times, at, hop.owner)
            at = hop.owner
        direct += _between(times, source, target)
    return routed / direct


def _between(times: Array, one: int, other: int) -> float:
    return float(times[(one - 1) % len(times), (other - 1) % len(times)])
