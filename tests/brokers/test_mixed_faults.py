"""Accepted means delivered, under any mixture of faults; and the histories find each mend that is taken out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.histories import live_or_shrink, live_through_all, replayed

from . import mutants
from .mixed_faults import FIRST_AS_LIVE, REPLAY, Tally, live_mixed

#: Histories in one test.
LOT = 30


def prove(seeds: range, say: Callable[[str], None]) -> Tally:
    """Live through histories: none fails, most of them prove something, and hardly anything is refused."""
    tally = Tally()
    live_through_all(tally.live, seeds, test=REPLAY, say=say)
    assert tally.counting >= 0.6 * tally.histories
    assert tally.refused_outside_faults <= 0.05 * tally.published
    assert tally.due > 10 * tally.histories
    return tally


@pytest.mark.parametrize("first", range(0, 300, LOT))
def test_nothing_that_was_accepted_is_missed_or_doubled(first: int) -> None:
    prove(range(first, first + LOT), lambda line: None)


@pytest.mark.parametrize("first", range(FIRST_AS_LIVE, FIRST_AS_LIVE + 60, LOT))
def test_nor_where_brokers_balance_and_find_their_places(first: int) -> None:
    assert prove(range(first, first + LOT), lambda line: None).balancing_steps > LOT


#: Histories that lost something. Where nobody owned the corner of a subscription the zones behind it did not hear of
#: it: their grace periods ended without it (the first four), or it ended there while its client lived (2120, 7108). A
#: delivery went where its client had been (2025). Who woke up cut a zone that it had lost, and prevailed over who knew
#: more subscriptions (6502). An owner left, and its backup (7028).
FOUND = (792, 1010, 1206, 1218, 2025, 2120, 6502, 7028, 7108)
#: Events that were neither accepted nor refused: an answer of the backup was lost, and nobody asked again (5975); a
#: client spoke to who had come back at its broker's address, and had never let it in (4644, of the world itself).
UNTOLD = (4644, 5975)
#: Histories that did not come to rest: two trees of cuts left a hole that no zone of either fits into (802), or fitted
#: together as no tree does (4950); two owners exchanged the halves of a zone at every beat (the others).
RESTLESS = (802, 3742, 4950, 6443, 7219, 9039, 9666)


@pytest.mark.parametrize("seed", FOUND + UNTOLD + RESTLESS)
def test_histories_that_found_something(seed: int) -> None:
    live_or_shrink(live_mixed, seed, test=REPLAY)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(300, 10_300, 1000))
def test_ten_thousand_histories(first: int, say: Callable[[str], None]) -> None:
    for line in prove(range(first, first + 1000), say).lines():
        say(line)


@pytest.mark.skipif(replayed() is None, reason="no history is named: ROOKERY_SEED, ROOKERY_FAULTS")
def test_replay() -> None:
    named = replayed()
    assert named is not None
    live_mixed(*named)


@pytest.mark.parametrize("mutant", [mutants.versions_by_the_clock])
def test_histories_find_a_mend_that_is_taken_out(mutant: mutants.Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others need rarer histories: `test_leases.py` has them aimed at."""
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match="replay: ROOKERY_SEED="):
        live_through_all(live_mixed, range(8), test=REPLAY)
