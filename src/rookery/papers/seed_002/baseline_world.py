"""The overlay's baselines in a world: no joins, no failures, only events and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from rookery.overlay.dissemination import Deliver
from rookery.overlay.messages import EventId
from rookery.papers.seed_002.baselines import BaselinePeer
from rookery.simulated.links import LinkConditions
from rookery.simulated.world import World

__all__ = ["SimulatedBaseline"]


class SimulatedBaseline:
    """Peers of one baseline; peer number i stands at place i of the sequence."""

    def __init__(self, peers: Sequence[BaselinePeer], *, delay: int = 10_000) -> None:
        self.peers = peers
        self.world = World(seed=0, conditions=LinkConditions(latency=delay, datagrams=True))
        self.deliveries: dict[EventId, dict[int, int]] = {}
        self.counters: Counter[str] = Counter()
        for peer in peers:
            peer.counters = self.counters
            self.world.start(peer.node, peer, partial(self._delivered, peer.node))

    @property
    def messages(self) -> int:
        """Messages sent."""
        return self.world.messages

    def publish(self, node: int, payload: Any) -> EventId:
        """Let a peer publish, and run until the event has come to rest."""
        event_id = self.peers[node].publish(payload, self.world.now)
        self.deliveries[event_id] = {}
        self.world.perform(self.world.processes[node])
        self.world.settle()
        return event_id

    def audience(self, payload: Any) -> set[int]:
        """Return who wants an event: the oracle."""
        return {peer.node for peer in self.peers if peer.interests.matching(payload)}

    def _delivered(self, node: int, event: Deliver) -> None:
        self.deliveries[event.event_id][node] = event.hops
