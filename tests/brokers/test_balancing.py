"""Brokers keep their load even by themselves: nothing is lost meanwhile, and what is even enough stays."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from rookery.brokers.balancing import CALM, LOOKS, MOST, is_uneven
from rookery.brokers.balancing_messages import GiveZone, LoadReport, MeasuredLoad, TakeZone
from rookery.brokers.configuration import BALANCE_EVENTS
from rookery.machine import Compute
from rookery.model.schema import Schema
from rookery.simulated.links import LinkConditions
from rookery.space.axes import Axis, EventSpace
from rookery.space.zones import ROOT, Path, split

from .alone import alone, sent
from .batch_world import SECOND, World, crowd, finish

PERIOD = 5 * SECOND
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: The README's space.
QUOTES = EventSpace(Schema(price=float, symbol=str, x=float), [Axis("price", 0, 1000), Axis("symbol")])


class Quotes(World):
    """Events as the README has them: prices of a few, mostly low, and symbols of capital letters."""

    def an_event(self) -> dict[str, Any]:
        return {
            "price": min(999.0, self.generator.lognormvariate(4, 1)),
            "symbol": "".join(self.generator.choices(LETTERS, k=4)),
            "x": self.generator.random(),
        }


def seen(world: World) -> dict[Path, int]:
    return {path: owned.reservoir.seen for one in world.made.brokers.values() for path, owned in one.owned.items()}


def flow(world: World, seconds: int, count: int = 15, *, also: Callable[[int], None] = lambda turn: None) -> None:
    """Let so many events come in every tenth of a second."""
    for turn in range(10 * seconds):
        if world.waiting < 2_000:
            world.publish(count)
        also(turn)
        world.made.run(SECOND // 10)


def loads(world: World) -> list[int]:
    """Return how many events of ten seconds each zone gets."""
    before = seen(world)
    flow(world, 10)
    world.made.run(2 * SECOND)
    after = seen(world)
    assert before.keys() == after.keys(), "zones that are even have moved"
    return [count - before[path] for path, count in after.items()]


def counted(world: World, name: str) -> int:
    return sum(broker.counters[name] for broker in world.made.brokers.values())


def test_sixteen_brokers_that_joined_before_any_event_are_even_after_a_minute() -> None:
    world: World = Quotes.of(16, seed=4, space=QUOTES, balance=PERIOD)
    crowd(world)
    before = set(seen(world))
    flow(world, 60)
    even = loads(world)
    assert set(seen(world)) != before
    assert len(even) == 16
    assert min(even) > 0
    assert max(even) < 3 * sum(even) / 16
    finish(world)
    moves = counted(world, "balancing steps")
    flow(world, 60)
    assert counted(world, "balancing steps") == moves, "what is even enough stays"
    finish(world)


def test_who_is_not_to_balance_stays() -> None:
    world: World = Quotes.of(8, seed=4, space=QUOTES)
    crowd(world)
    before = set(seen(world))
    flow(world, 40)
    assert set(seen(world)) == before
    assert not counted(world, "balanced")
    finish(world)


def disturbed(seed: int) -> World:
    """Crashes and restarts while brokers balance, and events whose place moves."""
    conditions = (None, LinkConditions(latency=20_000, loss=0.05), LinkConditions(refusal=4 * SECOND))[seed % 3]
    world: World = Quotes.of(4 + seed % 7, seed=seed, space=QUOTES, balance=PERIOD, conditions=conditions)
    crowd(world)
    chance = random.Random(seed)
    strikes = {chance.randrange(100, 500) for _ in range(3)}

    def restart(victim: int) -> None:
        world.made.restart(victim)

    def strike(turn: int) -> None:
        if turn in strikes and len(world.made.brokers) > 2 and not world.made.disks:
            victim = chance.choice(list(world.made.brokers))
            world.made.crash(victim)
            world.made.calendar.after(6 * SECOND, lambda: restart(victim))

    flow(world, 60, 15, also=strike)
    world.made.run(20 * SECOND)
    finish(world)
    return world


@pytest.mark.parametrize("seed", range(6))
def test_crashes_while_brokers_balance_lose_nothing(seed: int) -> None:
    disturbed(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_histories_of_brokers_that_balance() -> None:
    steps = 0
    for seed in range(100, 300):
        try:
            steps += counted(disturbed(seed), "balancing steps")
        except AssertionError as error:
            raise AssertionError(f"history {seed}") from error
    assert steps > 400


def test_what_is_uneven() -> None:
    assert not is_uneven([BALANCE_EVENTS] * 4)
    assert not is_uneven([MOST * 100, 100, 50, 50])
    assert is_uneven([MOST * 100 + 1, 50, 50, 50])
    assert is_uneven([100, 100, 0])
    assert not is_uneven([10, 0, 0]), "too few to say anything"
    assert not is_uneven([])


class Chief:
    """Who is in charge, and what four brokers say to it."""

    def __init__(self) -> None:
        self.broker = alone(balance=PERIOD)
        self.broker.now = PERIOD
        low, high = split(ROOT, 0, 0.5)
        self.zones = [*split(low, 1, 0.5), *split(high, 1, 0.5)]
        self.broker.owned = {self.zones[0]: self.broker.owned[ROOT]}
        self.broker.balancing._told = (self.zones[0],)

    def look(self, events: list[int], **options: Any) -> list[Any]:
        """Let a period pass and every broker report; return what is to be done."""
        self.broker.now += PERIOD
        chance = random.Random(1)
        for number, (zone, count) in enumerate(zip(self.zones, events, strict=True), 1):
            x, y = zone[0].bit / 2, zone[1].bit / 2
            sample = tuple((x + chance.random() / 2, y + chance.random() / 2) for _ in range(min(count, 64)))
            self.broker.balancing.told(LoadReport(number, (MeasuredLoad(zone, count, sample),), **options))
        return self.broker.effects()


UNEVEN = [10 * BALANCE_EVENTS, BALANCE_EVENTS, BALANCE_EVENTS, 0]


def test_one_look_is_none() -> None:
    chief = Chief()
    for look in range(1, LOOKS + 1):
        computed = [effect for effect in chief.look(UNEVEN) if isinstance(effect, Compute)]
        assert bool(computed) is (look == LOOKS)
    (fit,) = computed
    chief.broker.completed(fit, fit.task(), chief.broker.now)
    orders = [message for _, message in sent(chief.broker.effects())]
    assert [type(order) for order in orders] == [GiveZone]


def test_even_loads_break_the_row_and_unknown_ones_say_nothing() -> None:
    chief = Chief()
    for events in (UNEVEN, [100, 100, 100, 100], UNEVEN, [-1, *UNEVEN[1:]]):
        assert not [effect for effect in chief.look(events) if isinstance(effect, Compute)]


def test_an_operator_has_his_own_plan() -> None:
    chief = Chief()
    for _ in range(LOOKS + 2):
        assert not [effect for effect in chief.look(UNEVEN, is_ordered=True) if isinstance(effect, Compute)]


def test_a_step_that_was_being_computed_when_an_operator_came_is_not_taken() -> None:
    chief = Chief()
    (step,) = [effect for _ in range(LOOKS) for effect in chief.look(UNEVEN) if isinstance(effect, Compute)]
    chief.look(UNEVEN, is_ordered=True)
    chief.broker.completed(step, step.task(), chief.broker.now)
    assert not [message for _, message in sent(chief.broker.effects()) if isinstance(message, GiveZone | TakeZone)]


def test_zones_that_do_not_tile_the_space_wait() -> None:
    chief = Chief()
    chief.look(UNEVEN)
    chief.zones[3] = chief.zones[2]
    assert not [effect for effect in chief.look(UNEVEN) if isinstance(effect, Compute)]


def test_an_order_that_had_no_effect_is_given_again_and_a_plan_that_does_not_help_less_often() -> None:
    chief = Chief()
    times = []
    for _ in range(60):
        for effect in chief.look(UNEVEN):
            if isinstance(effect, Compute):
                times.append(chief.broker.now // PERIOD)
                chief.broker.completed(effect, None, chief.broker.now)  # nothing could be better
                chief.broker.effects()
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps[0] >= CALM
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 4 * gaps[0]


def test_who_has_another_zone_than_the_order_says_does_nothing() -> None:
    broker = alone(balance=PERIOD)
    broker.receive(GiveZone((*split(ROOT, 0, 0.5)[1],), None), 2, broker.now)
    broker.receive(TakeZone(ROOT, None), 2, broker.now)
    assert set(broker.owned) == {ROOT}
    assert not [one for one in sent(broker.effects()) if one[0] != 1]
