"""Round trips between brokers as one of them has measured them, and how much longer ways over brokers are.

Rule 1. A neighbor's round trip is in its heartbeats: the stamp that it grants (`leases.py`) and for how long it has had
it. Who is no neighbor is asked for an answer (`AskRoundTrip`). Each time is by one's own clock alone, and the least of
the last few holds: what is above that was waiting.
Rule 2. Now and then a broker asks at random points who owns them. The question takes the way of an event, the answer
comes straight back: less half a round trip to its owner, the time between is that of the way. The sum of such times
over the sum of half the round trips is the *stretch*, as this broker sees it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

from rookery.brokers.configuration import BrokerProximity
from rookery.brokers.distance_messages import AskRoundTrip, MeasurePeers, PeersMeasured, RoundTripAnswer
from rookery.brokers.messages import FindOwner, OwnerFound

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["RoundTrips"]

#: Measurements of one broker, of which the least holds.
LAST = 5
#: Ways that the stretch is of.
WAYS = 256
#: Brokers whose round trips are measured because another one asks.
MOST_ASKED = 64
#: Beats for which those are measured, and after which they are told.
ROUNDS, TOLD_AFTER = 3, 4


class RoundTrips:
    """What one broker has measured."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        configuration = broker.configuration
        self.is_on = configuration.proximity is not BrokerProximity.NONE or bool(configuration.stretch_probes)
        self._times: dict[int, deque[int]] = {}
        #: Pings that are not answered.
        self._asked: dict[int, int] = {}
        #: Ways over brokers by their owner, until the round trip to it is known; and those that are: way, half of that.
        self._waiting: dict[int, list[int]] = {}
        self._ways: deque[tuple[float, float]] = deque(maxlen=WAYS)
        #: Who wants to know of which brokers, under which number, and the beats since.
        self._wanted: dict[int, tuple[MeasurePeers, int]] = {}

    # ---- what is known -------------------------------------------------------------------------------------------

    def of(self, peer: int) -> int | None:
        """Return the round trip to a broker in microseconds, if it is known."""
        times = self._times.get(peer)
        return min(times) if times else None

    @property
    def peers(self) -> Set[int]:
        """The brokers whose round trips are known."""
        return self._times.keys()

    @property
    def stretch(self) -> float | None:
        """How much longer ways over brokers are than the direct ones; None before any was measured."""
        direct = sum(half for _, half in self._ways)
        return sum(way for way, _ in self._ways) / direct if direct else None

    # ---- measuring -----------------------------------------------------------------------------------------------

    def note(self, peer: int, microseconds: int) -> None:
        """Take a measurement in."""
        if not self.is_on or microseconds < 0 or peer == self._broker.id:
            return
        times = self._times.get(peer)
        if times is None:
            times = self._times[peer] = deque(maxlen=LAST)
        times.append(microseconds)
        for way in self._waiting.pop(peer, ()):
            half = min(times) / 2
            self._ways.append((max(way - half, half), half))

    def ping(self, peers: Iterable[int]) -> None:
        """Ask brokers for an answer, each once at a time."""
        broker = self._broker
        for peer in peers:
            if peer != broker.id and peer not in self._asked and peer not in broker.routing_table.unreachable:
                self._asked[peer] = broker.now
                broker.send(peer, AskRoundTrip(broker.now))

    def asked(self, ping: AskRoundTrip, sender: int) -> None:
        """Answer, and say where one resides."""
        ownerships = tuple(owned.current_ownership() for owned in self._broker.owned.values())
        self._broker.send(sender, RoundTripAnswer(ping.stamp, ownerships))

    def answered(self, pong: RoundTripAnswer, sender: int) -> None:
        """A broker has answered."""
        broker = self._broker
        if self._asked.get(sender) != pong.stamp:
            return
        del self._asked[sender]
        self.note(sender, broker.now - pong.stamp)
        claimed = [ownership for ownership in pong.ownerships if ownership.owner == sender]
        for owned in broker.owned.values():
            if len(claimed) == 1:  # who has two zones resides in both
                owned.queue.moved(claimed[0])
            for ownership in claimed:
                owned.queue.learn(ownership, first=False)

    def found(self, found: OwnerFound) -> None:
        """A question that was sent over brokers has been answered by the owner of its point."""
        owner, way = found.ownership.owner, self._broker.now - found.stamp
        if found.stamp and self.is_on and way >= 0 and owner != self._broker.id:
            self._waiting.setdefault(owner, []).append(way)
            self.ping((owner,))

    def look_around(self, count: int) -> None:
        """Ask at so many random points who owns them."""
        broker = self._broker
        dimensions = broker.configuration.space.dimensions
        for _ in range(count):
            point = tuple(broker.random.random() for _ in range(dimensions))
            if broker.owned_at(point) is None:
                broker.dispatch_body(point, FindOwner(broker.id, broker.now))

    # ---- measuring for others ------------------------------------------------------------------------------------

    def wanted(self, message: MeasurePeers, sender: int) -> None:
        """Another broker wants to know of round trips."""
        if self.is_on and len(message.peers) <= MOST_ASKED:
            self._wanted[sender] = (message, 0)
            self.ping(message.peers)

    def beat(self) -> None:
        """Measure on, and tell what was measured for others."""
        broker = self._broker
        patience = broker.now - broker.configuration.silence * broker.configuration.beat
        for peer in [peer for peer, asked in self._asked.items() if asked < patience]:
            del self._asked[peer]
            self._waiting.pop(peer, None)
        for asker, (message, beats) in list(self._wanted.items()):
            if beats < ROUNDS:
                self.ping(message.peers)
            if beats < TOLD_AFTER:
                self._wanted[asker] = (message, beats + 1)
                continue
            del self._wanted[asker]
            times = tuple((peer, time) for peer in message.peers if (time := self.of(peer)) is not None)
            broker.send(asker, PeersMeasured(message.number, times))

    def prune(self, kept: Set[int]) -> None:
        """Forget whom one has nothing to do with any more."""
        for peer in self._times.keys() - kept:
            del self._times[peer]
