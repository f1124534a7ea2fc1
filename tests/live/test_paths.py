"""How far one event goes through the code, live: package crossings within a bar, and each end matches it once."""

from __future__ import annotations

import asyncio

import pytest
from benchmarks.paths import WAYS, trace_way

#: Crossings, and how often it is matched: by a writer for those that it writes to, by a gateway for the other sites, by
#: an owner or a peer for its subscribers, and by whoever receives it for its own subscriptions. Eight of the brokers'
#: crossings ask of a frame whether it passes those that wait, at either end of a link.
BARS = {"matcher": (4, 1), "batch": (12, 1), "DDS": (36, 2), "brokers": (56, 1), "overlay": (28, 1), "islands": (60, 2)}


def test_every_way_has_a_bar() -> None:
    assert BARS.keys() == WAYS.keys()


@pytest.mark.parametrize("way", BARS)
def test_one_event(way: str) -> None:
    crossings, matches = BARS[way]
    trace = asyncio.run(trace_way(WAYS[way], bar=crossings))
    assert trace.crossings <= crossings
    assert trace.matches == matches
