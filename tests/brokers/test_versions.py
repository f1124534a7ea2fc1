"""The later subscription stands, whoever forgot what; and whoever was told that his is placed gets every event."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.brokers.batches import Superseded
from rookery.brokers.client_messages import Attach, Subscribe, Subscribed
from rookery.brokers.messages import PlacedSubscription
from rookery.brokers.store import MOST_TAKEN_BACK, ZoneStore
from rookery.brokers.versions import MOST_VERSION, Versions
from rookery.machine import ClientId
from rookery.simulated.links import LinkConditions

from .batch_world import SECOND, SPACE, World

#: What clients took for a version before they counted: the microseconds of a clock that ran ahead.
CLOCK = 1_800_000_000_000_000


def test_versions_only_go_up() -> None:
    versions = Versions()
    assert [versions.next("a"), versions.next("b"), versions.next("a")] == [1, 2, 3]
    assert versions.is_current("a", 3)
    assert not versions.is_current("a", 1)
    assert versions.is_beaten("a", 3)  # somebody else's third
    assert not versions.is_beaten("a", 2)  # an answer to an earlier one
    assert versions.is_beaten("b", CLOCK)
    assert versions.next("b") == CLOCK + 1
    versions.learn(7)
    assert versions.next("a") == CLOCK + 2
    versions.forget("a")
    assert not versions.is_beaten("a", CLOCK + 9)
    assert not versions.is_current("a", CLOCK + 2)
    versions.learn(MOST_VERSION - 1)
    assert versions.next("c") == MOST_VERSION
    assert versions.next("c") is None


@given(st.permutations([(version, access_broker) for version in (1, 2, CLOCK) for access_broker in (3, 4)]))
def test_zones_keep_the_same_one_in_whatever_order_they_hear(order: list[tuple[int, int]]) -> None:
    store = ZoneStore(SPACE.schema)
    for turn, (version, access_broker) in enumerate(order):
        one = PlacedSubscription("s", version, "x < 1", (), (0.0, 0.0), (1.0, 1.0), access_broker)
        added = store.add(one, turn)
        held = store.get("s")
        assert held is not None
        assert added == (held is one) == ((version, access_broker) == max(order[: turn + 1]))
    assert held.rank == (CLOCK, 4)


def test_what_was_superseded_prolongs_nothing() -> None:
    """A broker that a client has left sends the old version for another hour: the later one must not live by that."""
    store = ZoneStore(SPACE.schema)
    old, new = (PlacedSubscription("s", version, "", (), (0.0, 0.0), (1.0, 1.0), 1) for version in (1, 2))
    assert store.add(new, 10)
    assert not store.add(old, 99)
    assert store.add(new, 20)
    assert store.expire(19) == []
    assert store.expire(20) == ["s"]


def test_what_was_taken_back_is_not_placed_again_by_what_was_said_before() -> None:
    """A message that was held up comes after the one that took its subscription back, and nobody says so again."""
    store = ZoneStore(SPACE.schema)
    late, later = (PlacedSubscription("s", version, "", (), (0.0, 0.0), (1.0, 1.0), 1) for version in (1, 2))
    assert store.add(late, 100)
    assert store.take_back("s", late.rank, 50)
    assert not store.add(late, 100)
    assert store.version("s") == 1
    assert list(store.taken_back()) == [("s", (1, 1), 50)]
    assert store.add(later, 100), "it is subscribed to anew"
    assert not store.take_back("s", late.rank, 60), "by a broker that its client has left"
    assert store.get("s") == later
    assert store.version("s") == 2
    store.expire(60)
    assert list(store.taken_back()) == [], "in the end it is forgotten"


def test_what_was_taken_back_is_remembered_within_bounds() -> None:
    store = ZoneStore(SPACE.schema)
    for number in range(MOST_TAKEN_BACK + 5):
        store.take_back(f"s{number}", (1, 1), 10)
    assert [name for name, _, _ in store.taken_back()] == [f"s{number}" for number in range(5, MOST_TAKEN_BACK + 5)]


def publish(world: World, generator: random.Random, rounds: int = 12) -> None:
    for _ in range(rounds):
        world.publish()
        world.made.run(generator.randrange(SECOND // 2))


def finish(world: World, *, seconds: int = 60) -> None:
    world.made.run(seconds * SECOND)
    assert not world.waiting
    assert world.made.accepted == set(world.published)
    assert world.due() == world.delivered()


def placed(world: World) -> None:
    assert world.made.run(60 * SECOND, until=lambda: all(one.is_placed for one in world.subscribers))


SEEDS = 8


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_client_that_has_lost_count_gets_every_event(seed: int) -> None:
    """Its broker crashes, its clock steps back an hour: what the zones have is greater than what it would say."""
    lose_count(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_three_hundred_clients_that_have_lost_count() -> None:
    for seed in range(SEEDS, SEEDS + 300):
        lose_count(seed)


def lose_count(seed: int) -> None:
    conditions = (None, LinkConditions(latency=20_000, loss=0.05), LinkConditions(refusal=2 * SECOND))[seed % 3]
    world = World.of(6, seed=seed, conditions=conditions)
    generator = random.Random(seed)
    for _ in range(6):
        low = generator.random() * 0.6
        world.subscribe(low, low + 0.4).client.machine.versions.learn(generator.choice([0, 40, CLOCK]))
    placed(world)
    for one in world.subscribers[::2]:
        one.client.go_away()  # and to another broker, above what was learned
        one.client.come_back()
    world.made.run(SECOND)
    placed(world)
    publish(world, generator)
    victim = world.subscribers[0].broker
    world.made.crash(victim)
    for one in world.subscribers:
        if one.broker == victim or generator.random() < 0.5:
            one.client.forget()
    publish(world, generator)
    placed(world)
    publish(world, generator)
    finish(world)
    assert any(broker.counters["superseded"] for broker in world.made.brokers.values())


@pytest.mark.parametrize("seed", range(4))
def test_a_broker_that_a_client_has_left_takes_nothing_away(seed: int) -> None:
    """It gives the client up at last and takes its subscription back: the old one, not the one made elsewhere since."""
    world = World.of(5, seed=seed, detached=10 * SECOND)
    generator = random.Random(seed)
    one = world.subscribe(0.0, 1.0)
    placed(world)
    left = one.broker
    one.client.go_away()
    one.client.machine.seeking.brokers = [number for number in world.made.brokers if number != left]
    one.client.come_back()
    world.made.run(SECOND)
    placed(world)
    assert one.broker != left
    assert world.made.run(30 * SECOND, until=lambda: world.made.brokers[left].counters["clients given up"] > 0)
    publish(world, generator)
    finish(world, seconds=20)
    assert len(one.got) == 60


@pytest.mark.parametrize("seed", range(4))
def test_of_two_with_one_number_one_has_the_subscription_everywhere(seed: int) -> None:
    """Both count from one, at two brokers, at one moment: one is told that it is placed, the other what beats it."""
    world = World.of(
        6, seed=seed, conditions=LinkConditions(latency=lambda one, other: 1_000 * (1 + 7 * one * other % 23))
    )
    told: dict[int, list[Subscribed | Superseded]] = {}

    def note(sender: object, receiver: object, message: object) -> None:
        if isinstance(sender, int) and receiver == ClientId(7) and isinstance(message, Subscribed | Superseded):
            told.setdefault(sender, []).append(message)

    both = random.Random(seed).sample(sorted(world.made.brokers), 2)
    for number in both:
        ask(world, number, Attach(), Subscribe("7/1/s", 1, "x < 1"), client=7, heard=note)
    world.made.run(3 * SECOND)
    lesser, greater = sorted(both)
    assert told[greater] == [Subscribed("7/1/s", 1)]
    assert told[lesser] == [Superseded("7/1/s", 1, 1)]
    zones = [owned for broker in world.made.brokers.values() for owned in broker.owned.values()]
    assert [held.access_broker for owned in zones if (held := owned.store.get("7/1/s"))] == [greater] * len(zones)


def test_said_twice_is_said_once_and_an_older_one_is_not_taken() -> None:
    world = World.of(3, seed=4)
    (number, *_) = world.made.brokers
    broker = world.made.brokers[number]
    heard: list[object] = []
    name, where, other = "9/1/s", "x >= 0.0 AND x < 1.0", "x < 0.1"
    ask(world, number, Attach(), client=9, heard=lambda _, __, message: heard.append(message))
    assert broker.sessions.version_of(9) == 0
    for version, said, stands in (
        (1, where, 1),
        (1, where, 1),
        (1, other, 1),
        (5, where, 5),
        (4, where, 5),
        (5, other, 5),
        (6, other, 6),
    ):
        ask(world, number, Subscribe(name, version, said), client=9, heard=lambda _, __, message: heard.append(message))
        held = broker.placement.clients[name]
        assert (held.version, held.where) == (stands, other if stands == 6 else where)
    assert broker.sessions.version_of(9) == 6
    assert broker.sessions.version_of(99) == 0
    beaten = [(message.version, message.stored) for message in heard if isinstance(message, Superseded)]
    assert beaten == [(1, 1), (4, 5), (5, 5)]


def ask(
    world: World, number: int, *requests: object, client: int, heard: Callable[[object, object, object], None]
) -> None:
    """Say something to a broker as a client does that is no machine, and listen to what all brokers answer."""
    broker = world.made.brokers[number]
    broker.receive_many(requests, ClientId(client), world.made.world.time(broker.id))
    world.made.world.on_message = heard
    world.made.perform(number)
