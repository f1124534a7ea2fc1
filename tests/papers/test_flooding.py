"""Flooding and the K-D brokers deliver the same events to the same clients."""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Any

from rookery import Schema
from rookery.brokers.client_events import Delivered
from rookery.brokers.configuration import BrokerConfiguration
from rookery.papers.seed_003.flooding import FloodingBroker
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.axes import Axis, EventSpace

SECOND = 1_000_000
SCHEMA = Schema(symbol=str, price=float, volume=int)
SYMBOLS = ("ACME", "AJAX", "BOLT", "ZULU", "Ørsted")


def deliver(brokers: dict[int, FloodingBroker]) -> Counter[tuple[str, int]]:
    """Carry messages until there are none; count what each client got of each event's number."""
    found: Counter[tuple[str, int]] = Counter()
    waiting = deque((sender, *sent) for sender, broker in brokers.items() for sent in broker.messages_to_send())
    while waiting:
        sender, receiver, message = waiting.popleft()
        brokers[receiver].receive(message, sender, now=0)
        waiting += [(receiver, *sent) for sent in brokers[receiver].messages_to_send()]
    for broker in brokers.values():
        while (event := broker.next_event()) is not None:
            found[event.subscription_id, event.event["volume"]] += 1
    return found


def a_condition(generator: random.Random) -> str:
    price = generator.randrange(100)
    return generator.choice(
        [
            f"symbol = '{generator.choice(SYMBOLS)}' AND price < {price}",
            f"price >= {price} OR symbol LIKE 'A%'",
            f"symbol > 'B' AND NOT (price BETWEEN 20 AND {price + 20})",
            "price IS NULL",
            f"volume > 3 AND price > {price} AND price < {price - 1}",
            "symbol IN ('ZULU', 'Ørsted') AND volume <> 5",
        ]
    )


def an_event(generator: random.Random, number: int) -> dict[str, Any]:
    return {
        "symbol": generator.choice([*SYMBOLS, None]),
        "price": generator.choice([None, float("nan"), generator.uniform(-20, 140)]),
        "volume": number,
    }


def test_brokers_deliver_what_flooding_delivers() -> None:
    generator = random.Random(4)
    space = EventSpace(SCHEMA, [Axis("symbol"), Axis("price", 0, 100)])
    zones = SimulatedBrokers(BrokerConfiguration(space=space), seed=4)
    for _ in range(12):
        zones.join()
        zones.run(SECOND)
    got: Counter[tuple[str, int]] = Counter()

    def note(client: int, event: object) -> None:
        if isinstance(event, Delivered):
            got.update((name, one["volume"]) for name, one in zip(event.names, event.events, strict=True))

    zones.on_client_event = note
    ring = {number: FloodingBroker(number, SCHEMA, [(number - 2) % 12 + 1, number % 12 + 1]) for number in range(1, 13)}
    for number in range(60):
        broker, where = generator.randrange(1, 13), a_condition(generator)
        zones.subscribe(broker, f"s{number}", where)
        ring[broker].subscribe(f"s{number}", where)
    zones.run(2 * SECOND)
    for number in range(200):
        broker, event = generator.randrange(1, 13), an_event(generator, number)
        zones.publish(broker, event)
        ring[broker].publish(event)
    zones.run(2 * SECOND)
    wanted = deliver(ring)
    assert got == wanted
    assert len(wanted) > 1000
    assert set(wanted.values()) == {1}


def test_an_unsubscribed_client_gets_nothing_more() -> None:
    broker = FloodingBroker(1, SCHEMA)
    broker.subscribe("all", "")
    broker.publish({"symbol": "ACME", "price": 1.0, "volume": 1})
    broker.unsubscribe("all")
    broker.publish({"symbol": "ACME", "price": 1.0, "volume": 2})
    assert deliver({1: broker}) == {("all", 1): 1}
