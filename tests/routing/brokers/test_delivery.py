"""Subscriptions are taken back from every zone and copy, and a notification is one message to the client's broker."""

from __future__ import annotations

import random

import pytest

from rookery.network.simulated_brokers import SimulatedBrokers
from rookery.routing.brokers.messages import Message, Notify

from .invariants import SECOND, network


def holders(made: SimulatedBrokers, name: str) -> list[int]:
    """Return who stores a subscription, or a copy of it."""
    stored = [number for number, broker in made.brokers.items() for seat in broker.seats.values() if name in seat.store]
    copied = [
        number for number, broker in made.brokers.items() for held in broker.delivery.replicas.values() if name in held
    ]
    return stored + copied


def sent(made: SimulatedBrokers) -> list[tuple[int, int, Message]]:
    """Return the list into which every message between brokers goes from now on."""
    carried: list[tuple[int, int, Message]] = []
    carry = made._carry
    made._carry = lambda sender, receiver, message: (  # type: ignore[method-assign]
        carried.append((sender, receiver, message)),
        carry(sender, receiver, message),
    )[1]
    return carried


def test_what_is_taken_back_is_stored_nowhere_and_its_events_go_to_nobody() -> None:
    """Every zone and every heir that was told of a subscription is told of its end; leases are not waited for."""
    made = network(16, seed=4)
    made.subscribe(7, "wide", "x >= 0.2 AND x < 0.7")
    made.run(2 * SECOND)
    assert len(holders(made, "wide")) > 8
    before = made.publish(3, {"x": 0.5, "y": 0.5})
    made.run(2 * SECOND)
    assert made.delivered[("wide", before)] == 1
    made.unsubscribe(7, "wide")
    made.run(SECOND)
    assert holders(made, "wide") == []
    carried = sent(made)
    made.publish(3, {"x": 0.5, "y": 0.5})
    made.run(2 * SECOND)
    assert not any(isinstance(message, Notify) for _, _, message in carried)
    assert len(made.delivered) == 1


def test_a_changed_condition_is_told_to_the_zones_it_leaves_and_to_those_it_enters() -> None:
    made = network(16, seed=5)
    made.subscribe(7, "one", "x < 0.3")
    made.run(2 * SECOND)
    low, left = made.publish(3, {"x": 0.1, "y": 0.5}), set(holders(made, "one"))
    made.run(2 * SECOND)
    made.subscribe(7, "one", "x > 0.8")
    made.run(2 * SECOND)
    assert left - set(holders(made, "one"))
    later, high = made.publish(3, {"x": 0.1, "y": 0.5}), made.publish(3, {"x": 0.9, "y": 0.5})
    made.run(2 * SECOND)
    assert made.delivered == {("one", low): 1, ("one", high): 1}
    assert later in made.acknowledged


@pytest.mark.parametrize("brokers", [4, 32])
def test_a_notification_is_one_message_from_the_owner_to_the_clients_broker(brokers: int) -> None:
    """The seed lets it go by Spanhop, ½·log2 N hops; a broker's number is its address here, so one hop does."""
    made = network(brokers, seed=6)
    made.subscribe(2, "all", "")
    made.subscribe(2, "half", "x < 0.5")
    made.run(2 * SECOND)
    dice, carried = random.Random(1), sent(made)
    for _ in range(20):
        made.publish(1 + dice.randrange(brokers), {"x": dice.random() / 2, "y": dice.random()})
    made.run(2 * SECOND)
    notices = [(sender, receiver, message) for sender, receiver, message in carried if isinstance(message, Notify)]
    owned = {message.event_id for _, receiver, message in notices if receiver == 2}
    assert len(notices) == len(owned) <= 20
    assert all(set(message.subscriptions) == {"all", "half"} for _, _, message in notices)
    assert len(made.delivered) == 40
