"""Delivery is exactly 1.0 when all is quiet again, whatever happened before."""

from __future__ import annotations

import random

import pytest

from rookery.simulated.links import LinkConditions

from .invariants import SECOND, SETTLED, network
from .turmoil import TAKEOVER, History, live_through

#: Half of the histories run over lossless links; in the others packets are lost, latencies vary and deaths show late.
LOSSY = LinkConditions(latency=lambda one, other: 500 + (one * 7919 + other * 104_729) % 80_000, loss=0.05)
SILENT = LinkConditions(latency=5_000, refusal=12 * SECOND)


def conditions(seed: int) -> LinkConditions | None:
    return (None, LOSSY, None, SILENT)[seed % 4]


@pytest.mark.parametrize("seed", [*range(48), 239, 268, 819, 2516])  # the last four found mistakes
def test_histories(seed: int) -> None:
    live_through(seed, dimensions=1 + seed % 3, conditions=conditions(seed))


@pytest.mark.parametrize("seed", range(24))
def test_histories_whose_crashes_are_apart(seed: int) -> None:
    history = live_through(seed, dimensions=1 + seed % 3, conditions=conditions(seed), apart=TAKEOVER)
    assert history.due() or not history.interests


@pytest.mark.slow
@pytest.mark.timeout(6 * 3600)
def test_ten_thousand_histories() -> None:
    for seed in range(48, 10_048):
        try:
            apart = TAKEOVER if seed % 2 else 0
            live_through(seed, dimensions=1 + seed % 3, conditions=conditions(seed), apart=apart)
        except AssertionError as error:
            raise AssertionError(f"history {seed}") from error


def test_a_history_is_a_function_of_its_seed() -> None:
    one, two = (live_through(5, brokers=5, steps=12, conditions=LOSSY) for _ in range(2))
    assert one.made.messages == two.made.messages
    assert one.made.delivered == two.made.delivered
    assert live_through(6, brokers=5, steps=12, conditions=LOSSY).made.messages != one.made.messages


def test_who_gets_a_zone_learns_whom_its_giver_has_met() -> None:
    made = network(4, seed=1)
    giver = made.brokers[2]
    (path,) = giver.seats
    giver.around.meet(99)
    made.leave(2)
    made.run(SECOND // 2)
    (heir,) = (broker for broker in made.brokers.values() if any(path[: len(own)] == own for own in broker.seats))
    assert 99 in heir.around.acquaintances


@pytest.mark.parametrize("seed", range(6))
def test_the_crash_of_an_owner_loses_no_subscription_and_no_event(seed: int) -> None:
    """The heir has the subscriptions before anyone sends them again; events meanwhile are sent until they arrive."""
    history = History(network(9, seed=seed), random.Random(seed))
    for _ in range(7):  # fewer than there are brokers: one has no client, and so only its zone to lose
        history.subscribe()
    history.made.run(10 * SECOND)
    for broker in history.made.brokers.values():
        broker.placement._next_refresh = history.made.calendar.now + 10_000 * SECOND  # nobody sends again
    access = {client.machine.broker for client in history.made.clients.values()}
    victim = next(number for number in history.made.brokers if number not in access)
    history.made.crash(victim)
    published = {}
    for _ in range(30):
        event_id, point = history.publish()
        published[event_id] = history.wanted(point)
        history.made.run(SECOND)
    history.made.run(SETTLED)
    assert set(published) <= history.made.acknowledged
    assert history.made.delivered == {(name, event): 1 for event, names in published.items() for name in names}


def test_the_clients_of_a_departed_broker_go_on_elsewhere() -> None:
    """Their subscriptions stand while they move: what is published meanwhile comes to them."""
    history = History(network(6), random.Random(2))
    for _ in range(6):
        history.subscribe()
    history.made.run(5 * SECOND)
    left = history.made.clients[1].machine.broker
    history.made.leave(left)
    for _ in range(20):
        history.publish()
        history.made.run(SECOND // 10)
    history.made.run(20 * SECOND)
    assert left not in history.made.brokers
    assert history.made.clients[1].machine.broker != left
    history.check_deliveries()
    assert len(history.made.delivered) > 10
