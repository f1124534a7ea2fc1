"""Islands under crashes, cuts, loss, duplication and reordering: nothing missed, nothing doubled (`histories`).

A failing seed prints the command that replays it with the fewest faults. `--slow` runs 10,000 seeds.
"""

from __future__ import annotations

import pytest

from rookery.simulated.histories import Faults, live_or_shrink, replayed

from .histories import live_through

REPLAY = "tests/gateway/test_histories.py -k replay"
#: Histories run in lots, so that the machine's cores share them.
LOTS, HISTORIES = 10, 200


@pytest.mark.parametrize("lot", range(LOTS))
def test_histories(lot: int) -> None:
    for seed in range(lot, HISTORIES, LOTS):
        live_or_shrink(live_through, seed, test=REPLAY)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_ten_thousand_histories() -> None:
    for seed in range(HISTORIES, HISTORIES + 10_000):
        live_or_shrink(live_through, seed, test=REPLAY)


def test_replay() -> None:
    seed, faults = replayed() or (0, Faults())
    live_through(seed, faults)


def test_a_history_is_a_function_of_its_seed() -> None:
    one, two = live_through(2), live_through(2)
    assert one.islands.world.messages == two.islands.world.messages
    assert one.islands.bytes_sent == two.islands.bytes_sent
    assert one.arrived == two.arrived
