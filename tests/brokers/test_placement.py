"""Subscriptions are taken back from every zone and copy, and what is delivered goes straight to the client's broker."""

from __future__ import annotations

import random

import pytest

from rookery.brokers.batches import DeliverBatch, Superseded
from rookery.brokers.messages import PlaceSubscriptions
from rookery.brokers.owned_zone import OwnedZone
from rookery.machine import Node
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.zones import ZoneBox

from .invariants import SECOND, network


def wire_of(made: SimulatedBrokers, name: str) -> str:
    """Return the name of a subscription among brokers."""
    (wire,) = {
        wire for broker in made.brokers.values() for wire in broker.placement.clients if wire.endswith(f"/{name}")
    }
    return wire


def holders(made: SimulatedBrokers, wire: str) -> list[int]:
    """Return who stores a subscription, or a copy of it."""
    stored = [
        number for number, broker in made.brokers.items() for owned in broker.owned.values() if wire in owned.store
    ]
    replicated = [
        number for number, broker in made.brokers.items() for held in broker.placement.replicas.values() if wire in held
    ]
    return stored + replicated


def zones_of(made: SimulatedBrokers, wire: str) -> set[ZoneBox]:
    """Return the zones that store a subscription."""
    return {owned.box for broker in made.brokers.values() for owned in broker.owned.values() if wire in owned.store}


def deliveries(made: SimulatedBrokers) -> list[tuple[Node, Node, DeliverBatch]]:
    """Return the list into which every delivery between brokers goes from now on."""
    sent: list[tuple[Node, Node, DeliverBatch]] = []
    made.world.on_message = lambda sender, receiver, message: (
        sent.append((sender, receiver, message)) if isinstance(message, DeliverBatch) else None
    )
    return sent


def test_what_is_taken_back_is_stored_nowhere_and_its_events_go_to_nobody() -> None:
    """Every zone and every backup that was told of a subscription is told of its end; leases are not waited for."""
    made = network(16, seed=4)
    made.subscribe(7, "wide", "x >= 0.2 AND x < 0.7")
    made.run(2 * SECOND)
    wire = wire_of(made, "wide")
    assert len(holders(made, wire)) > 8
    before = made.publish(3, {"x": 0.5, "y": 0.5})
    made.run(2 * SECOND)
    assert made.delivered["wide", before] == 1
    made.unsubscribe("wide")
    made.run(SECOND)
    assert holders(made, wire) == []
    sent = deliveries(made)
    made.publish(3, {"x": 0.5, "y": 0.5})
    made.run(2 * SECOND)
    assert not sent
    assert len(made.delivered) == 1


def test_who_says_late_what_was_taken_back_is_told_so() -> None:
    """It came over a longer way: it places nothing. Who means it, and has lost his count, hears what to beat."""
    made = network(4, seed=4)
    made.subscribe(3, "wide", "x >= 0")
    made.run(2 * SECOND)
    wire = wire_of(made, "wide")
    late = made.brokers[3].placement.clients[wire]
    made.unsubscribe("wide")
    made.run(2 * SECOND)
    said: list[object] = []
    made.world.on_message = lambda sender, receiver, message: said.append(message)
    for broker in made.brokers.values():
        (owned,) = broker.owned.values()
        broker.placement.spread(owned, PlaceSubscriptions((late,), len(owned.path), answer=True))
        made.perform(broker.id)
    made.run(2 * SECOND)
    assert holders(made, wire) == []
    assert [message for message in said if isinstance(message, Superseded)] == 3 * [
        Superseded(wire, late.version, late.version)
    ], "and the fourth, who is asked himself, hears it too"
    assert sum(broker.counters["superseded"] for broker in made.brokers.values()) == 0, "nobody waits for it any more"


def test_a_changed_condition_is_told_to_the_zones_it_leaves_and_to_those_it_enters() -> None:
    made = network(16, seed=5)
    broker = made.brokers[7]
    made.subscribe(7, "one", "x < 0.3")
    made.run(2 * SECOND)
    wire = wire_of(made, "one")
    low, left = made.publish(3, {"x": 0.1, "y": 0.5}), zones_of(made, wire)
    made.run(2 * SECOND)
    broker.placement.subscribe(wire, "x > 0.8", (), 9)
    broker.introduce(3, made.world.time(broker.id))  # any command: what was sent to oneself is done
    made.perform(7)
    made.run(2 * SECOND)
    assert left - zones_of(made, wire)
    assert all(box.upper[0] > 0.8 for box in zones_of(made, wire))
    later, high = made.publish(3, {"x": 0.1, "y": 0.5}), made.publish(3, {"x": 0.9, "y": 0.5})
    made.run(2 * SECOND)
    assert made.delivered == {("one", low): 1, ("one", high): 1}
    assert later in made.accepted


@pytest.mark.parametrize("brokers", [4, 32])
def test_a_delivery_is_one_message_from_the_owner_to_the_clients_broker(brokers: int) -> None:
    """The seed lets it go by Spanhop, ½·log2 N hops; a broker's number is its address here, so one hop does."""
    made = network(brokers, seed=6)
    made.subscribe(2, "all", "")
    made.subscribe(2, "half", "x < 0.5")
    made.run(2 * SECOND)
    generator, sent = random.Random(1), deliveries(made)
    for _ in range(20):
        made.publish(1 + generator.randrange(brokers), {"x": generator.random() / 2, "y": generator.random()})
        made.run(SECOND // 4)
    made.run(2 * SECOND)
    delivered = {
        (message.batch.publisher, sequence) for _, _, message in sent for sequence in message.batch.sequences()
    }
    assert all(receiver == 2 for _, receiver, _ in sent)
    assert len(sent) == len(delivered) <= 20
    assert all(
        {*message.every, *message.names} == {wire_of(made, "all"), wire_of(made, "half")} for _, _, message in sent
    )
    assert len(made.delivered) == 40


def test_a_subscription_comes_to_each_zone_exactly_once() -> None:
    made = network(40, seed=8)
    handled = {number: broker.counters["subscriptions spread"] for number, broker in made.brokers.items()}
    made.subscribe(7, "wide", "x >= 0.2 AND x < 0.7 AND y < 0.6")
    made.run(2 * SECOND)
    (wire,) = made.brokers[7].placement.clients
    stored = [
        number for number, broker in made.brokers.items() for owned in broker.owned.values() if wire in owned.store
    ]
    came = {
        number: broker.counters["subscriptions spread"] - handled[number] for number, broker in made.brokers.items()
    }
    assert len(stored) > 5
    assert all(came[number] == 1 for number in stored if number != 7)
    assert sum(came.values()) <= len(stored) + 1  # beside them only the access broker


def test_a_subscription_comes_to_the_zones_beside_one_that_nobody_owns() -> None:
    """Else the grace period of such a zone could end before it has all of its subscriptions."""
    made = network(8, dimensions=1)
    lowest = next(number for number, owned in zone_by_broker(made).items() if owned.box.lower == (0.0,))
    access = next(number for number, owned in zone_by_broker(made).items() if owned.box.upper == (1.0,))
    made.crash(lowest)
    made.subscribe(access, "all", "x >= 0")
    made.run(2 * SECOND)
    zones = {owned.box for owned in zone_by_broker(made).values()}
    assert not any(box.lower == (0.0,) for box in zones), "it was taken over already"
    assert zones_of(made, wire_of(made, "all")) == zones


def zone_by_broker(made: SimulatedBrokers) -> dict[int, OwnedZone]:
    return {number: owned for number, broker in made.brokers.items() for owned in broker.owned.values()}
