"""The overlay's baselines on the one calendar: no joins, no failures, only events and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rookery.overlay.baselines import HypercubePeer, MeshPeer
from rookery.overlay.effects import Deliver, Effect, Note, Send
from rookery.overlay.messages import Event, EventId
from rookery.simulated.calendar import Calendar

__all__ = ["SimulatedBaseline"]


class SimulatedBaseline:
    """Peers of one baseline; peer number i stands at place i of the sequence."""

    def __init__(self, peers: Sequence[MeshPeer | HypercubePeer], *, delay: int = 10_000) -> None:
        self.peers = peers
        self.calendar = Calendar()
        self.deliveries: dict[EventId, dict[int, int]] = {}
        self.messages = 0
        self.notes: Counter[str] = Counter()
        self._delay = delay
        self._sequence = 0

    def publish(self, node: int, payload: Any) -> EventId:
        """Let a peer publish, and run until the event has come to rest."""
        self._sequence += 1
        event_id = (node, self._sequence)
        self.deliveries[event_id] = {}
        self._act(node, self.peers[node].publish(event_id, payload))
        while self.calendar.step(1 << 62 if len(self.calendar) else self.calendar.now):
            pass
        return event_id

    def audience(self, payload: Any) -> set[int]:
        """Return who wants an event: the oracle."""
        return {peer.node for peer in self.peers if peer.interests.matches(payload)}

    def _act(self, node: int, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(to, message) if isinstance(message, Event):
                    self.messages += 1
                    self._carry(node, to, message)
                case Deliver(event_id, _, hops):
                    self.deliveries[event_id][node] = hops
                case Note(counter, amount):
                    self.notes[counter] += amount

    def _carry(self, sender: int, to: int, event: Event) -> None:
        self.calendar.after(self._delay, lambda: self._act(to, self.peers[to].on_message(sender, event)))
