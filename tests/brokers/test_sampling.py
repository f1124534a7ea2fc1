"""What a zone knows of its events: a uniform sample, and where it is cut."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import pytest

from rookery.brokers.sampling import Reservoir, choose_cut, cut_of
from rookery.space.zones import (
    ZoneBox,
)


def test_a_reservoir_is_a_uniform_sample_and_a_cut_is_its_median() -> None:
    generator = random.Random(1)
    reservoir = Reservoir()
    asked = 0

    def part(start: int, rows: list[int]) -> Any:
        nonlocal asked
        asked += 1
        return np.stack([(start + np.array(rows)) / 10_000, np.full(len(rows), 0.5)], axis=1)

    start = 0
    while start < 10_000:
        count = min(1 + int(generator.random() * 40), 10_000 - start)
        reservoir.observe(count, partial(part, start), generator)
        start += count
    assert asked < 450, "where events lie is not asked for each batch"
    assert (len(reservoir.points), reservoir.seen) == (256, 10_000)
    assert cut_of(ZoneBox((0, 0), (1, 1)), 0, reservoir.points) == pytest.approx(0.5, abs=0.1)
    assert cut_of(ZoneBox((0, 0), (1, 1)), 1, [(0.1, 0.0)] * 20) == 0.5  # the median is on the border
    assert choose_cut(ZoneBox((0, 0), (1, 1)), 1, reservoir.points)[0] == 0, "all points have one value in dimension 1"
    assert choose_cut(ZoneBox((0, 0), (1, 1)), 1, [(0.1, 0.0)] * 20) == (1, 0.5)  # they differ in none
    assert choose_cut(ZoneBox((0, 0), (1, 1)), 1, [(0.1, 0.0), (0.2, 0.3)]) == (1, 0.5)  # too few to say
    many = [(0.0, 0.0)] * 15 + [(0.0, 0.75)] * 5
    assert choose_cut(ZoneBox((0, 0), (1, 1)), 1, many) == (1, 0.75), "just above the many at the border"
    half = reservoir.part(ZoneBox((0, 0), (0.5, 1)))
    assert half.seen == pytest.approx(5000, rel=0.2)
