"""Zones, ownerships and tables, one at a time: the pieces from which the invariants of the network follow."""

from __future__ import annotations

import math
import random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.client_messages import Attach
from rookery.brokers.events import BrokerMessageRejected
from rookery.brokers.messages import (
    FindOwner,
    JoinRequest,
    Message,
    PlacedSubscription,
    PlaceSubscription,
    ReplicateSubscriptions,
    Routed,
    Transfer,
    ZoneState,
)
from rookery.brokers.ownership import OwnershipMap, ZoneOwnership
from rookery.brokers.sampling import Reservoir, cut_of
from rookery.brokers.spanhop import depth_of, greedy_hop, next_hop
from rookery.brokers.static import StaticBrokers
from rookery.brokers.tables import exact_tables
from rookery.brokers.zones import (
    ROOT,
    Path,
    ZoneBox,
    box_of,
    contains,
    gap,
    meets,
    overlap,
    parent,
    sibling,
    split,
    subtract,
    touching,
    volume,
)
from rookery.machine import ClientId, Close, Emit

from .invariants import SECOND, network, owned_zones

UNIT = st.floats(0, 1, exclude_max=True)


@st.composite
def paths(draw: st.DrawFn, dimensions: int = 2, longest: int = 8) -> Path:
    path: Path = ROOT
    for _ in range(draw(st.integers(0, longest))):
        box = box_of(path, dimensions)
        axis = len(path) % dimensions
        share = draw(st.sampled_from([0.25, 0.5, 0.75]))
        cut = box.lower[axis] + share * (box.upper[axis] - box.lower[axis])
        path = split(path, cut)[draw(st.integers(0, 1))]
    return path


@given(path=paths(), point=st.tuples(UNIT, UNIT))
def test_merge_undoes_split(path: Path, point: tuple[float, float]) -> None:
    """K9, and a point of a zone lies in exactly one of its halves."""
    box = box_of(path, 2)
    axis = len(path) % 2
    low, high = split(path, (box.lower[axis] + box.upper[axis]) / 2)
    assert parent(low) == parent(high) == path
    assert (sibling(low), sibling(high)) == (high, low)
    assert volume(box_of(low, 2)) + volume(box_of(high, 2)) == pytest.approx(volume(box))
    assert touching(box_of(low, 2), box_of(high, 2))
    inside_halves = [contains(box_of(half, 2), point) for half in (low, high)]
    assert sum(inside_halves) == contains(box, point)
    assert contains(box, point) == (gap(box, point) == (0.0, 0)) == (depth_of(path, point, 2) == len(path))


@given(one=paths(), other=paths())
def test_zones_overlap_or_are_apart(one: Path, other: Path) -> None:
    mine, theirs = box_of(one, 2), box_of(other, 2)
    shared = all(
        max(a, c) < min(b, d) for a, b, c, d in zip(mine.lower, mine.upper, theirs.lower, theirs.upper, strict=True)
    )
    if overlap(one, other):
        assert shared
    assert not (touching(mine, theirs) and shared)


@given(whole=paths(longest=3), parts=st.lists(paths(), max_size=6), point=st.tuples(UNIT, UNIT))
def test_what_is_left_after_cutting_out(whole: Path, parts: list[Path], point: tuple[float, float]) -> None:
    left = [box_of(whole, 2)]
    for part in parts:
        left = subtract(left, box_of(part, 2))
    wanted = contains(box_of(whole, 2), point) and not any(contains(box_of(part, 2), point) for part in parts)
    assert sum(contains(box, point) for box in left) == wanted


@given(path=paths(), a=st.tuples(UNIT, UNIT), b=st.tuples(UNIT, UNIT))
def test_a_zone_meets_a_box_where_the_corner_is_shared(
    path: Path, a: tuple[float, float], b: tuple[float, float]
) -> None:
    lower, upper = tuple(map(min, a, b)), tuple(map(max, a, b))
    box = box_of(path, 2)
    corner = tuple(map(max, lower, box.lower))
    assert meets(box, lower, upper) == (contains(box, corner) and all(map(float.__le__, corner, upper)))


@given(
    ownerships=st.lists(st.builds(ZoneOwnership, paths(longest=4), st.integers(0, 3), st.integers(1, 3)), max_size=8),
    seed=st.integers(),
)
def test_claims_that_prevail_over_all_others_are_kept_in_any_order(ownerships: list[ZoneOwnership], seed: int) -> None:
    shuffled = random.Random(seed).sample(ownerships, len(ownerships))
    one = {ownership.path: (ownership.epoch, ownership.owner) for ownership in OwnershipMap(ownerships)}
    kept = list(OwnershipMap(shuffled))
    assert all(not overlap(a.path, b.path) for a in kept for b in kept if a is not b)
    for ownership in ownerships:
        if all(
            ownership is other or not overlap(ownership.path, other.path) or ownership.prevails(other)
            for other in ownerships
        ):
            assert one[ownership.path] == (ownership.epoch, ownership.owner)
            assert ownership in kept


@pytest.mark.parametrize(("dimensions", "bits"), [(2, 2), (2, 3), (3, 3)])
def test_every_hop_makes_progress(dimensions: int, bits: int) -> None:
    """K5: the level never falls, and within a level the distance of the level's zone strictly falls."""
    zones = StaticBrokers.grown(80, dimensions=dimensions, generator=np.random.default_rng(6), choices=1).paths()
    generator = random.Random(2)
    tables = exact_tables(
        zones, dimensions=dimensions, bits=bits, resident=lambda broker, zone, within: generator.choice(within)
    )
    deepest = max(map(len, zones))
    for _ in range(300):
        point = tuple(generator.random() for _ in range(dimensions))
        table, before, hops = generator.choice(tables), None, 0
        while (hop := next_hop(table, point)) is not None:
            level = depth_of(table.path, point, dimensions) // bits
            measure = (-level, gap(box_of(table.path[: (level + 1) * bits], dimensions), point))
            assert before is None or measure < before
            before, table, hops = measure, tables[hop.owner], hops + 1
        assert contains(box_of(table.path, dimensions), point)
        assert hops <= (2**bits - 1) * math.ceil(deepest / bits)


def test_failures_are_routed_round() -> None:
    """Cases 1 to 3: any single broker other than the ends may be dead."""
    zones = StaticBrokers.balanced(2, 6).paths()
    tables = exact_tables(zones, dimensions=2, bits=2, resident=lambda broker, zone, within: within[0])
    point = box_of(zones[-1], 2).lower
    for dead in range(1, len(zones) - 1):
        broker, visited = 0, []
        while not contains(box_of(zones[broker], 2), point):
            visited.append(broker)
            came_back = broker in visited[:-1]
            hop = next_hop(
                tables[broker],
                point,
                usable=lambda ownership, dead=dead: ownership.owner != dead,
                neighbors_only=came_back,
                used=frozenset(visited) if came_back else frozenset(),
            )
            assert hop is not None
            broker = hop.owner
    assert greedy_hop(tables[0], point) is not None
    assert greedy_hop(tables[-1], point) is None


def test_a_reservoir_is_a_uniform_sample_and_a_cut_is_its_median() -> None:
    generator = random.Random(1)
    reservoir = Reservoir()
    for number in range(10_000):
        reservoir.add((number / 10_000, 0.5), generator)
    assert (len(reservoir.points), reservoir.seen) == (256, 10_000)
    assert cut_of(ZoneBox((0, 0), (1, 1)), 0, reservoir.points) == pytest.approx(0.5, abs=0.1)
    assert cut_of(ZoneBox((0, 0), (1, 1)), 1, [(0.1, 0.0)] * 20) == 0.5  # the median is on the border
    half = reservoir.part(ZoneBox((0, 0), (0.5, 1)))
    assert half.seen == pytest.approx(5000, rel=0.2)


def test_the_ancestor_queue_keeps_the_latest_residents_and_forgets_the_silent() -> None:
    zones = StaticBrokers.balanced(2, 4).paths()
    queue = AncestorQueue(zones[0], dimensions=2, bits=2, capacity=3)
    for owner in range(4, 8):
        queue.learn(ZoneOwnership(zones[owner], 1, owner))
    (residents,) = [entries for zone, entries in queue.levels[1].items() if zone == zones[4][:2]]
    assert [ownership.owner for ownership in residents] == [7, 6, 5]
    queue.prefer(ZoneOwnership(zones[5], 1, 5))
    queue.learn(ZoneOwnership(zones[4], 1, 4))
    assert [ownership.owner for ownership in residents] == [5, 4, 7]
    queue.forget(5)
    for _ in range(3):
        queue.renew()
        queue.learn(ZoneOwnership(zones[4], 1, 4))
    assert [ownership.owner for ownership in queue] == [4]
    assert all(not contains(box_of(zones[0][:2], 2), point) for point in queue.probes(random.Random(1))[:2])


def test_a_subscription_comes_to_each_zone_exactly_once() -> None:
    made = network(40, seed=8)
    handled = {number: broker.counters["subscriptions spread"] for number, broker in made.brokers.items()}
    made.subscribe(7, "wide", "x >= 0.2 AND x < 0.7 AND y < 0.6")
    made.run(2 * SECOND)
    (wire,) = made.brokers[7].placement.clients
    stored = [
        number for number, broker in made.brokers.items() for owned in broker.owned.values() if wire in owned.store
    ]
    came = {
        number: broker.counters["subscriptions spread"] - handled[number] for number, broker in made.brokers.items()
    }
    assert len(stored) > 5
    assert all(came[number] == 1 for number in stored if number != 7)
    assert sum(came.values()) <= len(stored) + 1  # beside them only the access broker


def test_messages_survive_the_wire() -> None:
    """Every message of a living network is the same after encoding and decoding."""
    made = network(8, seed=3)
    decoder = msgspec.msgpack.Decoder(Message)
    carried: list[Message] = []
    made.world.on_message = lambda sender, receiver, message: (
        carried.append(message) if isinstance(sender, int) and isinstance(receiver, int) else None
    )
    made.subscribe(2, "some", "x < 0.5")
    made.publish(3, {"x": 0.25, "y": 0.5})
    made.join()
    made.run(70 * SECOND)
    made.leave(4)
    made.run(SECOND)
    assert {type(message).__name__ for message in carried} >= {"Heartbeat", "Routed", "Grant", "Granted", "Here"}
    for message in carried:
        assert decoder.decode(msgspec.msgpack.encode(message)) == message
    assert decoder.decode(msgspec.msgpack.encode(Routed((0.5,), FindOwner(3), 3))).body == FindOwner(3)
    assert len(owned_zones(made)) == len(made.brokers)


def test_a_message_of_another_space_is_rejected_and_harms_nobody() -> None:
    made = network(3)
    (broker, *_) = made.brokers.values()
    stranger = PlacedSubscription("s", 1, "x <", (), (0.0,), (1.0,), 99)
    ill = PlacedSubscription("ill", 1, "x <", (), (0.0, 0.0), (1.0, 1.0), 99)
    (owned,) = broker.owned.values()
    for message in (
        Routed((0.5,), FindOwner(99), 99),
        Routed((0.5, 0.5), PlaceSubscription(stranger, 0), 99),
        Routed((0.5, 0.5), JoinRequest(99, (), ((0.1,),)), 99),
        ReplicateSubscriptions(owned.path, ((stranger, 5),)),
        Transfer(ZoneState(ZoneOwnership(owned.path, 9, broker.id), (), (), ((stranger, 5),), (), 0, ())),
        Transfer(
            ZoneState(
                ZoneOwnership(owned.path, 9, broker.id), (), (), (), (), 0, (((), (0.5,), ZoneOwnership((), 1, 9), 5),)
            )
        ),
    ):
        broker.receive(message, 99, made.calendar.now)
        assert [type(effect.event) for effect in broker.effects() if isinstance(effect, Emit)] == [
            BrokerMessageRejected
        ]
    broker.receive(Routed(owned.box.lower, PlaceSubscription(ill, 0), 99), 99, made.calendar.now)
    made.publish(broker.id, {"x": owned.box.lower[0] + 1e-3, "y": owned.box.lower[1] + 1e-3})
    made.run(SECOND)
    assert broker.counters["rejected"] == 6
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(ZoneOwnership(((0, 0.5),) * 65, 1, 1)), type=ZoneOwnership)


def test_a_leaving_broker_takes_no_clients() -> None:
    made = network(3)
    broker = made.brokers[2]
    broker.leave(made.calendar.now)
    broker.effects()
    broker.receive(Attach(), ClientId(9), made.calendar.now)
    assert broker.effects() == [Close(ClientId(9), "leaving")]
    assert not broker.sessions.attached
