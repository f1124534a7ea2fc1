"""Nothing missed at rest and nothing doubled ever, whatever happened before: 200 histories, 10,000 on demand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.histories import Faults, live_or_shrink, live_through_all, replayed

from .histories import History, steps_of

REPLAY = "tests/overlay/test_histories.py -k replay"
#: Histories that found defects, now mended: ways back given up while the overlay was in two parts (71, 107, 123), a
#: member that looked things up through fingers which were long gone (206), and a newcomer that did not take its place
#: because an event that it had published found nobody (737). They had fewer doubles, and rested for long.
FOUND = (71, 107, 123, 137, 169, 175, 206, 737)


def live(seed: int, faults: Faults) -> History:
    is_old = seed in FOUND
    history = History(seed, faults, rests_long=is_old or seed % 16 in (0, 9), doubled=0.05 if is_old else 0.3)
    history.run()
    return history


@pytest.mark.parametrize("first", range(0, 200, 10))
def test_histories(first: int) -> None:
    live_through_all(live, range(first, first + 10), test=REPLAY)


@pytest.mark.parametrize("seed", FOUND)
def test_histories_that_found_something(seed: int) -> None:
    live_or_shrink(live, seed, test=REPLAY)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(200, 10_200, 500))
def test_ten_thousand_histories(first: int, say: Callable[[str], None]) -> None:
    live_through_all(live, range(first, first + 500), test=REPLAY, say=say)


@pytest.mark.skipif(replayed() is None, reason="no history is named: ROOKERY_SEED, ROOKERY_FAULTS")
def test_replay() -> None:
    named = replayed()
    assert named is not None
    live(*named)


@pytest.mark.parametrize("seed", [4, 5])
def test_a_history_is_a_function_of_its_seed(seed: int) -> None:
    one, two, other = (live(number, Faults()).overlay for number in (seed, seed, seed + 8))
    assert one.messages == two.messages != other.messages
    assert one.deliveries == two.deliveries


def test_all_faults_occur_on_both_kinds_of_links() -> None:
    for kind in (0, 1):
        seen = {step.kind for seed in range(kind, 40, 2) for steps in steps_of(seed) for step in steps}
        assert {"crash", "leave", "subscribe", "cut", "part", "storm"} <= seen
