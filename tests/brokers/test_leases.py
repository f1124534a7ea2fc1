"""Leases: what an owner promises, it promises only while nobody can have taken its zone over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rookery.brokers.batches import DeliverBatch
from rookery.brokers.broker import Broker
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.leases import Leases
from rookery.brokers.messages import (
    BrokerHeartbeat,
    JoinRequest,
    OwnerFound,
    PlacedSubscription,
    PlaceSubscriptions,
    ReplicateSubscriptions,
    Routed,
    ZoneReport,
)
from rookery.brokers.ownership import ZoneOwnership
from rookery.machine import ClientId, Send
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.links import LinkConditions
from rookery.space.zones import Path, box_of, split

from . import mutants
from .alone import alone
from .invariants import SECOND, network

LOWER, UPPER = split((), 0, 0.5)


def pair() -> tuple[SimulatedBrokers, dict[str, float]]:
    """Two brokers that keep nothing on a disk, and an event that is the first one's."""
    made = network(2, dimensions=1, durability=BrokerDurability.MEMORY)
    (path,) = made.brokers[1].owned
    return made, {"x": 0.25 if path == LOWER else 0.75}


def wait_until_over(made: SimulatedBrokers) -> None:
    """Let time pass until the first broker's lease has ended by its own clock, looked at or not."""
    (owned,) = made.brokers[1].owned.values()
    while made.brokers[1].leases._end(owned) > made.world.time(1):
        made.run(SECOND // 10)
    assert list(made.brokers[1].owned.values()) == [owned]


def test_an_owner_holds_what_it_matches_without_a_lease() -> None:
    """Its neighbor stands still: nobody wants the event, and yet nothing is said before the lease is held again."""
    made, event = pair()
    made.client(1).publish(event)
    made.run(SECOND)
    assert len(made.accepted) == 1
    made.world.pause(2)
    wait_until_over(made)
    made.clients[1].publish(event)
    made.run(SECOND // 10)
    assert len(made.accepted) == 1
    assert made.brokers[1].counters["held"] == 1
    made.world.resume(2)
    made.run(30 * SECOND)
    assert len(made.accepted) == 2
    assert not made.brokers[1].deliveries.in_flight


def test_a_subscription_is_placed_under_a_lease_only() -> None:
    made, _ = pair()
    made.world.pause(2)
    wait_until_over(made)
    client = made.client(1)
    client.subscribe("all", "")
    made.run(SECOND // 10)
    assert not client.in_force
    made.world.resume(2)
    made.run(30 * SECOND)
    assert client.in_force == {"all"}


def test_a_lease_is_counted_from_when_its_stamp_was_sent() -> None:
    """What was granted long ago and arrives now grants nothing any more."""
    made, _ = pair()
    owner = made.brokers[1]
    (owned,) = owner.owned.values()
    made.world.pause(1)
    made.run(20 * SECOND)  # what the other one has granted meanwhile waits
    held: list[bool] = []
    take = owner.leases.take
    owner.leases.take = lambda giver, stamp, held_for: (take(giver, stamp), held.append(owner.leases.is_held(owned)))  # type: ignore[method-assign, assignment, func-returns-value]
    made.world.resume(1)
    assert held
    assert not any(held)


def test_a_grant_for_what_was_never_sent_is_none() -> None:
    broker = alone()
    broker.receive(OwnerFound(ZoneOwnership(UPPER, 2, 2)), 2, 1)
    (owned,) = broker.owned.values()
    beat = broker.timer()
    assert beat is not None
    broker.wake(beat)
    assert not broker.leases.is_held(owned)
    report = ZoneReport(ZoneOwnership(UPPER, 2, 2), (), (), 1)
    broker.receive(BrokerHeartbeat((report,), grant=1 << 40), 2, beat + 1)
    assert not broker.leases.is_held(owned)
    broker.receive(BrokerHeartbeat((report,), grant=broker.leases.now), 2, beat + 2)
    assert broker.leases.is_held(owned)


def test_grants_from_before_a_zone_was_owned_do_not_count_for_it() -> None:
    """Who gave them spoke of other zones, and may have taken this one over himself."""
    broker = alone()
    lower, upper = split(UPPER, 1, 0.5)
    owners = {2: ZoneOwnership(lower, 2, 2), 3: ZoneOwnership(upper, 2, 3)}
    for number, ownership in owners.items():
        broker.receive(OwnerFound(ownership), number, number)

    def beat_and_grant() -> None:
        beat = broker.timer()
        assert beat is not None
        broker.wake(beat)
        for number, ownership in owners.items():
            heartbeat = BrokerHeartbeat((ZoneReport(ownership, (), (), 1),), grant=broker.leases.now)
            broker.receive(heartbeat, number, beat + number)

    beat_and_grant()
    (owned,) = broker.owned.values()
    assert broker.leases.is_held(owned)
    del owners[3]
    taken = broker.membership.open(ZoneOwnership(upper, 3, 1))
    assert broker.leases.is_held(owned)
    assert not broker.leases.is_held(taken)
    beat_and_grant()
    assert broker.leases.is_held(taken)


def test_no_lease_is_held_while_a_neighbor_is_unknown() -> None:
    """Whoever is there has granted nothing, and may have taken over."""
    broker = alone()
    lower, upper = split(UPPER, 1, 0.5)
    ownership = ZoneOwnership(lower, 2, 2)
    broker.receive(OwnerFound(ZoneOwnership(UPPER, 1, 2)), 2, 1)
    (owned,) = broker.owned.values()
    owned.drop(UPPER)
    broker.receive(OwnerFound(ownership), 2, 2)
    beat = broker.timer()
    assert beat is not None
    broker.wake(beat)
    heartbeat = BrokerHeartbeat((ZoneReport(ownership, (), (), 1),), grant=broker.leases.now)
    broker.receive(heartbeat, 2, beat + 1)
    assert [one.owner for one in owned.neighbors] == [2]
    assert not broker.leases.is_held(owned)
    broker.receive(OwnerFound(ZoneOwnership(upper, 2, 2)), 2, beat + 2)
    assert broker.leases.is_held(owned)


def test_a_late_grant_takes_nothing_from_a_later_one() -> None:
    made, _ = pair()
    leases = made.brokers[1].leases
    (owned,) = made.brokers[1].owned.values()
    leases.take(2, leases.now)
    end = leases._end(owned)
    leases.take(2, leases.now - SECOND)
    assert leases._end(owned) == end


def test_a_stamp_that_comes_late_takes_back_nothing_that_was_granted_since() -> None:
    broker = alone()
    broker.receive(OwnerFound(ZoneOwnership(UPPER, 2, 2)), 2, 1)
    broker.effects()
    broker.leases.give(2, 9)
    broker.leases.give(2, 5)
    broker.leases.heartbeats([2])
    (heartbeat,) = (effect.message for effect in broker.effects() if isinstance(effect, Send))
    assert heartbeat.grant == 9


def test_grants_of_and_to_brokers_that_are_no_neighbors_are_forgotten() -> None:
    made, _ = pair()
    leases = made.brokers[1].leases
    for peer in (2, 77):
        leases.give(peer, 5)
        leases.take(peer, leases.now)
    made.run(2 * made.configuration.beat)
    assert leases._given.keys() == leases._got.keys() == {2}


def test_who_claims_what_another_one_has_is_told_of_that_one() -> None:
    broker = alone()
    broker.receive(OwnerFound(ZoneOwnership(UPPER, 5, 2)), 2, 1)
    broker.effects()
    recut = split(split((), 0, 0.25)[1], 0, 0.75)[0]  # of another tree: it overlaps both halves
    claim = BrokerHeartbeat((ZoneReport(ZoneOwnership(recut, 0, 3), (), (), 1),), stamp=7)
    broker.receive(claim, 3, 2)
    answers = [
        effect.message
        for effect in broker.effects()
        if isinstance(effect, Send) and effect.receiver == 3 and isinstance(effect.message, BrokerHeartbeat)
    ]
    assert {rival.owner for answer in answers for rival, _ in answer.rivals} >= {2}
    assert not any(answer.grant for answer in answers)


def test_a_neighbor_is_granted_nothing_while_another_one_prevails_over_it() -> None:
    """Part of what it says it owns was given to somebody, who has not confirmed that yet."""
    broker = alone()
    claimed = ZoneOwnership(UPPER, 2, 2)
    broker.receive(OwnerFound(claimed), 2, 1)
    broker.effects()
    (owned,) = broker.owned.values()
    given = ZoneOwnership(split(UPPER, 1, 0.5)[0], 5, 3)
    broker.membership.await_confirmation(given, owned)
    claim = BrokerHeartbeat((ZoneReport(claimed, (), (), 1),), stamp=7)
    broker.receive(claim, 2, 2)
    (answer,) = (effect.message for effect in broker.effects() if isinstance(effect, Send) and effect.receiver == 2)
    assert [rival for rival, _ in answer.rivals] == [given]
    assert answer.grant == 0


def test_a_broker_that_slept_takes_over_from_nobody() -> None:
    made = network(5)
    made.world.pause(3)
    made.run(60 * SECOND)
    assert sum(broker.counters["taken over"] for broker in made.brokers.values()) == 1
    made.world.resume(3)
    made.run(60 * SECOND)
    assert made.brokers[3].counters["stalled"] == 1
    assert made.brokers[3].counters["taken over"] == 0
    assert made.brokers[3].counters["yielded"] == 1


def test_who_is_late_for_its_beats_has_heard_less_and_holds_no_longer() -> None:
    """A busy process: nobody is silent because it was late, and its own lease ends by the clock all the same."""
    made, _ = pair()
    broker, beat = made.brokers[1], made.brokers[1].configuration.beat
    (owned,) = broker.owned.values()
    (neighbor,) = owned.neighbors
    heard = broker.routing_table.heard[neighbor.owner] = broker.now
    end = broker.leases._end(owned)
    for number in (1, 2):  # each beat three quarters late, and nothing comes
        due = broker.timer()
        assert due is not None
        broker.wake(due + 3 * beat // 4)
        assert broker.routing_table.heard[neighbor.owner] == heard + number * 3 * beat // 4
        assert broker.leases.is_held(owned) == (broker.now < end)
        assert broker.routing_table.alive(neighbor.owner)
    assert broker.now > end
    assert broker.counters["taken over"] == 0
    assert broker.counters["stalled"] == 0


def test_nobody_takes_over_before_his_own_grant_has_run_out() -> None:
    """That a broker cannot be reached makes no difference: it may live, and count on it."""
    made = network(5)
    made.crash(3)
    made.run(10 * SECOND)
    assert any(3 in broker.routing_table.unreachable for broker in made.brokers.values())
    assert not any(broker.counters["taken over"] for broker in made.brokers.values())
    made.run(15 * SECOND)
    assert sum(broker.counters["taken over"] for broker in made.brokers.values()) == 1


def sleepers(**configuration: BrokerDurability) -> tuple[SimulatedBrokers, Broker]:
    """Four brokers, of which one has no lease: a neighbor stands still, for less than it takes to be taken over."""
    made = network(4, dimensions=1, **configuration)
    owner = made.brokers[1]
    (owned,) = owner.owned.values()
    victim = next(iter(owned.neighbors)).owner
    made.world.pause(victim)
    while owner.leases.are_held():
        made.run(SECOND // 10)
    return made, owner


def test_an_epoch_that_is_made_without_a_lease_has_a_grace_period() -> None:
    """It may be made of one that is beaten, and prevails over who has placed subscriptions since."""
    for is_held in (True, False):
        made, owner = (network(4, dimensions=1), None) if is_held else sleepers()
        owner = owner or made.brokers[1]
        (owned,) = owner.owned.values()
        newcomer = made.join(bootstrap=1)
        owner.membership.joining.give(owned, JoinRequest(newcomer, ()))
        made.perform(1)
        made.run(SECOND // 10)
        zones = [zone for number in (1, newcomer) for zone in made.brokers[number].owned.values()]
        assert len(zones) == 2
        assert [zone.grace_until > 0 for zone in zones] == [not is_held] * 2


@pytest.mark.parametrize("yielded", [True, False])
def test_what_is_matched_without_a_lease_is_matched_again_under_it(yielded: bool) -> None:
    """Who has yielded sends subscriptions that were placed before the event was accepted, and after it was matched."""
    made, owner = sleepers()
    ((path, owned),) = owner.owned.items()
    place = owned.box.lower[0]
    client = made.client(1)
    made.run(SECOND // 10)
    (event,) = client.publish({"x": place})
    made.run(SECOND // 10)
    assert event not in made.accepted
    wire = f"{client.number:x}/1/late"
    late = PlacedSubscription(wire, 1, "", (), owned.box.lower, owned.box.upper, 1)
    placing = Routed(owned.box.lower, PlaceSubscriptions((late,), len(path)), 3)
    sent = ReplicateSubscriptions(path, ((late, 600 * SECOND),), stored=True) if yielded else placing
    owner.receive(sent, 3, made.world.time(1))
    made.perform(1)
    delivered: list[str] = []
    made.world.on_message = lambda _, __, message: (
        delivered.extend((*message.every, *message.names)) if isinstance(message, DeliverBatch) else None
    )
    owner.sessions.deliver = lambda message, _: delivered.extend((*message.every, *message.names))  # type: ignore[method-assign]
    for number, process in made.world.processes.items():
        if process.is_paused:
            made.world.resume(number)
    made.run(owner.configuration.grace_period + 30 * SECOND)
    assert event in made.accepted
    assert wire in delivered


def test_a_batch_whose_zone_goes_in_two_parts_is_matched_in_both() -> None:
    """The second part goes while the first is on its way: its events are nobody's yet, and not the first owner's."""
    made, owner = sleepers(durability=BrokerDurability.MEMORY)
    (owned,) = owner.owned.values()
    low, high = owned.box.lower[0], owned.box.upper[0]
    made.client(1).publish({"x": low}, {"x": low + 0.99 * (high - low)})
    made.run(SECOND // 10)
    ((number, entry),) = owner.deliveries.in_flight.items()
    assert entry.batch.count == 2
    newcomer = made.join(bootstrap=1)
    owner.membership.joining.give(owned, JoinRequest(newcomer, ()))
    made.perform(1)
    made.run(SECOND // 10)
    made.world.pause(newcomer)
    (rest,) = owner.owned.values()
    owner.deliveries.beaten()
    assert entry.moving
    (gone,) = entry.gone
    owner.membership.takeover.contest(ZoneOwnership(rest.path, rest.ownership.epoch + 5, 3, 0))
    assert not owner.owned
    entry.grace_until = 1
    owner.deliveries.end_grace_periods()
    assert entry.grace_until  # it cannot be matched again here
    owner.deliveries.moved_on(number)  # as if the owner of the first part had accepted it
    assert entry.moving
    assert entry.gone == {gone, 1 - gone}


def test_a_batch_that_is_on_its_way_in_part_is_not_assured_before_that_has_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, owner = sleepers(durability=BrokerDurability.MEMORY)
    (owned,) = owner.owned.values()
    made.client(1).publish({"x": owned.box.lower[0]})
    made.run(SECOND // 10)
    (entry,) = owner.deliveries.in_flight.values()
    monkeypatch.setattr(Leases, "are_held", lambda self: True)
    entry.moving = True
    assert not owner.deliveries.can_assure
    owner.deliveries.assure()
    assert not entry.assured
    entry.moving = False
    assert owner.deliveries.can_assure
    owner.deliveries.assure()
    assert entry.accepted


def test_subscriptions_end_under_a_lease_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one what is renewed may not find its way: the zone beside may be nobody's."""
    broker = alone()
    (owned,) = broker.owned.values()
    owned.store.add(PlacedSubscription("9/1/a", 1, "", (), (0.0, 0.0), (1.0, 1.0), 1), broker.configuration.lease)

    def live(microseconds: int) -> None:
        until = broker.now + microseconds
        while (beat := broker.timer()) is not None and beat <= until:
            broker.wake(beat)

    with monkeypatch.context() as patch:
        patch.setattr(Leases, "is_held", lambda self, owned: False)
        live(2 * broker.configuration.lease)
    assert "9/1/a" in owned.store
    live(broker.configuration.lease // 2)
    assert "9/1/a" in owned.store
    live(broker.configuration.lease)
    assert "9/1/a" not in owned.store


def test_who_has_slept_gives_no_zone_away_before_it_has_a_lease_again() -> None:
    made = network(4, dimensions=1)
    ((path, owned),) = made.brokers[2].owned.items()
    made.world.pause(2)
    made.run(20 * SECOND)
    newcomer = made.join(bootstrap=1)
    asked = Routed(owned.box.lower, JoinRequest(newcomer, ()), newcomer)
    after: list[Path] = []

    def first() -> None:
        made.brokers[2].receive(asked, 1, made.world.time(2))
        after.extend(made.brokers[2].owned)

    made.world.processes[2].waiting.insert(0, first)
    made.world.resume(2)
    assert after == [path]


# ---- aimed histories, with and without what was mended -------------------------------------------------------------


def a_stopped_owner(made: SimulatedBrokers) -> bool:
    """Stop an owner until it is taken over, subscribe, publish through the stopped one, let it go on: did it come?"""
    clients = {number: made.client(number) for number in made.brokers}
    made.run(SECOND)
    (path,) = made.brokers[2].owned
    low, high = box_of(path, 1).lower[0], box_of(path, 1).upper[0]
    made.world.pause(2)
    heirs = [number for number in made.brokers if number != 2]
    assert made.run(60 * SECOND, until=lambda: any(made.brokers[one].counters["taken over"] for one in heirs))
    heir = next(one for one in heirs if made.brokers[one].counters["taken over"])
    clients[heir].subscribe("late", f"x >= {low!r} AND x < {high!r}")
    assert made.run(SECOND, until=lambda: clients[heir].in_force == {"late"})
    (event,) = clients[2].publish({"x": (low + high) / 2})
    made.run(SECOND // 100)
    made.world.resume(2)
    made.run(120 * SECOND)
    assert event in made.accepted
    return made.delivered == {("late", event): 1}


def a_zone_cut_anew(made: SimulatedBrokers) -> bool:
    """Stop an owner until its zone is taken over, merged and cut elsewhere, let it go on: does it learn of that?"""
    victim, path = max(
        ((number, path) for number, broker in made.brokers.items() for path in broker.owned),
        key=lambda one: len(one[1]),
    )  # of the deepest zones, whose siblings are zones as well
    made.world.pause(victim)
    others = [broker for number, broker in made.brokers.items() if number != victim]
    assert made.run(90 * SECOND, until=lambda: any(path[:-1] in broker.owned for broker in others))
    owner = next(broker for broker in others if path[:-1] in broker.owned)
    merged = owner.owned[path[:-1]]
    newcomer = made.join(bootstrap=victim)  # who does not answer
    low, high = merged.box.lower[0], merged.box.upper[0]
    owner.membership.joining.give(merged, JoinRequest(newcomer, (), cut=(0, low + 0.3 * (high - low))))
    made.perform(owner.id)
    made.run(SECOND)
    made.world.resume(victim)
    made.run(SECOND)
    return path not in made.brokers[victim].owned


def a_clock_that_steps_back(made: SimulatedBrokers) -> bool:
    """Subscribe, set the client's clock back, let its broker crash, and publish when all zones have said *placed*."""
    client, publisher = made.client(2), made.client(3)
    client.subscribe("all", "")
    assert made.run(10 * SECOND, until=lambda: client.in_force == {"all"})
    made.world.step_clock(ClientId(client.number), -3600 * SECOND)
    made.crash(2)
    assert made.run(60 * SECOND, until=lambda: client.machine.broker != 2 and client.in_force == {"all"})
    events = publisher.publish(*({"x": place / 10} for place in range(10)))
    made.run(120 * SECOND)
    assert set(events) <= made.accepted
    return made.delivered == {("all", event): 1 for event in events}


def a_sleeper(made: SimulatedBrokers) -> bool:
    """Let a broker sleep: does it leave to others what is theirs when it wakes up?"""
    made.world.pause(2)
    made.run(60 * SECOND)
    made.world.resume(2)
    made.run(SECOND)
    return not made.brokers[2].counters["taken over"]


def disks_that_are_nearly_full(made: SimulatedBrokers) -> bool:
    """Let logs move where not all of it fits, then let all brokers crash: is everything still there?"""
    points = [place / 600 for place in range(600)]
    away, back, publisher = made.client(1), made.client(2), made.client(3)
    away.subscribe("third", f"x IN ({', '.join(map(str, points[::3]))})")
    back.subscribe("all", "")
    assert made.run(10 * SECOND, until=lambda: bool(away.in_force and back.in_force))
    for client in (away, back):
        client.acknowledge_after(None)
        client.go_away()
    made.run(SECOND)
    events = [publisher.publish({"x": x})[0] for x in points]
    assert made.run(60 * SECOND, until=lambda: set(events) <= made.accepted)
    for number in made.brokers:
        disk = made.disk_of(number)
        disk.capacity = disk.used + disk.used // 8
    back.acknowledge_after(500)
    back.come_back()
    made.run(30 * SECOND)
    numbers = list(made.brokers)
    for number in numbers:
        made.crash(number)
    for number in numbers:
        made.disks[number].capacity = None
        made.restart(number)
    away.acknowledge_after(500)
    away.come_back()
    made.run(200 * SECOND)
    return {name for name in made.delivered if name[0] == "third"} == {("third", event) for event in events[::3]}


@pytest.mark.parametrize(
    ("history", "mutant"),
    [
        (a_clock_that_steps_back, mutants.versions_by_the_clock),
        (a_stopped_owner, mutants.no_leases),
        (a_zone_cut_anew, mutants.zones_overlap_by_their_paths),
        (a_sleeper, mutants.no_waking_up),
        (disks_that_are_nearly_full, mutants.moves_ignore_what_the_disk_takes),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_what_was_mended_is_found_where_it_is_taken_out(
    history: Callable[[SimulatedBrokers], bool], mutant: mutants.Mutant, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    conditions = LinkConditions(silence=600 * SECOND)  # clients wait for their broker
    assert history(network(4, seed=seed, dimensions=1, conditions=conditions))
    mutant(monkeypatch)
    assert not history(network(4, seed=seed, dimensions=1, conditions=conditions))


@pytest.mark.parametrize("silence", [2, 3])
def test_a_lease_ends_before_any_grant(silence: int) -> None:
    broker = alone(silence=silence)
    assert 0 < Leases(broker).length < silence * broker.configuration.beat
