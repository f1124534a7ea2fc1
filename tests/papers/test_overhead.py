"""The formulas of section V, against the figures that follow from them."""

from __future__ import annotations

from math import exp, isclose, log

import pytest

from rookery.papers.seed_002.overhead import crossover, join_overhead, relay_overhead, unwanted_probability


@pytest.mark.parametrize(("bits", "ratio"), [(64, 81), (256, 325), (1024, 1301), (4096, 5205)])
def test_where_the_curves_cross(bits: int, ratio: int) -> None:
    assert round(crossover(bit_count=bits)) == ratio
    rate = crossover(bit_count=bits, join_fanout=3)
    mine = join_overhead(bit_count=bits, peer_count=500, join_rate=1, join_fanout=3)
    assert isclose(mine, relay_overhead(bit_count=bits, peer_count=500, publish_rate=rate))


def test_the_chance_of_an_unwanted_event() -> None:
    assert round(unwanted_probability(1024), 4) == 0.3935
    assert abs(unwanted_probability(4096) - (1 - exp(-0.5))) < 1e-4


def test_at_the_ratio_of_figure_6a_the_overlay_loses() -> None:
    """The figure fixes p·λpub / (k·λjoin·d/2) = 0.7 and draws from N = 64 to 4096."""
    p = unwanted_probability(1024)
    for peers, mine, theirs in ((64, 5.9, 4.2), (4096, 11.9, 8.3)):
        join_rate = 1 / (0.7 * 512)
        assert round(join_overhead(bit_count=1024, peer_count=peers, join_rate=join_rate), 1) == mine
        assert round(relay_overhead(bit_count=1024, peer_count=peers, publish_rate=1 / p), 1) == theirs
        assert round(log(peers), 1) == theirs
