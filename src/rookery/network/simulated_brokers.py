"""Brokers on a network that exists only in memory: the same machines under the one calendar, with seeded misfortune.

The model is that of TCP between living processes. A message arrives after the latency of its link, in order. A lost
packet does not lose the message, it holds up the link until it is sent again, after 200 ms and twice as long each time.
What is sent to a crashed broker comes back to its sender: at once if only the process died and its machine refuses the
connection, after a time if the machine is gone.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rookery.network.calendar import Calendar
from rookery.routing.brokers.broker import Broker
from rookery.routing.brokers.configuration import BrokerConfiguration
from rookery.routing.brokers.events import Acknowledged, BrokerEvent, Delivered, Isolated, JoinFailed, Left
from rookery.routing.brokers.messages import EventId, Message
from rookery.routing.brokers.versions import Versions

__all__ = ["LinkConditions", "SimulatedBrokers"]

RETRANSMISSION = 200_000


@dataclass(frozen=True, slots=True)
class LinkConditions:
    """What lies between brokers: one-way latency in microseconds, chance of loss per packet, how a death shows."""

    latency: Callable[[int, int], int] | int = 1_000
    loss: float = 0.0
    #: How long it takes until a message to a dead broker comes back.
    refusal: int = 1_000


class SimulatedBrokers:
    """A network of brokers of one topic, numbered from 1 in the order of their birth."""

    def __init__(
        self, configuration: BrokerConfiguration, *, seed: int, conditions: LinkConditions | None = None
    ) -> None:
        self.configuration = configuration
        self.seed = seed
        self.conditions = conditions or LinkConditions()
        self.calendar = Calendar()
        #: The living, by id.
        self.brokers: dict[int, Broker] = {}
        #: What was delivered: (subscription, event) and how often.
        self.delivered: Counter[tuple[str, EventId]] = Counter()
        self.acknowledged: set[EventId] = set()
        self.messages = 0
        self.on_event: Callable[[int, BrokerEvent], None] | None = None
        self._dice = random.Random(seed)
        self._arrivals: dict[tuple[int, int], int] = {}
        self._timers: dict[int, int] = {}
        self._born = 0
        #: All clients count together: the later of two subscriptions of one name is the one that stands.
        self._versions = Versions()

    def join(self, *, bootstrap: int | None = None, position: tuple[float, ...] = ()) -> int:
        """Add a broker; it joins through a random one if none is named. Return its id."""
        self._born += 1
        number = self._born
        broker = Broker(number, self.configuration, random.Random(f"{self.seed}/{number}"), position=position)
        if bootstrap is None and self.brokers:
            bootstrap = list(self.brokers)[self._dice.randrange(len(self.brokers))]
        self.brokers[number] = broker
        if bootstrap is None:
            broker.start(self.calendar.now)
        else:
            broker.join(bootstrap, self.calendar.now)
        self.flush(broker)
        return number

    def leave(self, number: int) -> None:
        """Let a broker go; it is gone when it has handed over all it has."""
        broker = self.brokers[number]
        broker.leave(self.calendar.now)
        self.flush(broker)

    def crash(self, number: int) -> None:
        """End a broker without a word."""
        del self.brokers[number]

    def subscribe(self, number: int, subscription_id: str, where: str) -> None:
        """Subscribe a client of a broker."""
        broker = self.brokers[number]
        version = self._versions.next(subscription_id)
        assert version is not None
        broker.subscribe(subscription_id, where, now=self.calendar.now, version=version)
        self.flush(broker)

    def unsubscribe(self, number: int, subscription_id: str) -> None:
        """End a client's subscription."""
        broker = self.brokers[number]
        broker.unsubscribe(subscription_id, now=self.calendar.now)
        self.flush(broker)

    def publish(self, number: int, event: Mapping[str, Any]) -> EventId:
        """Publish an event at a broker."""
        broker = self.brokers[number]
        event_id = broker.publish(event, now=self.calendar.now)
        self.flush(broker)
        return event_id

    def run(self, microseconds: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so much of it, or until a condition holds; say whether it does."""
        return self.calendar.run(self.calendar.now + microseconds, condition=until)

    def flush(self, broker: Broker) -> None:
        """Send what waits, take the events, set the timer."""
        for receiver, message in broker.messages_to_send():
            self._carry(broker.id, receiver, message)
        while (event := broker.next_event()) is not None:
            if isinstance(event, Delivered):
                self.delivered[event.subscription_id, event.event_id] += 1
            elif isinstance(event, Acknowledged):
                self.acknowledged.add(event.event_id)
            elif isinstance(event, Left):
                self.brokers.pop(broker.id, None)
            elif isinstance(event, JoinFailed | Isolated):
                self._find_others(broker)
            if self.on_event is not None:
                self.on_event(broker.id, event)
        when = broker.timer()
        if when is not None and self._timers.get(broker.id) != when:
            self._timers[broker.id] = when
            self.calendar.at(max(when, self.calendar.now), lambda: self._wake(broker, when))

    def _find_others(self, broker: Broker) -> None:
        """Do what a program does with its list of entry points: try another one."""
        others = [number for number, other in self.brokers.items() if other.seats and number != broker.id]
        if others:
            other = others[self._dice.randrange(len(others))]
            if broker.seats:
                broker.introduce(other, self.calendar.now)
            else:
                broker.join(other, self.calendar.now)
            self.calendar.after(0, lambda: self.flush(broker))

    def _wake(self, broker: Broker, when: int) -> None:
        if self.brokers.get(broker.id) is broker and self._timers.get(broker.id) == when:
            broker.handle_timer(self.calendar.now)
            self.flush(broker)

    def _carry(self, sender: int, receiver: int, message: Message) -> None:
        conditions = self.conditions
        latency = conditions.latency
        arrival = self.calendar.now + (latency if isinstance(latency, int) else latency(sender, receiver))
        if conditions.loss:
            wait = RETRANSMISSION
            while self._dice.random() < conditions.loss:
                arrival += wait
                wait *= 2
            # In order: nothing overtakes on a link.
            arrival = max(arrival, self._arrivals.get((sender, receiver), 0))
            self._arrivals[sender, receiver] = arrival
        self.messages += 1
        self.calendar.at(arrival, lambda: self._arrive(sender, receiver, message))

    def _arrive(self, sender: int, receiver: int, message: Message) -> None:
        broker = self.brokers.get(receiver)
        if broker is not None:
            broker.receive(message, sender, self.calendar.now)
            self.flush(broker)
        else:
            self.calendar.after(self.conditions.refusal, lambda: self._return(sender, receiver, message))

    def _return(self, sender: int, receiver: int, message: Message) -> None:
        broker = self.brokers.get(sender)
        if broker is not None:
            broker.undeliverable(message, receiver, self.calendar.now)
            self.flush(broker)
