"""Zones shared anew by statistics: cuts give the shares, steps end, and no event is lost or doubled meanwhile."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.brokers.plans import TOLERANCE, RequestStep, SplitPlan, TransferStep, is_tiling, next_step
from rookery.errors import SpaceError
from rookery.model.schema import Schema
from rookery.simulated.links import LinkConditions
from rookery.space.axes import Axis, EventSpace
from rookery.space.tree import KdTree
from rookery.space.zones import ROOT, Cut, Path, ZoneBox, box_of, contains, sibling, split

from .batch_world import SECOND, SPACE, World, crowd, finish

MIXED = EventSpace(
    Schema(price=float, symbol=str, size=int), [Axis("price", 0, 1000), Axis("symbol"), Axis("size", 0, 100)]
)


def tree_of_events(seed: int, *, zones: int = 64) -> KdTree:
    generator = np.random.default_rng(seed)
    events = np.stack([generator.gamma(2, 40, 4000), generator.beta(2, 8, 4000) * 100], axis=1)
    space = EventSpace(MIXED.schema, [Axis("price", 0, 1000), Axis("size", 0, 100)])
    points = np.stack([space.on(0, events[:, 0]), space.on(1, events[:, 1])], axis=1)
    return KdTree.fit(points, axes=space.axes, zones=zones, dimension="cyclic")


def random_zones(count: int, dimensions: int, generator: random.Random) -> list[Path]:
    zones: list[Path] = [ROOT]
    while len(zones) < count:
        path = zones.pop(generator.randrange(len(zones)))
        axis, box = generator.randrange(dimensions), box_of(path, dimensions)
        share = 0.1 + 0.8 * generator.random()
        zones += split(path, axis, box.lower[axis] + (box.upper[axis] - box.lower[axis]) * share)
    return zones


@given(st.integers(0, 50), st.integers(2, 9), st.integers(1, 8), st.sampled_from([0, 2]))
def test_a_cut_gives_both_sides_their_share(seed: int, brokers: int, below: int, axis: int) -> None:
    below = min(below, brokers - 1)
    plan = SplitPlan.of_tree(tree_of_events(seed), MIXED)
    box = ZoneBox((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    cut = plan.cut(box, axis, below / brokers)
    assert cut is not None
    assert plan.share_below(box, axis, cut) == pytest.approx(below / brokers, abs=1e-6)
    assert plan.brokers_below(ROOT, (axis, cut), brokers) == below
    assert plan.cut(box, 1, 0.5) is None, "nothing is known of symbols"


def test_loads_in_parts_add_up_to_the_whole() -> None:
    plan = SplitPlan.of_tree(tree_of_events(1), MIXED)
    zones = random_zones(20, 3, random.Random(1))
    parts = sum(plan.loads_in(box_of(path, 3)) for path in zones)
    assert parts == pytest.approx(plan.loads_in(box_of(ROOT, 3)))


@given(st.integers(0, 10_000), st.integers(1, 24))
def test_steps_end_with_every_broker_placed_and_its_share_in_its_zone(seed: int, brokers: int) -> None:
    generator = random.Random(seed)
    plan = SplitPlan.of_tree(tree_of_events(seed % 7), MIXED)
    zones, waiting, steps = random_zones(brokers, 3, generator), 0, 0
    while (step := next_step(plan, zones, waiting)) is not None:
        steps += 1
        assert steps <= 2 * brokers
        zones.remove(step.path)
        axis, box = len(step.path) % 3, box_of(step.path, 3)
        if isinstance(step, TransferStep):
            zones.remove(sibling(step.path))  # it is one zone: its owner can merge at once
            zones += [step.path[:-1]] if step.back is None else split(step.path[:-1], *step.back)
            waiting += step.back is None
            assert ROOT not in zones
        else:
            median = axis, 0.5 * (box.lower[axis] + box.upper[axis])
            zones += split(step.path, *(median if step.cut is None else step.cut))
            waiting -= 1
    assert (waiting, len(zones)) == (0, brokers)
    assert sum(2.0 ** -len(path) for path in zones) == 1.0


@given(st.integers(0, 10_000), st.integers(1, 24), st.booleans())
def test_a_tree_of_as_many_zones_as_brokers_becomes_the_network(seed: int, brokers: int, other_axes: bool) -> None:
    generator = np.random.default_rng(seed)
    texts = [["alpha", "beta", "gamma", None][number] for number in generator.integers(0, 4, 500)]
    events = {"price": generator.gamma(2, 40, 500), "symbol": texts}
    learned = EventSpace.learn(MIXED.schema, ["symbol", "price"], events)
    tree = KdTree.fit(learned.points(events), axes=learned.axes, zones=brokers)
    space = MIXED if other_axes else learned
    plan = SplitPlan.of_tree(tree, space) if tree.zone_count > 1 else None
    if plan is None or plan.exact is None:
        return  # two of its cuts fall together on the network's axes
    zones: list[Path] = random_zones(tree.zone_count, space.dimensions, random.Random(seed))
    waiting = steps = 0
    while (step := next_step(plan, zones, waiting)) is not None:
        steps += 1
        assert steps <= 2 * brokers
        zones.remove(step.path)
        if isinstance(step, TransferStep):
            zones.remove(sibling(step.path))
            zones += [step.path[:-1]] if step.back is None else split(step.path[:-1], *step.back)
            waiting += step.back is None
        else:
            assert step.cut is not None
            zones += split(step.path, *step.cut)
            waiting -= 1
    wanted = tree.zones_of_events(learned, events)
    network = KdTree.of_paths(zones, space.axes)
    owners = network.zones_of_events(space, events)
    assert len({*zip(wanted.tolist(), owners.tolist(), strict=True)}) == len(set(wanted.tolist())) == len({*owners})
    if not other_axes:
        assert sorted(zones) == sorted(tree.paths())


def test_a_network_that_suits_the_statistics_stays_as_it_is() -> None:
    plan = SplitPlan.of_tree(tree_of_events(3), MIXED)
    zones = [ROOT]
    waiting = 7
    while (step := next_step(plan, zones, waiting)) is not None:
        assert isinstance(step, RequestStep)
        zones.remove(step.path)
        zones += split(step.path, *((len(step.path) % 3, 0.5) if step.cut is None else step.cut))
        waiting -= 1
    shares = [float(plan.loads_in(box_of(path, 3)).sum()) for path in zones]
    assert max(shares) / min(shares) < (1 + TOLERANCE) ** 3
    assert next_step(plan, zones, 0) is None
    assert next_step(SplitPlan.of_tree(tree_of_events(3), MIXED), zones, 0) is None


@pytest.mark.parametrize(
    ("tree", "loads", "message"),
    [
        (KdTree([Axis("volume")]), None, "no attribute is in both"),
        (KdTree([Axis("price")]), None, "no attribute is in both"),
        (tree_of_events(1, zones=4), [1.0, 2.0], "as many loads"),
        (tree_of_events(1, zones=4), [1.0, 2.0, -1.0, 1.0], "as many loads"),
        (tree_of_events(1, zones=4), [0.0] * 4, "nothing to share"),
    ],
)
def test_statistics_that_say_nothing_are_refused(tree: KdTree, loads: list[float] | None, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        SplitPlan.of_tree(tree, MIXED, loads=loads)


@given(st.integers(0, 10_000), st.integers(1, 24))
def test_zones_of_two_trees_are_no_tiling_whatever_they_add_up_to(seed: int, count: int) -> None:
    generator = random.Random(seed)
    zones = random_zones(count, 2, generator)
    assert is_tiling(zones)
    assert not is_tiling(zones[1:])
    one = generator.choice(zones)
    for low, high in (split(one, 0, box_of(one, 2).lower[0] + 1e-12), (one, one)):
        assert not is_tiling([*(zone for zone in zones if zone != one), low, low if low != one else high])


def test_an_overlap_that_makes_up_for_a_hole_is_no_tiling() -> None:
    low, high = split(ROOT, 0, 0.5)
    assert not is_tiling([low, low[:0] + split(ROOT, 0, 0.25)[1]])
    assert not is_tiling([low, split(low, 1, 0.5)[0], split(high, 1, 0.5)[0]])


def tiling(world: World) -> dict[Path, int] | None:
    """Return the zones once they are at rest."""
    owners = {path: number for number, broker in world.made.brokers.items() for path in broker.owned}
    whole = sum(2.0 ** -len(path) for path in owners) == 1.0
    return owners if whole and all(len(broker.owned) <= 1 for broker in world.made.brokers.values()) else None


def share_anew(world: World, plan: SplitPlan, generator: random.Random, *, crashes: tuple[int, ...] = ()) -> int:
    """Carry a plan out while events are published and brokers crash and come back; return how many steps it took."""
    steps = since = 0
    for turn in range(16_000):
        zones = tiling(world)
        if zones is not None and turn > since:
            waiting = [number for number in world.made.brokers if number not in zones.values()]
            step = next_step(plan, list(zones), len(waiting))
            if step is None:
                return steps
            steps += 1
            since = turn + 4
            if isinstance(step, TransferStep):
                broker = world.made.brokers[zones[step.path]]
                broker.transfer(world.made.calendar.now, patience=30 * SECOND, back=step.back)
            else:
                broker = world.made.brokers[generator.choice(waiting)]
                broker.request_zone(step.path, step.cut, world.made.calendar.now)
            world.made.perform(broker.id)
        if world.waiting < 100:
            world.publish()
        if turn in crashes and len(world.made.brokers) > 2:
            victim = generator.choice(list(world.made.brokers))
            world.made.crash(victim)
            world.made.calendar.after(6 * SECOND, lambda victim=victim: world.made.restart(victim))  # type: ignore[misc]
        world.made.run(SECOND // 20)
    raise AssertionError("the steps do not end")


def skewed(generator: random.Random, count: int) -> tuple[list[tuple[float, float]], SplitPlan]:
    events = [(generator.betavariate(2, 8), generator.betavariate(8, 2)) for _ in range(count)]
    points = SPACE.points({"x": np.array(events)[:, 0], "y": np.array(events)[:, 1]})
    tree = KdTree.fit(points, axes=SPACE.axes, zones=64, dimension="cyclic")
    return events, SplitPlan.of_tree(tree, SPACE)


@pytest.mark.parametrize("seed", range(6))
def test_a_network_is_shared_anew_while_events_flow(seed: int) -> None:
    world = World.of(2 + seed, seed=seed)
    crowd(world)
    generator = random.Random(seed)
    events, plan = skewed(generator, 4000)
    before = tiling(world)
    assert before is not None
    assert share_anew(world, plan, generator) >= 1
    zones = tiling(world)
    assert zones is not None
    assert len(zones) == 2 + seed
    assert zones.keys() != before.keys()
    finish(world)

    def spread(paths: set[Path]) -> float:
        points = [SPACE.point({"x": x, "y": y}) for x, y in events]
        counts = [sum(contains(box_of(path, 2), point) for point in points) for path in paths]
        return max(counts) / (sum(counts) / len(counts))

    assert spread(set(zones)) < 1.35
    assert spread(set(zones)) < spread(set(before))


class Quotes(World):
    """Events as the README has them: a price, and a symbol of capital letters, which are a third of printable ASCII."""

    def an_event(self) -> dict[str, Any]:
        return {
            "x": self.generator.random(),
            "symbol": "".join(self.generator.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=4)),
        }


def test_brokers_that_joined_before_any_event_share_them_by_their_own_samples() -> None:
    space = EventSpace(Schema(x=float, symbol=str), [Axis("x"), Axis("symbol")])
    world: World = Quotes.of(16, seed=4, space=space)
    crowd(world)

    def seen() -> dict[Path, int]:
        return {path: owned.reservoir.seen for one in world.made.brokers.values() for path, owned in one.owned.items()}

    def loads() -> list[int]:
        """Return how many events each zone gets of those of ten seconds."""
        before = seen()
        for _ in range(100):
            world.publish(20)
            world.made.run(SECOND // 10)
        world.made.run(2 * SECOND)
        after = seen()
        assert before.keys() == after.keys(), "zones do not move by themselves"
        return [count - before[path] for path, count in after.items()]

    uneven = loads()
    assert min(uneven) == 0, "some zones have no symbol of capital letters"
    zones = [owned for one in world.made.brokers.values() for owned in one.owned.values()]
    samples = [(owned.reservoir.points[:64], float(owned.reservoir.seen)) for owned in zones]
    plan = SplitPlan.of_samples(samples, 2)
    assert share_anew(world, plan, random.Random(4)) > 0
    even = loads()
    assert min(even) > 0
    assert max(even) < 2 * sum(even) / 16
    assert next_step(plan, list(seen()), 0) is None
    finish(world)


def test_samples_without_events_say_nothing() -> None:
    with pytest.raises(SpaceError, match="seen no events"):
        SplitPlan.of_samples([([], 0.0), ([(0.5, 0.5)], 0.0)], 2)


def disturbed(seed: int) -> None:
    conditions = (None, LinkConditions(latency=20_000, loss=0.05), LinkConditions(refusal=4 * SECOND))[seed % 3]
    world = World.of(3 + seed % 6, seed=seed, conditions=conditions)
    crowd(world)
    generator = random.Random(seed)
    _, plan = skewed(generator, 1000)
    share_anew(world, plan, generator, crashes=(30, 90))
    world.made.run(8 * SECOND)
    finish(world)


@pytest.mark.parametrize("seed", [8, 19, 20, 22, 26, 44, 130, 191])
def test_crashes_while_zones_are_shared_anew_lose_nothing(seed: int) -> None:
    disturbed(seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_five_hundred_crashes_while_zones_are_shared_anew() -> None:
    for seed in range(500):
        try:
            disturbed(seed)
        except AssertionError as error:
            raise AssertionError(f"history {seed}") from error


def test_a_broker_that_waits_in_vain_looks_for_a_zone_itself() -> None:
    world = World.of(4, seed=9)
    zones = tiling(world)
    assert zones is not None
    deepest = max(zones, key=lambda path: (len(path), path))
    broker = world.made.brokers[zones[deepest]]
    broker.transfer(world.made.calendar.now, patience=10 * SECOND)
    world.made.perform(broker.id)
    world.made.run(5 * SECOND)
    assert not broker.owned
    rest = tiling(world)
    assert rest is not None
    assert len(rest) == 3
    broker.request_zone((Cut(0, 0, 0.123),), (1, 0.5), world.made.calendar.now)  # no such zone: nobody answers
    world.made.perform(broker.id)
    world.made.run(3 * SECOND)
    assert not broker.owned
    world.made.run(20 * SECOND)
    assert len(broker.owned) == 1
    assert all(low != high for low, high in pairwise(sorted(tiling(world) or [])))


def test_a_single_broker_keeps_its_zone() -> None:
    world = World.of(1, seed=1)
    (broker,) = world.made.brokers.values()
    broker.transfer(world.made.calendar.now, patience=SECOND)
    world.made.perform(broker.id)
    assert set(broker.owned) == {ROOT}
