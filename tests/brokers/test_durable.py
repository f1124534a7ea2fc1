"""Durable subscriptions in the world: away for long, their access broker dead, and their program another process."""

from __future__ import annotations

import pytest

from rookery.brokers.placement import Placement

from .batch_world import SECOND, World

AWAY = 120


def away(seed: int) -> World:
    """Let a client go away, its broker crash, and events be published for ten times as long as brokers remember."""
    world = World.of(4, seed=seed)
    client = world.made.client(2)
    client.subscribe("bills", "x < 0.5", durable="bills")
    world.made.run(5 * SECOND)
    world.publish(20)
    world.made.run(5 * SECOND)
    access_broker = client.machine.broker
    assert isinstance(access_broker, int)
    assert client.delivered
    client.go_away()
    world.made.run(SECOND)
    world.made.crash(access_broker)
    for _ in range(AWAY // 10):
        world.publish(5)
        world.made.run(10 * SECOND)
    client.forget()
    world.made.run(60 * SECOND)
    return world


def due(world: World) -> set[tuple[str, tuple[int, int]]]:
    return {("bills", event) for event in world.made.accepted if world.published[event]["x"] < 0.5}


@pytest.mark.parametrize("seed", range(4))
def test_it_outlives_its_broker_and_its_program(seed: int) -> None:
    world = away(seed)
    assert not world.waiting
    assert world.delivered() == due(world)
    assert set(world.made.delivered.values()) == {1}


def test_that_one_that_is_not_durable_would_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above proves something: three refreshes after its broker a subscription ends."""
    monkeypatch.setattr(Placement, "_lease", lambda self, subscription: self._broker.configuration.lease)
    world = away(0)
    assert world.delivered() < due(world)


def test_it_ends_when_nobody_has_had_it_open_for_long() -> None:
    world = World.of(2, seed=1, detached=30 * SECOND)
    client = world.made.client(1)
    client.subscribe("bills", "", durable="bills")
    world.made.run(5 * SECOND)
    client.go_away()
    world.made.run(60 * SECOND)
    world.publish(5)
    world.made.run(20 * SECOND)
    assert not any(len(owned.store) for broker in world.made.brokers.values() for owned in broker.owned.values())
    assert not any(broker.deliveries.in_flight for broker in world.made.brokers.values())


def test_who_is_back_publishes_under_other_numbers() -> None:
    """Brokers know those of before: what had one of them would count as published, and come to nobody."""
    world = World.of(2, seed=1)
    subscriber, publisher = world.made.client(1), world.made.client(2)
    subscriber.subscribe("all", "")
    world.made.run(5 * SECOND)
    before = publisher.publish(*({"x": 0.5, "y": 0.5} for _ in range(3)))
    world.made.run(5 * SECOND)
    publisher.forget()
    world.made.run(5 * SECOND)
    after = publisher.publish(*({"x": 0.5, "y": 0.7} for _ in range(3)))
    world.made.run(5 * SECOND)
    assert {event for _, event in subscriber.delivered} == {*before, *after}
    assert len({*before, *after}) == 6
