"""Choosing the landmarks: the broker at the lowest corner of the space has candidates measure each other.

It asks at random points who owns them, so that the candidates are from everywhere, tells each to measure the round
trips to all others, and a `Compute` chooses the landmarks among them by k-medoids and places them (`coordinates.py`).
A zone has one owner, or two that do not know of each other for a while: then the greater number of two maps holds.

It chooses anew when it knows twice as many brokers as when it chose, until there are enough to choose from, and when a
quarter of the landmarks do not answer any more. A network of a few brokers has none: all of them are neighbors there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.brokers.coordinates import choose_landmarks, extent_of, place_landmarks
from rookery.brokers.distance_messages import LandmarkMap, MeasurePeers, PeersMeasured
from rookery.machine import Compute, ComputeFailed
from rookery.space.zones import Point

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker
    from rookery.brokers.landmarks import Landmarks

__all__ = ["FEWEST_BROKERS", "LandmarkChoice", "fit_landmarks"]

Array = np.ndarray[Any, Any]

#: Brokers that are asked to measure each other, if there are so many, and those that are chosen.
CANDIDATES, CHOSEN = 32, 15
#: Fewer brokers need no coordinates.
FEWEST_BROKERS = 8
#: Beats in which candidates are found, and in which they measure and answer.
SEARCH, MEASURE = 4, 8
#: Beats until it is tried again when too few have answered.
AGAIN = 15
#: A number of landmarks: how often they were chosen, then random bits.
RANDOM_BITS = 20
MILLISECOND = 1_000


class LandmarkChoice:
    """What the chooser does; at every other broker nothing."""

    def __init__(self, broker: Broker, landmarks: Landmarks) -> None:
        self._broker = broker
        self._landmarks = landmarks
        #: Beats since it began to choose; None while it does not.
        self._begun: int | None = None
        self._rest = 0
        #: How many brokers were known when it chose last.
        self._known = 0
        self._candidates: tuple[int, ...] = ()
        self._number = 0
        #: By candidate: what it has measured.
        self._rows: dict[int, dict[int, int]] = {}
        self._fitting: tuple[Compute, tuple[int, ...]] | None = None

    @property
    def is_chooser(self) -> bool:
        """Whether this broker owns the lowest corner of the space."""
        return any(all(cut.bit == 0 for cut in path) for path in self._broker.owned)

    @property
    def candidates(self) -> frozenset[int]:
        """Brokers whose round trips are wanted."""
        return frozenset(self._candidates)

    def beat(self) -> None:
        """Do the next step."""
        broker = self._broker
        self._rest = max(0, self._rest - 1)
        if not self.is_chooser or self._fitting is not None:
            self._begun = None
            return
        if self._begun is None:
            if not self._rest and self._is_due():
                self._begun = 0
                broker.round_trips.look_around(2 * CANDIDATES)
                broker.round_trips.ping(self._peers())
            return
        self._begun += 1
        if self._begun == SEARCH:
            peers = sorted(peer for peer in broker.round_trips.peers if broker.routing_table.alive(peer))
            while len(peers) >= CANDIDATES:
                del peers[int(broker.random.random() * len(peers))]
            if len(peers) + 1 < FEWEST_BROKERS:
                self._give_up()
                return
            self._known = len(peers) + 1
            self._candidates = (broker.id, *peers)
            self._rows = {}
            count = (self._landmarks.number >> RANDOM_BITS) + 1
            self._number = count << RANDOM_BITS | int(broker.random.random() * (1 << RANDOM_BITS))
            for peer in self._candidates:
                broker.send(peer, MeasurePeers(self._number, tuple(one for one in self._candidates if one != peer)))
        elif self._begun == SEARCH + MEASURE:
            self._fit()

    def _is_due(self) -> bool:
        known, count = self._landmarks.map, len(self._peers()) + 1
        if known is None:
            return count >= FEWEST_BROKERS
        gone = sum(not self._broker.routing_table.alive(owner) for owner in known.owners)
        before = self._known or 2 * len(known.owners)  # another broker chose them
        return (before < CANDIDATES and count >= 2 * before) or 4 * gone > len(known.owners)

    def _peers(self) -> list[int]:
        """Return the brokers that are known here and not known to be gone."""
        broker = self._broker
        known = {*broker.round_trips.peers, *broker.routing_table.known_peers}
        return sorted(peer for peer in known if broker.routing_table.alive(peer))

    def _give_up(self) -> None:
        self._begun, self._rest = None, AGAIN
        self._candidates = ()

    def told(self, message: PeersMeasured, sender: int) -> None:
        """A candidate has measured the others."""
        if message.number == self._number and sender in self._candidates:
            self._rows[sender] = dict(message.times)

    def _fit(self) -> None:
        """Fit those that have measured each other: who lacks most goes first, until nobody lacks anything."""
        rows, broker = self._rows, self._broker
        owners = sorted(rows)

        def lacks(owner: int) -> int:  # times of others that nobody knows
            return sum(_between(rows, owner, other) is None for other in owners if other != owner)

        while any(map(lacks, owners)):
            owners.remove(max(owners, key=lambda owner: (lacks(owner), owner)))
        self._give_up()
        if len(owners) < FEWEST_BROKERS:
            return
        times = np.zeros((len(owners), len(owners)))
        for one, owner in enumerate(owners):
            for other in range(one):
                times[one, other] = times[other, one] = (_between(rows, owner, owners[other]) or 0) / MILLISECOND
        seed, dimensions = int(broker.random.random() * (1 << 32)), broker.configuration.space.dimensions
        effect = Compute(partial(fit_landmarks, times, dimensions, seed))
        self._fitting = effect, tuple(owners)
        broker.effect(effect)

    def completed(self, effect: Compute, result: Any) -> None:
        """The landmarks are chosen and placed, or could not be."""
        if self._fitting is None or effect is not self._fitting[0]:
            return
        (_, owners), self._fitting = self._fitting, None
        if isinstance(result, ComputeFailed):
            self._landmarks.failed(result)
            return
        chosen, positions, extent = result
        made = LandmarkMap(self._number, tuple(owners[number] for number in chosen), positions, extent)
        self._landmarks.adopt(made, self._broker.id)


def fit_landmarks(times: Array, dimensions: int, seed: int) -> tuple[list[int], tuple[Point, ...], tuple[Point, Point]]:
    """Return who of some brokers are landmarks, where these are, and the box that is scaled into zones."""
    chosen = choose_landmarks(times, min(CHOSEN, len(times)))
    placed = place_landmarks(times[np.ix_(chosen, chosen)], dimensions, np.random.default_rng(seed))
    return chosen, tuple(tuple(place) for place in placed.tolist()), extent_of(placed)


def _between(rows: dict[int, dict[int, int]], one: int, other: int) -> int | None:
    """Return the lesser of the round trips that two have measured between them."""
    found = [time for time in (rows[one].get(other), rows[other].get(one)) if time is not None]
    return min(found, default=None)
