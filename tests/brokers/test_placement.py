"""Subscriptions are taken back from every zone and copy, and what is delivered goes straight to the client's broker."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.brokers.batches import DeliverBatch, Superseded
from rookery.brokers.bulks import MOST_ITEMS
from rookery.brokers.messages import PlaceSubscriptions, Routed
from rookery.brokers.owned_zone import OwnedZone
from rookery.machine import Node
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.zones import ZoneBox, meets

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


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from([1, 5, 13]), st.integers(1, 1500))
def test_a_bulk_comes_to_the_zones_that_each_subscription_meets(seed: int, brokers: int, count: int) -> None:
    """Whatever goes together: a zone has those whose box meets it, its backup the same, and each came once."""
    dice = random.Random(seed)
    made = network(brokers, seed=dice.randrange(9))
    client = made.client(1 + dice.randrange(brokers))
    made.run(SECOND)
    corners = [(dice.random(), dice.random(), 0.3 * dice.random(), 0.3 * dice.random()) for _ in range(count)]
    conditions = {
        str(number): (f"x >= {x} AND x <= {x + wide} AND y >= {y} AND y <= {y + high}", ())
        for number, (x, y, wide, high) in enumerate(corners)
    }
    before = {broker: broker.counters["subscriptions spread"] for broker in made.brokers.values()}
    placed = -sum(broker.counters["Placed"] for broker in made.brokers.values())
    number = client.machine.subscribe(conditions)
    client.perform()
    assert made.run(2 * SECOND, until=lambda: client.machine.is_in_force(number))
    space = made.configuration.space
    boxes = {f"{client.number:x}/{number}/{name}": space.box(where) for name, (where, _) in conditions.items()}
    zones = zone_by_broker(made)
    for owned in zones.values():
        due = {wire for wire, box in boxes.items() if box is not None and meets(owned.box, *box)}
        assert {subscription.subscription_id for subscription, _ in owned.store} == due
        if owned.replicated is not None:
            assert set(made.brokers[owned.replicated].placement.replicas.get(owned.path, {})) == due
    placed += sum(broker.counters["Placed"] for broker in made.brokers.values())
    assert all(broker.counters["subscriptions spread"] - was <= count for broker, was in before.items()), "once each"
    assert placed <= brokers * -(-count // MOST_ITEMS) * 2, "one answer of a zone for each bulk"
    client.machine.unsubscribe(number)
    client.perform()
    made.run(2 * SECOND)
    assert not any(len(owned.store) for owned in zones.values())
    assert not any(broker.placement.replicas.get(path) for broker in made.brokers.values() for path in broker.owned)


def test_many_subscriptions_are_renewed_by_parts_and_none_ends() -> None:
    made = network(3, seed=2)
    client = made.client(1)
    made.run(SECOND)
    number = client.machine.subscribe({str(one): (f"x >= 0.{one}", ()) for one in range(3000)})
    client.perform()
    assert made.run(2 * SECOND, until=lambda: client.machine.is_in_force(number))
    sizes: list[int] = []
    made.world.on_message = lambda sender, receiver, message: (
        sizes.append(len(message.body.subscriptions))
        if isinstance(message, Routed) and isinstance(message.body, PlaceSubscriptions)
        else None
    )
    made.run(2 * made.configuration.lease)
    assert made.brokers[1].placement.clients.keys() == {f"{client.number:x}/{number}/{one}" for one in range(3000)}
    boxes = [made.configuration.space.box(f"x >= 0.{one}") for one in range(3000)]
    for owned in zone_by_broker(made).values():
        assert len(owned.store) == sum(box is not None and meets(owned.box, *box) for box in boxes)
    assert max(sizes) <= MOST_ITEMS


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
