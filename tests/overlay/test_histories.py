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
FOUND_FIRST = (71, 107, 123, 137, 169, 175, 206, 737)
#: Histories that found defects since, lived through as all others.
FOUND = (
    1086,  # a member left for other interests, its LEAVE was lost, and its primary kept it beside its new link
    1134,  # the same
    1620,  # the same
    1636,  # all that a joiner knew had gone, and it forgot who asked to join through it
    6376,  # the same
    4614,  # a newcomer heard of a peer as it was, and nothing told it of the peer's new epoch
    6306,  # walks were led to where a finger had stood before, and back: a newcomer never heard from the directory
    5901,  # an event missed somebody at rest; mended with the others, its own cause was not traced
    5044,  # two that a storm made silent to each other were a gap in their rings for the life of a tombstone
    6622,  # right by chance before a cluster was one again; which of the mends ended that was not traced
    2334,  # the directory went on naming a peer that had left
    4194,  # a peer that had moved held a copy of its own old claim, which came into force
    755,  # a stream was held up beyond the storm: not yet whole when it was looked at
    1519,  # the same
    3677,  # the same
    4187,  # the same
    5819,  # the same
    6139,  # the same
    8046,  # right by chance while the directory still had the lease of one that had crashed
    4530,  # a newcomer lost the one it had come through within a second: since then such crashes wait for a heartbeat
    8081,  # the directory named a member of the cluster as its primary, and each went to the other
)


def live(seed: int, faults: Faults) -> History:
    is_old = seed in FOUND_FIRST
    history = History(seed, faults, rests_long=is_old or seed % 16 in (0, 9), doubled=0.05 if is_old else 0.3)
    history.run()
    return history


@pytest.mark.parametrize("first", range(0, 200, 10))
def test_histories(first: int) -> None:
    live_through_all(live, range(first, first + 10), test=REPLAY)


@pytest.mark.parametrize("seed", FOUND_FIRST + FOUND)
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
