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
