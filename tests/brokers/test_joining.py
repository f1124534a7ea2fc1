"""How a broker without a zone finds one; how zones are given is in `test_turmoil.py` and `test_plans.py`."""

from __future__ import annotations

from .invariants import SECOND, network


def test_a_newcomer_asks_others_where_the_one_it_asked_stands_still() -> None:
    made = network(4)
    made.world.pause(1)
    number = made.join(bootstrap=1)
    assert made.run(120 * SECOND, until=lambda: bool(made.brokers[number].owned))


def test_who_has_lost_its_zone_to_one_that_stands_still_finds_another() -> None:
    made = network(6)
    made.world.pause(3)
    made.run(40 * SECOND)
    winner = next(number for number, broker in made.brokers.items() if broker.counters["taken over"])
    made.world.pause(winner)
    made.world.resume(3)
    made.run(60 * SECOND)
    assert made.brokers[3].owned
