"""Islands under crashes, cuts, loss, duplication and reordering: nothing missed, nothing doubled (`histories`).

A failing seed prints the command that replays it with the fewest faults. `--slow` runs 10,000 seeds.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.histories import Faults, live_through_all, replayed

from .histories import live_through

REPLAY = "tests/gateway/test_histories.py -k replay"
#: Histories run in lots, so that the machine's cores share them.
LOTS, HISTORIES = 10, 200


@pytest.mark.parametrize("lot", range(LOTS))
def test_histories(lot: int) -> None:
    live_through_all(live_through, range(lot, HISTORIES, LOTS), test=REPLAY)


#: Beyond those above, what once failed: a gateway took a reader of its own site for lost while its samples waited.
FOUND = (826,)


@pytest.mark.parametrize("seed", FOUND)
def test_histories_that_found_something(seed: int) -> None:
    live_through(seed)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(200, 10_200, 500))
def test_ten_thousand_histories(first: int, say: Callable[[str], None]) -> None:
    live_through_all(live_through, range(first, first + 500), test=REPLAY, say=say)


def test_replay() -> None:
    seed, faults = replayed() or (0, Faults())
    live_through(seed, faults)


def test_a_history_is_a_function_of_its_seed() -> None:
    one, two = live_through(2), live_through(2)
    assert one.islands.world.messages == two.islands.world.messages
    assert one.islands.bytes_sent == two.islands.bytes_sent
    assert one.arrived == two.arrived
