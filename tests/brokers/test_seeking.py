"""Which broker a client turns to next, when, and for how long it waits for an answer."""

from __future__ import annotations

import itertools

from rookery.brokers.seeking import FIRST_ANSWER, FIRST_PAUSE, LAST_ANSWER, LAST_PAUSE, MOST_BROKERS, SECOND, Seeking


def test_who_lets_a_client_in_is_the_first_and_those_that_it_names_come_next() -> None:
    seeking = Seeking(["one", "two", "three"], patience=SECOND)
    seeking.begin(0)
    assert seeking.ask(0) == seeking.broker == "one"
    assert seeking.lost(5)
    assert seeking.broker is None
    assert not seeking.is_due(5 + FIRST_PAUSE - 1)
    assert seeking.timer() == 5 + FIRST_PAUSE
    assert seeking.is_due(5 + FIRST_PAUSE)
    assert seeking.ask(9) == "two"
    seeking.welcomed((7, 8))
    assert seeking.is_attached
    assert seeking.brokers == ["two", 7, 8, "three", "one"]
    seeking.learn((9, 8))
    assert seeking.brokers == ["two", 9, 8, 7, "three", "one"]
    seeking.learn(range(100, 200))
    assert seeking.brokers == ["two", *range(100, 100 + MOST_BROKERS - 1)]


def test_who_says_nothing_is_passed_over_and_has_twice_as_long_when_all_were_tried() -> None:
    seeking = Seeking(["one", "two"], patience=0)
    seeking.begin(0)
    now, had = 0, []
    for _ in range(14):
        asked = seeking.ask(now)
        until = seeking.timer() or 0
        assert seeking.pass_over(until - 1) is None
        assert seeking.pass_over(until) == asked
        had.append(until - now)
        now = seeking.timer() or 0
    assert had[:6] == [FIRST_ANSWER] * 2 + [2 * FIRST_ANSWER] * 2 + [4 * FIRST_ANSWER] * 2
    assert had[-2:] == [LAST_ANSWER] * 2
    seeking.ask(now)
    seeking.welcomed(())
    assert seeking.timer() is None
    assert seeking.pass_over(now + 1000 * SECOND) is None, "it has answered"
    seeking.lost(now)
    seeking.ask(now)
    assert seeking.timer() == now + FIRST_ANSWER, "the count begins anew"


def test_the_only_broker_is_not_passed_over() -> None:
    seeking = Seeking(["one"], patience=0)
    seeking.ask(0)
    assert seeking.timer() is None
    assert seeking.pass_over(1000 * SECOND) is None


def test_patience_ends_with_a_connection_and_counts_from_when_there_was_a_broker() -> None:
    seeking = Seeking(["one", "two"], patience=3 * SECOND)
    seeking.begin(0)
    pauses, now = [], 0
    while True:
        seeking.ask(now)
        if not seeking.lost(now):
            break
        pauses.append((seeking.timer() or 0) - now)
        now = seeking.timer() or 0
    assert 3 * SECOND < now < 5 * SECOND
    assert pauses == sorted(pauses)
    assert all(after <= before * 3 // 2 for before, after in itertools.pairwise(pauses))
    assert (pauses[0], pauses[-1]) == (FIRST_PAUSE, LAST_PAUSE)
    seeking.ask(now)
    seeking.welcomed(())
    assert seeking.lost(now + 100 * SECOND), "it had one until now"
