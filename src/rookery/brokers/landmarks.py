"""Coordinates of one broker on the network: from its round trips to landmarks that all go by (GNP, seed 003, 3.1).

Rule 1. Who owns the lowest corner of the space chooses the landmarks (`landmark_choice.py`). Brokers pass them on to
their neighbors at once, and a heartbeat says which ones its sender knows: who has older ones is given the later.
Rule 2. A landmark has the coordinates that it was given. Every other broker measures its round trips to the landmarks
for some beats and places itself among them, in a `Compute`: neither heartbeats nor events wait for a fit. It looks
again at each refresh of its residents, and moves only where that makes a difference: to move is to be noted anew.
Rule 3. Coordinates go wherever an ownership goes, in heartbeats and all other messages, so everybody knows those of his
neighbors and residents, and how far these are (`round_trips.py`). The median of the relative errors of the one against
the other is how well coordinates predict here. Where they do not, measured round trips decide alone (`proximity.py`).

Where SciPy is not there nothing is fitted: the broker has no coordinates, and says why (`CoordinatesMissing`).
"""

from __future__ import annotations

from functools import partial
from math import dist
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.brokers.configuration import BrokerProximity
from rookery.brokers.coordinates import SHORTEST, place_host
from rookery.brokers.distance_messages import LandmarkMap
from rookery.brokers.events import CoordinatesMissing
from rookery.brokers.landmark_choice import LandmarkChoice
from rookery.machine import Compute, ComputeFailed
from rookery.space.zones import Point

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Landmarks"]

Array = np.ndarray[Any, Any]

MILLISECOND = 1_000
#: Beats for which landmarks are measured before the first fit.
ROUNDS = 4
#: Coordinates that predict worse than so are not gone by: a median relative error.
BAD = 0.5
#: A broker moves where that takes it so far, relative to the box of the landmarks.
FAR = 0.02
#: Peers with coordinates that were measured, fewer say nothing of how good coordinates are.
FEWEST = 3


class Landmarks:
    """The landmarks as one broker knows them, and its own place among them."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.map: LandmarkMap | None = None
        #: The median relative error of what coordinates predict, against what was measured.
        self.error: float | None = None
        #: Beats until the own coordinates are fitted; None where that is not due.
        self._left: int | None = None
        #: What a fit that is under way is of: the number of the landmarks.
        self._fitting: tuple[Compute, int] | None = None
        self.choice = LandmarkChoice(broker, self)
        self._is_told = False

    @property
    def is_on(self) -> bool:
        """Whether brokers are to have coordinates."""
        return self._broker.configuration.proximity is BrokerProximity.COORDINATES

    @property
    def number(self) -> int:
        """That of the landmarks that are known, negative for who wants none."""
        if not self._broker.round_trips.is_on:
            return -1
        return 0 if self.map is None else self.map.number

    @property
    def extent(self) -> tuple[Point, Point] | None:
        """The box of coordinates that is scaled into zones; None where the broker has no coordinates."""
        if not self._broker.position:
            return None
        return self._broker.configuration.extent if self.map is None else self.map.extent

    @property
    def is_trusted(self) -> bool:
        """Whether coordinates predict well enough to go by them."""
        if not self.is_on:
            return bool(self._broker.position)
        return bool(self._broker.position) and (self.error is None or self.error <= BAD)

    # ---- the landmarks -------------------------------------------------------------------------------------------

    def heard(self, number: int, sender: int) -> None:
        """A broker has said which landmarks it knows: give it the later ones."""
        if self.map is not None and 0 <= number < self.map.number:
            self._broker.send(sender, self.map)

    def adopt(self, landmarks: LandmarkMap, sender: int) -> None:
        """Go by landmarks that are later than those before, and pass them on."""
        broker = self._broker
        if not broker.round_trips.is_on or landmarks.number <= self.number:
            return
        self.map = landmarks
        peers = {ownership.owner for owned in broker.owned.values() for ownership in owned.neighbors}
        for peer in sorted(peers - {broker.id, sender}):
            broker.send(peer, landmarks)
        if broker.id in landmarks.owners:
            self._left = None
            broker.move(landmarks.positions[landmarks.owners.index(broker.id)])
        else:
            self._left = ROUNDS

    # ---- the own place -------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """See how well coordinates predict, and whether the own ones have changed."""
        self.error = self._error()
        if self.map is not None and self._broker.id not in self.map.owners and self._left is None:
            self._left = 1

    def beat(self) -> None:
        """Measure landmarks, and fit the own coordinates when that was done often enough."""
        if not self.is_on:
            return
        self.choice.beat()
        if self.map is None or self._left is None:
            return
        if self._left:
            self._left -= 1
            self._broker.round_trips.ping(self.map.owners)
            return
        self._left = None
        self._fit(self.map)

    def _fit(self, landmarks: LandmarkMap) -> None:
        broker = self._broker
        times = {owner: broker.round_trips.of(owner) for owner in landmarks.owners}
        known = [number for number, owner in enumerate(landmarks.owners) if times[owner] is not None]
        if len(known) <= broker.configuration.space.dimensions or self._fitting is not None:
            self._left = ROUNDS
            return
        places = np.array([landmarks.positions[number] for number in known])
        wanted = np.array([(times[landmarks.owners[number]] or 0) / MILLISECOND for number in known])
        effect = Compute(partial(place_host, places, wanted))
        self._fitting = effect, landmarks.number
        broker.effect(effect)

    def completed(self, effect: Compute, result: Any) -> None:
        """A fit is done, of landmarks or of the own place among them."""
        if self._fitting is None or effect is not self._fitting[0]:
            self.choice.completed(effect, result)
            return
        (_, number), self._fitting = self._fitting, None
        if isinstance(result, ComputeFailed):
            self.failed(result)
            return
        position: Point = tuple(map(float, result))
        if number != self.number or self.map is None:
            self._left = 0  # others were chosen meanwhile
            return
        before, extent = self._broker.position, self.map.extent
        if len(before) != len(position) or dist(before, position) > FAR * dist(*extent):
            self._broker.move(position)

    def failed(self, why: ComputeFailed) -> None:
        """Say once why there are no coordinates."""
        if not self._is_told:
            self._is_told = True
            self._broker.emit(CoordinatesMissing(why.reason))

    # ---- how good they are ---------------------------------------------------------------------------------------

    def predicted(self, position: Point) -> float | None:
        """Return the round trip to a place as coordinates predict it, in microseconds; None where there are none."""
        mine = self._broker.position
        return MILLISECOND * dist(mine, position) if mine and len(mine) == len(position) else None

    def _error(self) -> float | None:
        broker = self._broker
        places = {} if self.map is None else dict(zip(self.map.owners, self.map.positions, strict=True))
        for owned in broker.owned.values():
            places |= {one.owner: one.position for one in (*owned.queue, *owned.neighbors) if one.position}
        errors = []
        for owner, position in places.items():
            measured, predicted = broker.round_trips.of(owner), self.predicted(position)
            if measured is not None and predicted is not None and owner != broker.id:
                least, most = sorted((max(measured, SHORTEST * MILLISECOND), max(predicted, SHORTEST * MILLISECOND)))
                errors.append(most / least - 1)
        return median(errors) if len(errors) >= FEWEST else None
