"""Publishing: one event that does not fit is refused by its number, and the others of its batch go on."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.brokers.batches import Accepted, Refused, batch_of
from rookery.brokers.broker import Broker
from rookery.brokers.client_messages import DeliverToClient, PublishBatch, Subscribe
from rookery.brokers.configuration import BrokerDurability
from rookery.simulated.brokers import SimulatedBrokers

from .alone import CLIENT, ask, attached, sent
from .invariants import SECOND, configuration


def events(count: int) -> list[dict[str, Any]]:
    """Return events, the third of which does not fit."""
    return [{"x": number / count, "y": 0.5 if number != 2 else "half"} for number in range(count)]


@pytest.mark.parametrize("count", [4, 100])
def test_one_broker_refuses_a_bad_event_and_takes_the_others(count: int) -> None:
    broker: Broker = attached(durability=BrokerDurability.MEMORY)
    ask(broker, Subscribe("9/1/s", 1, ""))
    found = [message for _, message in sent(ask(broker, PublishBatch(batch_of(CLIENT.number, 7, events(count)))))]
    (refused,) = [message for message in found if isinstance(message, Refused)]
    assert (refused.first, refused.offsets, refused.final) == (7, (2,), True)
    (accepted,) = [message for message in found if isinstance(message, Accepted)]
    (delivered,) = [message for message in found if isinstance(message, DeliverToClient)]
    others = [number for number in range(count) if number != 2]
    assert list(accepted.offsets) == others
    assert list(delivered.delivery.batch.sequences()) == [7 + number for number in others]


@pytest.mark.parametrize("brokers", [1, 2, 5])
def test_however_many_brokers_there_are_a_bad_event_is_named_and_the_others_come_once(brokers: int) -> None:
    network = SimulatedBrokers(configuration(durability=BrokerDurability.MEMORY), seed=brokers)
    for _ in range(brokers):
        network.join()
        network.run(10 * SECOND)
    network.subscribe(1, "all", "")
    network.run(SECOND)
    refused: list[Any] = []
    network.on_client_event = lambda _, event: refused.append(event) if "Refused" in type(event).__name__ else None
    client = network.client(brokers)
    published = client.publish(*events(100))
    network.run(20 * SECOND)
    assert [(event.first, event.offsets, event.final) for event in refused] == [(0, (2,), True)]
    assert network.delivered == {("all", event): 1 for event in published if event != published[2]}
    assert client.machine.in_flight == 0
