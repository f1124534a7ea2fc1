"""Subscriptions over a participant: what matches is delivered, what cannot be read is counted."""

from __future__ import annotations

import pytest

from rookery.errors import TopicError
from rookery.participant.event_types import event_type
from rookery.participant.exchange import Exchange
from rookery.rtps import QualityOfService, Reliability
from rookery.simulated.domain import SimulatedNetwork

RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
SECOND = 1_000_000


def test_an_exchange_counts_samples_that_are_no_events() -> None:
    network = SimulatedNetwork(1)
    one, other = network.join(), network.join()
    kind = event_type({"price": "float64"}, type_name="T")
    exchange = Exchange(other.participant)
    number = exchange.subscribe("topic", "price < 2", type=kind, qos=RELIABLE, now=0)
    writer = one.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    for member in (one, other):
        member.flush()
    assert network.run(SECOND, until=lambda: bool(one.participant.matched(writer)))
    for payload in (b"\0\1\0\0short", kind.encode({"price": 3.0}), kind.encode({"price": 1.5})):
        one.participant.write(writer, payload, now=one.now)
    one.flush()
    network.run(SECOND)
    deliveries = [delivery for event in other.events for delivery in exchange.take(event)]
    assert [(delivery.subscription_id, delivery.event) for delivery in deliveries] == [(number, {"price": 1.5})]
    assert other.participant.counters["unreadable_sample"] == 1
    exchange.unsubscribe(number, other.now)
    assert [delivery for event in other.events for delivery in exchange.take(event)] == []
    with pytest.raises(TopicError, match=f"no subscription {number}"):
        exchange.unsubscribe(number, other.now)
    with pytest.raises(TopicError, match="not advertised"):
        exchange.publish("topic", {"price": 1.0}, now=other.now)
    exchange.advertise("topic", type=kind, qos=RELIABLE, now=other.now)
    with pytest.raises(TopicError, match="another type"):
        exchange.advertise("topic", type=event_type({"a": "int64"}, type_name="T"), qos=RELIABLE, now=other.now)


def test_a_writer_waits_for_the_subscriptions_that_make_it_and_for_no_others() -> None:
    network = SimulatedNetwork(1)
    one, other = network.join(), network.join()
    kind = event_type({"price": "float64"}, type_name="T")
    exchange = Exchange(other.participant)
    quick = exchange.subscribe("topic", None, type=kind, qos=RELIABLE, now=0)
    slow = [
        exchange.subscribe("topic", where, type=kind, qos=RELIABLE, now=0, at_most=300, parameters=parameters)
        for where, parameters in (("price < %0", (2,)), ("price >= 1", None))
    ]
    assert len(other.participant.local_endpoints) == 2, "those that wait share a reader of their own"
    writer = one.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    for member in (one, other):
        member.flush()
    assert network.run(SECOND, until=lambda: len(one.participant.matched(writer)) == 2)
    for price in (3.0, 1.5, 0.5):
        one.participant.write(writer, kind.encode({"price": price}), now=one.now)
    one.flush()
    network.run(5 * SECOND)
    deliveries = [delivery for event in other.events for delivery in exchange.take(event)]
    by_id = {
        number: [delivery.event["price"] for delivery in deliveries if delivery.subscription_id == number]
        for number in (quick, *slow)
    }
    assert by_id == {quick: [3.0, 1.5, 0.5], slow[0]: [1.5, 0.5], slow[1]: [3.0, 1.5]}
    for delivery in deliveries:
        if delivery.subscription_id != slow[1]:
            exchange.taken(delivery)
    assert not exchange.is_settling_due, "the first of all is not taken"
    exchange.unsubscribe(slow[1], other.now)
    assert exchange.is_settling_due
    assert not one.participant.is_acknowledged(writer)
    exchange.settle(other.now)
    other.flush()
    assert network.run(5 * SECOND, until=lambda: one.participant.is_acknowledged(writer))
