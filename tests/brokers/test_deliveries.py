"""Accepted events reach everyone who wants them, whatever crashes; and nobody counts one twice."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rookery.brokers.batches import Replicated, RoutedBatch, batch_of, packed
from rookery.brokers.broker import Broker
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.in_flight import InFlightBatch
from rookery.brokers.messages import EventId, PlacedSubscription, PlaceSubscriptions, Routed
from rookery.brokers.store import ZoneStore
from rookery.simulated.brokers import SimulatedBrokers, SimulatedClient
from rookery.simulated.links import LinkConditions

from .alone import alone
from .batch_world import SECOND, World, crowd, finish
from .invariants import network


@pytest.mark.parametrize("brokers", [2, 7])
def test_quiet_network(brokers: int) -> None:
    world = World.of(brokers, seed=brokers)
    crowd(world)
    for _ in range(40):
        world.publish()
        world.made.run(SECOND // 20)
    finish(world, seconds=15)
    assert not any(client.machine.repeated for client in world.made.clients.values())
    assert len(world.delivered()) > 500


def test_an_accepted_event_is_on_two_disks() -> None:
    world = World.of(5, seed=3)
    crowd(world)
    for one in world.subscribers:
        one.client.go_away()  # nobody acknowledges, so everything stays where it is
    for _ in range(30):
        world.publish()
    world.made.run(3 * SECOND)
    wanted = {event for _, event in world.due()}
    assert len(wanted) > 100
    for publisher, sequence in wanted:
        holders = [
            number
            for number in world.made.brokers
            if any(
                batch.publisher == publisher and sequence in batch.sequences()
                for _, _, batch in world.made.records_of(number)
            )
        ]
        assert len(holders) == 2, sequence
    assert not world.delivered()
    for one in world.subscribers:
        one.client.come_back()
    finish(world, seconds=30)


@pytest.mark.parametrize("seed", range(12))
def test_crashes_lose_no_accepted_event(seed: int) -> None:
    conditions = (None, LinkConditions(latency=20_000, loss=0.05), LinkConditions(refusal=4 * SECOND))[seed % 3]
    world = World.of(7, seed=seed, conditions=conditions)
    crowd(world)
    generator = random.Random(seed)
    for round_ in range(30):
        world.publish()
        world.made.run(generator.randrange(SECOND))
        if round_ == 10:
            victim = world.someone()
            pair = {victim}
            if seed % 2:  # an owner with its backup, or somebody else
                backup = world.made.brokers[victim].deliveries.copies.backup
                assert backup is not None
                pair.add(backup)
            elif seed % 4:
                pair.add(world.someone())
            for number in pair:
                world.made.crash(number)
        if round_ == 14:
            for number in pair:
                world.made.restart(number)
    finish(world)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_crashes() -> None:
    for seed in range(100, 300):
        test_crashes_lose_no_accepted_event(seed)


def test_lone_broker_refuses_unless_one_disk_is_enough() -> None:
    world = World.of(1, seed=1)
    world.subscribe(0.0, 1.0)
    world.made.run(SECOND)
    world.publish()
    world.made.run(SECOND)
    assert "no second broker" in world.refused[0]
    assert not world.made.accepted
    weaker = World.of(1, seed=1, durability=BrokerDurability.ONE_DISK)
    weaker.subscribe(0.0, 1.0)
    weaker.made.run(SECOND)
    weaker.publish()
    finish(weaker, seconds=5)


def test_full_disk_is_a_refusal() -> None:
    world = World.of(3, seed=2)
    crowd(world)
    for number in world.made.brokers:
        world.made.disk_of(number).fill()
    world.publish(50)
    world.made.run(SECOND)
    assert set(world.refused) == {"the broker's disk did not take it: No space left on device"}
    assert not world.due()


def test_a_backup_whose_disk_was_full_takes_replicas_when_there_is_room() -> None:
    world = World.of(2, seed=2)
    crowd(world)
    owner, backup = world.made.brokers
    world.made.disk_of(backup).fill()
    for _ in range(10):
        world.publish()
    world.made.run(5 * SECOND)
    owned = list(world.made.brokers[owner].deliveries.in_flight.values())
    assert owned
    assert not any(entry.accepted for entry in owned)
    world.made.disk_of(backup).capacity = None
    world.made.run(3 * SECOND)
    assert all(entry.accepted for entry in owned)
    assert not world.made.brokers[owner].deliveries.in_flight


def test_the_replica_at_a_backup_that_is_gone_counts_for_nothing() -> None:
    """The backup has it and dies before the owner's own disk does: accepted it is when the next backup has it."""
    world = World.of(3, seed=2)
    one = world.subscribe(0.0, 1.0)
    world.made.run(3 * SECOND)
    one.client.go_away()
    owner = world.someone()
    broker = world.made.brokers[owner]
    (owned,) = broker.owned.values()
    broker.deliveries.beat()
    first = broker.deliveries.copies.backup
    assert first is not None
    (second,) = set(world.made.brokers) - {owner, first}
    world.made.disk_of(owner).write_time = 8 * SECOND
    world.made.disk_of(second).write_time = 60 * SECOND
    middle = tuple((low + high) / 2 for low, high in zip(owned.box.lower, owned.box.upper, strict=True))
    publisher = world.made.client(owner, retry=500 * SECOND)
    (event,) = publisher.publish(dict(zip("xy", middle, strict=True)))
    world.made.run(2 * SECOND)
    (entry,) = broker.deliveries.in_flight.values()
    assert (entry.stored, entry.replicated) == (False, True)
    world.made.crash(first)
    assert world.made.run(20 * SECOND, until=lambda: broker.deliveries.copies.backup == second)
    broker.deliveries.replicated(Replicated((entry.number,)), first)  # said before it died, and repeated by a link
    assert not entry.replicated
    assert event not in world.made.accepted
    world.made.run(90 * SECOND)
    assert event in world.made.accepted


def with_a_delivery() -> tuple[World, Broker, InFlightBatch]:
    """A world, an owner in it, and a batch of which one client has not got its delivery."""
    world = World.of(3, seed=2)
    one = world.subscribe(0.0, 1.0)
    world.made.run(3 * SECOND)
    one.client.go_away()
    world.publish(10)
    world.made.run(3 * SECOND)
    owner = next(broker for broker in world.made.brokers.values() if broker.deliveries.in_flight)
    entry = next(iter(owner.deliveries.in_flight.values()))
    return world, owner, entry


def test_a_delivery_is_the_affair_of_the_broker_that_it_was_sent_to() -> None:
    """Nobody else acknowledges it, or has it sent again."""
    world, owner, entry = with_a_delivery()
    ((number, (access_broker, _)),) = entry.deliveries.items()
    other = next(peer for peer in world.made.brokers if peer != access_broker)
    owner.effects()
    owner.deliveries.acknowledge((number,), other)
    owner.deliveries.redeliver((number,), other)
    assert entry.number in owner.deliveries.in_flight
    assert not owner.effects()
    owner.deliveries.acknowledge((number,), access_broker)
    assert entry.number not in owner.deliveries.in_flight


def test_a_batch_that_is_on_its_way_to_another_owner_is_kept_until_it_is_there() -> None:
    """All who were known to want it have it; its new owner may know of more, and has it on no disk yet."""
    _, owner, entry = with_a_delivery()
    ((number, (access_broker, _)),) = entry.deliveries.items()
    entry.moving = True
    owner.deliveries.acknowledge((number,), access_broker)
    assert entry.accepted
    assert entry.number in owner.deliveries.in_flight
    owner.deliveries.moved_on(entry.number)
    assert entry.number not in owner.deliveries.in_flight


def test_a_batch_that_is_published_again_is_taken_once() -> None:
    """Its publisher has no answer for long and publishes it again and again: it is matched once and in flight once."""
    world = World.of(3, seed=2)
    one = world.subscribe(0.0, 1.0)
    world.made.run(3 * SECOND)
    one.client.go_away()
    for number in world.made.brokers:
        world.made.disk_of(number).write_time = 10 * SECOND
    world.publish(20)
    world.made.run(9 * SECOND)
    assert not world.made.accepted
    brokers = world.made.brokers.values()
    assert sum(broker.counters["repeated"] for broker in brokers) > 3
    assert sum(broker.counters["matched"] for broker in brokers) == 20
    assert sum(entry.batch.count for broker in brokers for entry in broker.deliveries.in_flight.values()) == 20
    one.client.come_back()
    finish(world)


def test_a_client_that_is_away_gets_its_backlog_and_no_more() -> None:
    world = World.of(4, seed=5, backlog=30)
    away, there = world.subscribe(0.0, 1.0), world.subscribe(0.0, 1.0)
    world.made.run(3 * SECOND)
    away.client.go_away()
    for _ in range(40):
        world.publish()
        world.made.run(SECOND // 2)
    assert len(there.got) == 200
    assert not away.got
    away.client.come_back()
    world.made.run(10 * SECOND)
    assert 30 <= len(away.got) <= 4 * 35 + 40  # so many for each owner, and what came since the last beat
    assert len(away.got) < 200


def test_a_slow_client_is_given_no_more_than_its_window() -> None:
    world = World.of(3, seed=6, window=20)
    slow = world.subscribe(0.0, 1.0)
    world.made.run(3 * SECOND)
    slow.client.acknowledge_after(None)
    for _ in range(60):
        world.publish()
        world.made.run(SECOND // 10)
    world.made.run(20 * SECOND)
    assert 20 <= len(slow.got) < 20 + 5, "the last one that fits, and the rest of its batch"
    slow.client.acknowledge_after(500)
    finish(world, seconds=30)
    assert len(slow.got) == 300


def away(brokers: int = 5) -> tuple[SimulatedBrokers, SimulatedClient, EventId, int]:
    """A network, a client that sleeps, an event for it that was accepted, and its owner."""
    made = network(brokers, dimensions=1)
    client = made.client(1)
    client.subscribe("all", "")
    assert made.run(10 * SECOND, until=lambda: client.in_force == {"all"})
    client.go_away()
    owner = next(number for number, broker in made.brokers.items() if number != 1 and broker.owned)
    (owned,) = made.brokers[owner].owned.values()
    publisher = made.client(1)
    made.run(SECOND)
    (event,) = publisher.publish({"x": owned.box.lower[0]})
    assert made.run(10 * SECOND, until=lambda: event in made.accepted)
    return made, client, event, owner


def test_an_owner_and_its_backup_that_leave_hand_their_events_on() -> None:
    made, client, event, owner = away()
    backup = made.brokers[owner].deliveries.copies.backup
    assert backup is not None
    made.leave(backup)
    made.leave(owner)
    assert made.run(120 * SECOND, until=lambda: not made.brokers.keys() & {owner, backup})
    client.come_back()
    made.run(60 * SECOND)
    assert made.delivered == {("all", event): 1}


def test_who_leaves_a_last_broker_behind_leaves_after_a_time() -> None:
    made, _, _, owner = away(2)
    made.leave(owner)
    assert not made.run(SECOND, until=lambda: owner not in made.brokers)
    assert made.run(2 * made.configuration.grace_period, until=lambda: owner not in made.brokers)


def test_a_delivery_follows_a_client_that_has_come_back_to_the_broker_that_the_zone_knows() -> None:
    """Another zone knew that it had been elsewhere in between: the delivery went there, and has to come back."""
    broker = alone(durability=BrokerDurability.MEMORY)
    (owned,) = broker.owned.values()

    def subscription(version: int, access_broker: int) -> PlacedSubscription:
        return PlacedSubscription("9/1/a", version, "", (), (0.0, 0.0), (1.0, 1.0), access_broker)

    broker.placement.spread(owned, PlaceSubscriptions((subscription(1, 2),), 0))
    broker.receive(RoutedBatch(batch_of(7, 0, [{"x": 0.5, "y": 0.5}]), packed(np.array([[0.5, 0.5]])), 1), 2, 1)
    (entry,) = broker.deliveries.in_flight.values()
    beside = ZoneStore(broker.configuration.space.schema)
    beside.add(subscription(3, 4), 1 << 60)
    kept, owned.store = owned.store, beside
    broker.deliveries.follow(beside)
    broker.deliveries.follow_moved()
    assert [receiver for receiver, _ in entry.deliveries.values()] == [4]
    owned.store = kept
    broker.receive(Routed((0.0, 0.0), PlaceSubscriptions((subscription(5, 2),), 0), 2), 2, 2)
    assert [receiver for receiver, _ in entry.deliveries.values()] == [2]
