"""Intake: batches are matched in their order, beside everything else, and whatever changes meanwhile counts."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rookery.brokers.batches import Accepted, EventBatch, Refused, batch_of
from rookery.brokers.broker import Broker
from rookery.brokers.client_messages import Attach, DeliverToClient, PublishBatch, Subscribe, Unsubscribe
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.messages import BrokerHeartbeat
from rookery.machine import ClientId, Compute, ComputeFailed

from .alone import CLIENT, ask, attached, sent
from .batch_world import SECOND, World, crowd, finish

NAME = "9/1/s"


def broker_of(where: str = "x >= 0.5", **options: Any) -> Broker:
    """Return a broker alone, with a client that subscribes, to which no matching is a short one."""
    broker = attached(durability=BrokerDurability.MEMORY, **{"compute_from": 1, **options})
    ask(broker, Subscribe(NAME, 1, where))
    return broker


def batch(first: int, *values: float) -> EventBatch:
    return batch_of(CLIENT.number, first, [{"x": value, "y": 0.5} for value in values])


def publish(broker: Broker, *batches: EventBatch) -> list[Any]:
    return ask(broker, *map(PublishBatch, batches))


def computes(effects: list[Any]) -> list[Compute]:
    return [effect for effect in effects if isinstance(effect, Compute)]


def complete(broker: Broker, compute: Compute, result: Any = None) -> list[Any]:
    broker.completed(compute, compute.task() if result is None else result, broker.now)
    return broker.effects()


def events(effects: list[Any], client: ClientId = CLIENT) -> list[int]:
    """Return the sequence numbers of the events that a client is given, in order."""
    return [
        number
        for receiver, message in sent(effects)
        if receiver == client and isinstance(message, DeliverToClient)
        for number in message.delivery.batch.sequences()
    ]


def accepted(effects: list[Any]) -> list[int]:
    return [message.first for _, message in sent(effects) if isinstance(message, Accepted)]


def test_a_long_matching_is_an_effect_and_its_result_is_delivered() -> None:
    broker = broker_of()
    effects = publish(broker, batch(0, 0.4, 0.6))
    (compute,) = computes(effects)
    assert not sent(effects)
    effects = complete(broker, compute)
    assert events(effects) == [1]
    assert accepted(effects) == [0]


def test_a_short_one_is_done_at_once() -> None:
    effects = publish(broker_of(compute_from=100), batch(0, 0.4, 0.6))
    assert not computes(effects)
    assert events(effects) == [1]


def test_conditions_to_be_compiled_make_it_long() -> None:
    broker = attached(durability=BrokerDurability.MEMORY, compute_from=100)
    ask(broker, *(Subscribe(f"9/1/{number}", 1, f"x >= 0.{number}") for number in range(4)))
    (compute,) = computes(publish(broker, batch(0, 0.45)))
    complete(broker, compute)
    assert not computes(publish(broker, batch(1, 0.45)))


def test_batches_that_come_meanwhile_wait_and_keep_their_order() -> None:
    broker = broker_of()
    (first,) = computes(publish(broker, batch(0, 0.9)))
    assert not publish(broker, batch(1, 0.8))
    assert not publish(broker, batch(2, 0.7))
    effects = complete(broker, first)
    assert (events(effects), accepted(effects)) == ([0], [0])
    (second,) = computes(effects)
    effects = complete(broker, second)
    assert (events(effects), accepted(effects)) == ([1, 2], [1, 2])


def test_heartbeats_and_requests_do_not_wait_for_it() -> None:
    broker = broker_of()
    assert computes(publish(broker, batch(0, 0.9)))
    broker.introduce(2, broker.now)
    assert any(isinstance(message, BrokerHeartbeat) for _, message in sent(broker.effects()))
    when = broker.timer()
    assert when is not None
    broker.wake(when)
    later = broker.timer()
    assert later is not None
    assert later > when
    assert sent(ask(broker, Attach()))


def test_published_again_meanwhile_it_is_taken_once() -> None:
    broker = broker_of()
    (compute,) = computes(publish(broker, batch(0, 0.9)))
    assert not publish(broker, batch(0, 0.9))
    effects = complete(broker, compute)
    assert (events(effects), computes(effects)) == ([0], [])


@pytest.mark.parametrize("where", ["x >= 0.5", ""])
def test_who_unsubscribes_meanwhile_gets_nothing(where: str) -> None:
    broker = broker_of(where)
    ask(broker, Subscribe("9/1/other", 1, "x >= 0.1"))
    (compute,) = computes(publish(broker, batch(0, 0.9)))
    ask(broker, Unsubscribe(NAME))
    ((_, message),) = [one for one in sent(complete(broker, compute)) if isinstance(one[1], DeliverToClient)]
    delivery = message.delivery
    assert {*delivery.every, *delivery.names} == {"9/1/other"}


def test_who_subscribes_meanwhile_gets_what_is_published_from_then_on() -> None:
    broker, late = broker_of(), ClientId(8)
    (compute,) = computes(publish(broker, batch(0, 0.9)))
    broker.receive_many([Attach(), Subscribe("8/1/s", 1, "x >= 0.2")], late, broker.now)
    broker.effects()
    publish(broker, batch(1, 0.8))
    effects = complete(broker, compute)
    assert (events(effects), events(effects, late)) == ([0], [])
    (compute,) = computes(effects)
    effects = complete(broker, compute)
    assert (events(effects), events(effects, late)) == ([1], [1])


def test_a_batch_whose_matching_failed_may_be_published_again() -> None:
    broker = broker_of()
    (compute,) = computes(publish(broker, batch(0, 0.9)))
    effects = complete(broker, compute, ComputeFailed("MemoryError"))
    ((_, refused),) = sent(effects)
    assert isinstance(refused, Refused)
    assert not refused.final
    assert "MemoryError" in refused.reason
    (compute,) = computes(publish(broker, batch(0, 0.9)))
    assert events(complete(broker, compute)) == [0]


def test_what_waits_for_its_matching_is_bounded() -> None:
    broker = broker_of(most_in_flight=2)
    assert computes(publish(broker, batch(0, 0.9)))
    assert not publish(broker, batch(1, 0.9))
    ((_, refused),) = sent(publish(broker, batch(2, 0.9)))
    assert isinstance(refused, Refused)
    assert not refused.final


def vain(world: World) -> int:
    return sum(broker.counters["matched in vain"] for broker in world.made.brokers.values())


@pytest.mark.parametrize("seed", range(6))
def test_zones_that_change_hands_while_their_batches_are_matched(seed: int) -> None:
    """Joins, leaves and a crash between the beginning and the end of matchings: all is delivered, and once."""
    world = World.of(3, seed=seed, compute_from=1)
    crowd(world)
    world.made.world.compute_time = 2 * SECOND
    generator = random.Random(seed)
    for round_ in range(24):
        for _ in range(3):
            world.publish()
        world.made.run(generator.randrange(SECOND // 2))
        if round_ % 6 == 1:
            world.made.join()
        elif round_ % 6 == 4 and len(world.made.brokers) > 3:
            world.made.leave(world.someone())
        elif round_ == 12:
            world.made.crash(world.someone())
    if world.made.disks:
        world.made.restart(next(iter(world.made.disks)))
    finish(world, seconds=120)


def test_a_zone_does_change_hands_during_a_matching() -> None:
    """So the histories above prove something: a batch is sent on to the owner of the half that was given away."""
    world = World.of(1, seed=1, durability=BrokerDurability.MEMORY, compute_from=1)
    crowd(world)
    world.made.world.compute_time = 5 * SECOND
    world.publish(40)
    world.made.run(SECOND // 100)
    world.made.join()
    finish(world, seconds=60)
    assert vain(world) == 40
    assert all(broker.counters["matched"] for broker in world.made.brokers.values())
