"""Islands under crashes, cuts, loss, duplication and reordering: nothing missed, nothing doubled (`histories`).

A failing seed prints the command that replays it with the fewest faults. `--slow` runs 10,000 seeds.
"""

from __future__ import annotations

import os

import pytest

from .histories import live_through

#: Histories run in lots, so that the machine's cores share them.
LOTS, HISTORIES = 10, 200


@pytest.mark.parametrize("lot", range(LOTS))
def test_histories(lot: int) -> None:
    for seed in range(lot, HISTORIES, LOTS):
        live_through(seed)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_ten_thousand_histories() -> None:
    for seed in range(HISTORIES, HISTORIES + 10_000):
        live_through(seed)


def test_replay_of_one_seed() -> None:
    seed = int(os.environ.get("ROOKERY_SEED", "0"))
    one, two = live_through(seed), live_through(seed)
    assert one.islands.frames == two.islands.frames
    assert one.islands.world.messages == two.islands.world.messages
