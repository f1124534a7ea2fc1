"""A simulated broker network: what is delivered to whom, and the same again for the same seed."""

from __future__ import annotations

from rookery import Schema
from rookery.brokers.configuration import BrokerConfiguration
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.links import LinkConditions
from rookery.space.axes import Axis, EventSpace

SECOND = 1_000_000
SPACE = EventSpace(Schema(price=float), [Axis("price", 0, 100)])


def made(seed: int = 1) -> SimulatedBrokers:
    network = SimulatedBrokers(
        BrokerConfiguration(space=SPACE, beat=SECOND, refresh=4 * SECOND),
        seed=seed,
        conditions=LinkConditions(loss=0.05, jitter=500),
    )
    for _ in range(4):
        network.join()
        network.run(2 * SECOND)
    network.subscribe(2, "cheap", "price < 10")
    network.run(2 * SECOND)
    return network


def test_who_subscribed_gets_what_matches_once() -> None:
    network = made()
    cheap = network.publish(3, {"price": 9.0})
    dear = network.publish(3, {"price": 90.0})
    network.run(5 * SECOND)
    assert network.delivered == {("cheap", cheap): 1}
    assert network.accepted == {cheap, dear}


def test_a_crashed_broker_comes_back_with_its_disk_under_another_number() -> None:
    network = made()
    network.crash(3)
    assert 3 not in network.brokers
    network.run(20 * SECOND)
    again = network.restart(3)
    assert again == 5
    assert network.run(20 * SECOND, until=lambda: bool(network.brokers[again].owned))


def test_a_program_that_takes_nothing_acknowledges_nothing() -> None:
    network = made()
    (client,) = network.clients.values()
    client.acknowledge_after(None)
    event = network.publish(3, {"price": 9.0})
    network.run(5 * SECOND)
    assert network.delivered == {("cheap", event): 1}
    assert sum(len(broker.deliveries.in_flight) for broker in network.brokers.values()) == 1
    client.acknowledge_after(500)
    network.run(5 * SECOND)
    assert not any(broker.deliveries.in_flight for broker in network.brokers.values())


def test_a_seed_is_a_run() -> None:
    def messages(seed: int) -> list[object]:
        network = made(seed)
        seen: list[object] = []
        network.world.on_message = lambda *message: seen.append((network.calendar.now, *message))
        network.publish(3, {"price": 9.0})
        network.run(5 * SECOND)
        return seen

    assert messages(1) == messages(1)
    assert messages(1) != messages(2)


def test_programs_turn_to_the_entry_points_while_one_of_them_lives() -> None:
    network = made()
    heard: list[tuple[object, object]] = []
    network.entry_points = (2, 3)
    network.world.on_message = lambda sender, receiver, message: heard.append((sender, receiver))
    for _ in range(6):
        newcomer = network.join()
        first = next(receiver for sender, receiver in heard if sender == newcomer)
        assert first in (2, 3)
    assert len(network._known()) == 2
    network.crash(2)
    network.crash(3)
    assert set(network._known()) == set(network.brokers)
