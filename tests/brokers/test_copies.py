"""Copies at the backup: sent until they are confirmed, as links have room, also where they have to be read first."""

from __future__ import annotations

import pytest

from rookery.brokers.batches import Replicated
from rookery.brokers.deliveries import Deliveries

from .batch_world import SECOND
from .invariants import network


def test_a_copy_that_nobody_confirms_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network(3, dimensions=1)
    client = made.client(1)
    made.run(SECOND)
    lost: list[object] = []
    replicated = Deliveries.replicated

    def losing(self: Deliveries, message: Replicated, sender: int) -> None:
        if lost:
            replicated(self, message, sender)
        else:
            lost.append(message)

    monkeypatch.setattr(Deliveries, "replicated", losing)
    client.subscribe("all", "")
    made.run(SECOND)
    (event,) = client.publish({"x": 0.1})
    made.run(10 * SECOND)
    assert lost
    assert event not in made.accepted
    made.run(30 * SECOND)
    assert event in made.accepted


def test_copies_wait_while_links_hold_what_went_before() -> None:
    made = network(3, dimensions=1)
    client = made.client(1)
    made.run(SECOND)
    client.subscribe("all", "")
    made.run(SECOND)
    for broker in made.brokers.values():
        broker.unsent = broker.configuration.memory
    events = {client.publish({"x": number / 10})[0] for number in range(10)}
    made.run(10 * SECOND)
    assert not made.accepted
    for broker in made.brokers.values():
        broker.unsent = 0
    waiting = [broker for broker in made.brokers.values() if broker.deliveries.copies.can_send]
    assert waiting
    for broker in waiting:
        broker.relieved(made.world.now)
        assert not broker.deliveries.copies.can_send
    made.run(30 * SECOND)
    assert events == made.accepted
