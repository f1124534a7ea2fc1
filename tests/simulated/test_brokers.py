"""A simulated broker network: what is delivered to whom, and the same again for the same seed."""

from __future__ import annotations

from random import Random

import pytest

from rookery import Schema
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.records import open_records
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.disks import SimulatedDisk
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


def restarted_with_damage(seed: int, *, both: bool) -> tuple[set[tuple[str, tuple[int, int]]], int, int]:
    """Stop five brokers that keep events of a client that is away, damage disks, start them all again.

    Return the accepted events that its subscription never got, how many places of the logs are damaged, and how many
    events had both copies on damaged disks.
    """
    random = Random(seed)
    network = SimulatedBrokers(BrokerConfiguration(space=SPACE, beat=SECOND, refresh=4 * SECOND), seed=seed)
    numbers = [network.join() for _ in range(1)]
    for _ in range(4):
        network.run(3 * SECOND)
        numbers.append(network.join())
    network.run(10 * SECOND)
    client, publisher = network.client(numbers[0]), network.client(numbers[1])
    client.subscribe("all", "price >= 0")
    assert network.run(60 * SECOND, until=lambda: "all" in client.in_force)
    client.acknowledge_after(None)
    client.go_away()
    network.run(SECOND)
    for place in range(40):
        publisher.publish({"price": 99.0 * place / 40})
    assert network.run(120 * SECOND, until=lambda: len(network.accepted) == 40)
    holders = copies(network)
    assert all(len(where) >= 2 for where in holders.values())
    for number in list(network.brokers):
        network.crash(number)
    ruined: dict[int, set[tuple[int, int]]] = {}
    first = random.choice([number for number in numbers if any(number in where for where in holders.values())])
    partner = next(min(where - {first}) for where in holders.values() if first in where) if both else None
    for number in [first] if partner is None else [first, partner]:
        before = on_disk(network.disks[number])
        if both:
            for _ in range(6):
                network.disks[number].flip("log", random)
        else:
            flip_within_records(network.disks[number], random)
        ruined[number] = before - on_disk(network.disks[number])
    if not both:  # and a torn tail elsewhere, of what nobody was promised
        other = random.choice([number for number in numbers if number != first])
        file = network.disks[other].open("log")
        file.write(b"\xe7rk\x1e\x00\x00\x01\x00", file.size())
        file.sync()
    hit = {event for event, where in holders.items() if all(event in ruined.get(number, ()) for number in where)}
    damaged = 0
    for number in numbers:
        again = network.restart(number)
        log = network.world.processes[again].log
        assert log is not None
        damaged += log.damaged
        network.run(SECOND)
        if number == numbers[0]:
            client.come_back()
    client.acknowledge_after(500)
    want = {("all", event) for event in network.accepted}
    network.run(400 * SECOND, until=lambda: want <= client.delivered.keys())
    return want - client.delivered.keys(), damaged, len(hit)


def copies(network: SimulatedBrokers) -> dict[tuple[int, int], set[int]]:
    """Return on which disks each event lies."""
    found: dict[tuple[int, int], set[int]] = {}
    for number in network.brokers:
        for event in on_disk(network.disk_of(number)):
            found.setdefault(event, set()).add(number)
    return found


def on_disk(disk: SimulatedDisk) -> set[tuple[int, int]]:
    copied = SimulatedDisk()
    file = disk.open("log")
    copied.open("log").write(file.read(0, file.size()), 0)
    entries = open_records(copied).entries()
    return {(batch.publisher, sequence) for _, _, batch in entries for sequence in batch.sequences()}


def flip_within_records(disk: SimulatedDisk, random: Random) -> None:
    """Flip one bit of a record that is kept, not the last one: that could be a tail."""
    before = on_disk(disk)
    while on_disk(disk) == before:
        disk.flip("log", random)


@pytest.mark.parametrize("seed", range(3))
def test_after_damage_to_one_copy_every_accepted_event_is_delivered(seed: int) -> None:
    missing, damaged, both_hit = restarted_with_damage(seed, both=False)
    assert both_hit == 0
    assert damaged >= 1
    assert not missing


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_after_damage_to_one_copy_every_accepted_event_is_delivered_often(seed: int) -> None:
    missing, damaged, both_hit = restarted_with_damage(seed, both=False)
    assert (set(), 0) == (missing, both_hit)
    assert damaged >= 1


@pytest.mark.parametrize("seed", range(3))
def test_what_is_lost_with_both_copies_is_said(seed: int) -> None:
    missing, damaged, both_hit = restarted_with_damage(seed, both=True)
    assert len(missing) <= both_hit
    assert not missing or damaged >= 1
