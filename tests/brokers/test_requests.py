"""What clients ask of a broker: done, rejected with the reason, or the end of the connection."""

from __future__ import annotations

import math
from typing import Any

from rookery.brokers.batches import batch_of
from rookery.brokers.client_messages import (
    AskStatus,
    Attach,
    KnownBrokers,
    PublishBatch,
    Subscribe,
    Subscribed,
    SubscribeMany,
    SubscriptionRejected,
    TransferZone,
    UnsubscribeMany,
)
from rookery.machine import ClientId, Close, Send

from .alone import CLIENT, ask, attached, sent
from .invariants import network


def test_a_leaving_broker_takes_no_clients() -> None:
    made = network(3)
    broker = made.brokers[2]
    broker.leave(made.calendar.now)
    broker.effects()
    broker.receive(Attach(), ClientId(9), made.calendar.now)
    assert broker.effects() == [Close(ClientId(9), "leaving")]
    assert not broker.sessions.attached


def test_a_leaving_broker_says_who_else_is_there() -> None:
    made = network(3)
    broker = made.brokers[2]
    broker.receive(Attach(), ClientId(9), made.calendar.now)
    broker.effects()
    broker.leave(made.calendar.now)
    said = [
        effect
        for effect in broker.effects()
        if (isinstance(effect, Send) and effect.receiver == ClientId(9)) or isinstance(effect, Close)
    ]
    assert [type(effect) for effect in said] == [Send, Close]
    assert isinstance(said[0].message, KnownBrokers)
    assert {*said[0].message.brokers} == {1, 3}


def test_clients_are_sent_to_those_that_were_heard_a_moment_ago_first() -> None:
    """Brokers met otherwise may have left long since; and not all clients go to the same one."""
    made = network(9)
    broker = made.brokers[5]
    (owned,) = broker.owned.values()
    beside = {ownership.owner for ownership in owned.neighbors}
    for stranger in (90, 91):
        broker.routing_table.remember(stranger)
    ways = [broker.routing_table.ways_on(client) for client in range(20)]
    assert all({*way[: len(beside)]} == beside for way in ways)
    assert all(way[len(beside) : len(beside) + 2] == [91, 90] for way in ways), "the latest first"
    assert {way[0] for way in ways} == beside
    assert all({*way} == {*broker.routing_table.living()} for way in ways)
    broker.lose(min(beside), broker.now)
    assert min(beside) not in broker.routing_table.ways_on(1)


def closed(effects: list[Any]) -> list[str]:
    return [effect.reason for effect in effects if isinstance(effect, Close)]


def test_a_batch_under_another_number_ends_the_connection() -> None:
    broker = attached()
    assert closed(ask(broker, PublishBatch(batch_of(8, 0, [{"x": 0.5}])))) == ["malformed request"]
    assert broker.counters["malformed request"] == 1
    assert ask(broker, AskStatus()) == []  # its connection is closed: nothing that comes late counts


def test_a_batch_of_its_own_is_refused_with_the_reason_where_nobody_could_have_its_replica() -> None:
    broker = attached()
    (answer,) = sent(ask(broker, PublishBatch(batch_of(9, 0, [{"x": 0.5, "y": 0.5}]))))
    assert answer[0] == CLIENT
    assert (answer[1].first, answer[1].final) == (0, False)
    assert "no second broker" in answer[1].reason


def test_a_subscription_is_named_after_its_client_and_has_a_condition_that_can_be_read() -> None:
    broker = attached()
    (stranger,) = sent(ask(broker, Subscribe("8/1/s", 1, "x > 0")))
    assert stranger == (CLIENT, SubscriptionRejected("8/1/s", "a subscription is named after its client"))
    ((_, wrong),) = sent(ask(broker, Subscribe("9/1/s", 1, "x >")))
    assert (type(wrong), wrong.name) == (SubscriptionRejected, "9/1/s")
    assert not broker.placement.clients
    good = ask(broker, SubscribeMany((Subscribe("9/1/s", 2, "x > 0"), Subscribe("8/1/s", 1, "x > 0"))))
    assert [type(answer) for _, answer in sent(good)] == [SubscriptionRejected, Subscribed]
    ask(broker, Subscribe("9/1/s", 3, "x >"))
    assert broker.placement.clients["9/1/s"].version == 2, "what cannot be read replaces nothing"
    ask(broker, UnsubscribeMany(("8/1/s", "9/1/s")))
    assert not broker.placement.clients


def test_nobody_waits_for_a_zone_for_ever() -> None:
    for seconds in (-1.0, math.nan, 1e9):
        assert closed(ask(attached(), TransferZone(seconds))) == ["malformed request"]
