"""Events that are held for who is away go to the log above the budget, and come back when they are wanted."""

from __future__ import annotations

import pytest

from rookery import Schema
from rookery.brokers.configuration import BrokerConfiguration, BrokerDurability
from rookery.simulated.brokers import SimulatedBrokers, SimulatedClient
from rookery.space.axes import Axis, EventSpace

SECOND = 1_000_000
SPACE = EventSpace(Schema(price=float, text=str), [Axis("price", 0, 100)])
MEMORY = 64 << 10
TEXT = "x" * 4096


def made(
    seed: int, *, brokers: int = 3, durability: BrokerDurability = BrokerDurability.TWO_DISKS, subscribers: int = 1
) -> tuple[SimulatedBrokers, list[SimulatedClient], SimulatedClient]:
    configuration = BrokerConfiguration(
        space=SPACE, beat=SECOND, refresh=4 * SECOND, memory=MEMORY, durability=durability
    )
    network = SimulatedBrokers(configuration, seed=seed)
    for _ in range(brokers):
        network.join()
        network.run(3 * SECOND)
    network.run(10 * SECOND)
    clients = [network.client(1 + number % brokers) for number in range(subscribers)]
    for client in clients:
        client.subscribe("all", "price >= 0")
    publisher = network.client(brokers)
    assert network.run(60 * SECOND, until=lambda: all("all" in client.in_force for client in clients))
    return network, clients, publisher


def most_held(network: SimulatedBrokers) -> int:
    return max(broker.spilling.held for broker in network.brokers.values())


def away(network: SimulatedBrokers) -> int:
    return sum(broker.spilling.spilled for broker in network.brokers.values())


def publish(network: SimulatedBrokers, publisher: SimulatedClient, count: int) -> None:
    """Publish events one by one, and look at what is held all the while."""
    for number in range(count):
        publisher.publish({"price": 99.0 * number / count, "text": TEXT})
        network.run(SECOND // 5)
        assert most_held(network) <= MEMORY + len(TEXT)
    assert network.run(120 * SECOND, until=lambda: len(network.accepted) == count)


def counted(network: SimulatedBrokers, name: str) -> int:
    return sum(broker.counters[name] for broker in network.brokers.values())


@pytest.mark.parametrize("seed", range(3))
def test_the_backlog_of_the_absent_is_on_the_disk_and_comes_back(seed: int) -> None:
    network, clients, publisher = made(seed, subscribers=4)
    for client in clients:
        client.go_away()
    network.run(2 * SECOND)
    publish(network, publisher, 60)
    assert counted(network, "spilled") > 30
    network.run(30 * SECOND)
    assert most_held(network) <= MEMORY
    for client in clients:
        client.come_back()
    want = {("all", event) for event in network.accepted}
    assert network.run(600 * SECOND, until=lambda: all(want <= client.delivered.keys() for client in clients))
    assert all(count == 1 for client in clients for count in client.delivered.values())
    assert network.run(60 * SECOND, until=lambda: most_held(network) == 0 and not away(network))


def test_nothing_is_read_or_sent_again_while_links_hold_what_went_before() -> None:
    """Dead subscribers at two brokers: the links' bytes count in what is read, and it goes on when they are gone."""
    network, clients, publisher = made(3, brokers=2, subscribers=6)
    for client in clients:
        client.go_away()
    network.run(2 * SECOND)
    publish(network, publisher, 60)
    assert away(network) > 20
    sent = counted(network, "DeliverBatch")
    for broker in network.brokers.values():
        broker.unsent = MEMORY
    network.run(30 * SECOND)
    assert counted(network, "DeliverBatch") == sent
    assert any(broker.spilling._wanted or broker.deliveries.in_flight for broker in network.brokers.values())
    returned, *_ = clients
    returned.come_back()
    network.run(5 * SECOND)
    before = len(returned.delivered)
    for broker in network.brokers.values():
        broker.unsent = 0
        broker.relieved(network.world.now)
    want = {("all", event) for event in network.accepted}
    assert network.run(600 * SECOND, until=lambda: want <= returned.delivered.keys())
    assert before < len(want)


@pytest.mark.parametrize("seed", range(3))
def test_what_has_gone_to_the_disk_survives_its_owner(seed: int) -> None:
    network, (client,), publisher = made(seed)
    client.go_away()
    network.run(2 * SECOND)
    publish(network, publisher, 40)
    owners = [number for number in network.brokers if number != client.machine.brokers[0]]  # the other keeps its place
    network.crash(max(owners, key=lambda number: len(network.brokers[number].deliveries.in_flight)))
    for _ in range(30):
        network.run(SECOND)
        assert most_held(network) <= 2 * MEMORY
    client.come_back()
    want = {("all", event) for event in network.accepted}
    assert network.run(600 * SECOND, until=lambda: want <= client.delivered.keys())


def test_a_program_that_takes_nothing_is_let_go_where_others_wait_for_its_share() -> None:
    network, clients, publisher = made(5, brokers=2, subscribers=6)
    *dead, living = clients
    for client in dead:
        client.acknowledge_after(None)
    publish(network, publisher, 30)
    want = {("all", event) for event in network.accepted}
    assert network.run(900 * SECOND, until=lambda: want <= living.delivered.keys())
    assert all(broker.sessions.bytes_in_flight <= MEMORY for broker in network.brokers.values())


def test_without_a_disk_what_is_too_much_is_refused_for_now() -> None:
    network, (client,), publisher = made(1, brokers=1, durability=BrokerDurability.MEMORY)
    client.acknowledge_after(None)
    client.go_away()
    network.run(2 * SECOND)
    for number in range(40):
        publisher.publish({"price": float(number), "text": TEXT})
        network.run(SECOND // 5)
    assert most_held(network) <= MEMORY + len(TEXT)
    assert 10 <= len(network.accepted) < 40
    assert "the budget is 65536" in publisher.refused[0]
    client.come_back()
    client.acknowledge_after(500)
    assert network.run(300 * SECOND, until=lambda: len(network.accepted) == 40)
    want = {("all", event) for event in network.accepted}
    assert network.run(300 * SECOND, until=lambda: want <= client.delivered.keys())


def test_subscriptions_of_a_client_are_bounded() -> None:
    configuration = BrokerConfiguration(space=SPACE, most_subscriptions=5)
    network = SimulatedBrokers(configuration, seed=1)
    network.join()
    network.run(SECOND)
    client = network.client(1)
    for number in range(8):
        client.subscribe(str(number), f"price < {number}")
    network.run(20 * SECOND)
    assert len(client.in_force) == 5
    assert len(client.failed) == 3
    assert "end some first" in client.failed[0]


def damage(network: SimulatedBrokers, keys: set[tuple[int, int]], number: int) -> None:
    """Flip a bit in each of these records on the disk of a broker."""
    log = network.world.processes[number].log
    assert log is not None
    for key in keys & log._live.keys():
        offset, length = log._live[key]
        network.disk_of(number)._files["log"].data[offset + length // 2] ^= 1


def spilled(network: SimulatedBrokers) -> set[tuple[int, int]]:
    """Return the batches that their owners have on their disks alone."""
    return {
        (number, each)
        for number, broker in network.brokers.items()
        for each in broker.deliveries.in_flight
        if broker.spilling.is_away((number, each))
    }


@pytest.mark.parametrize("seed", range(3))
def test_what_goes_bad_on_the_disk_is_fetched_from_the_backup(seed: int) -> None:
    network, (client,), publisher = made(seed)
    client.go_away()
    network.run(2 * SECOND)
    publish(network, publisher, 60)
    bad = spilled(network)
    assert len(bad) > 10
    for number in network.brokers:
        damage(network, {key for key in bad if key[0] == number}, number)
    client.come_back()
    want = {("all", event) for event in network.accepted}
    assert network.run(600 * SECOND, until=lambda: want <= client.delivered.keys())
    assert counted(network, "fetched") >= len(bad)
    assert counted(network, "both copies unreadable") == 0
    assert set(client.delivered.values()) == {1}
    assert network.run(60 * SECOND, until=lambda: most_held(network) == 0 and not away(network))


def test_where_both_copies_went_bad_it_is_said_and_the_others_come() -> None:
    network, (client,), publisher = made(1)
    client.go_away()
    network.run(2 * SECOND)
    publish(network, publisher, 60)
    bad = set(sorted(spilled(network))[:3])
    for number in network.brokers:
        damage(network, bad, number)
    for broker in network.brokers.values():  # that of the backup may still be in memory: then it is not lost
        assert not bad & broker.spilling._sizes.keys()
    client.come_back()
    network.run(120 * SECOND)
    assert len(network.accepted) - len(client.delivered) == len(bad)
    assert counted(network, "both copies unreadable") >= len(bad)


def test_what_was_fetched_stays_accepted_where_the_disk_does_not_take_it_again() -> None:
    network, (client,), publisher = made(2)
    client.go_away()
    network.run(2 * SECOND)
    publish(network, publisher, 60)
    for number in network.brokers:
        damage(network, {key for key in spilled(network) if key[0] == number}, number)
        network.disk_of(number).fill()
    client.come_back()
    want = {("all", event) for event in network.accepted}
    assert network.run(600 * SECOND, until=lambda: want <= client.delivered.keys())
    assert counted(network, "fetched")
