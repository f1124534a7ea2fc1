"""Zones share real quotes: the README's space, on daily quotes of the companies of the S&P 500."""

from __future__ import annotations

import csv
from functools import cache
from typing import Any

import numpy as np
import pytest

from rookery import Schema
from rookery.brokers.sampling import choose_cut
from rookery.papers.seed_003.latencies import data_folder
from rookery.space import EventSpace, KdTree
from rookery.space.notation import read_space
from rookery.space.zones import ROOT, Path, box_of, contains, split, turn

pytestmark = pytest.mark.real

SCHEMA = Schema(symbol=str, price=float)
README = "price:0:1000,symbol"


@cache
def quotes() -> dict[str, list[Any]]:
    file = data_folder() / "market" / "sp500_daily_quotes.csv"
    if not file.is_file():
        pytest.skip("the quotes are not in the folder that ROOKERY_DATA names")
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {"symbol": [row["symbol"] for row in rows], "price": [float(row["price"]) for row in rows]}


def part(events: dict[str, list[Any]], rows: Any) -> dict[str, list[Any]]:
    return {name: [values[row] for row in rows] for name, values in events.items()}


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("zones", [8, 16, 64])
def test_a_tree_fitted_on_a_sample_shares_the_other_quotes(zones: int, learned: bool) -> None:
    events = quotes()
    order = np.random.default_rng(1).permutation(len(events["price"])).tolist()
    sample, rest = part(events, order[:10_000]), part(events, order[10_000:])
    space = EventSpace.learn(SCHEMA, ["price", "symbol"], sample) if learned else read_space(README, SCHEMA)
    tree = KdTree.fit(space.points(sample), axes=space.axes, zones=zones, dimension="cyclic")
    counts = np.bincount(tree.zones_of_events(space, rest), minlength=zones)
    assert tree.zone_count == zones
    assert counts.max() / counts.mean() <= 2
    assert counts.min() > 0


@pytest.mark.parametrize("brokers", [8, 16])
def test_brokers_that_join_one_after_the_other_share_the_quotes(brokers: int) -> None:
    """As a live owner cuts: at the median of a sample, the axes in turn, the fullest zone first."""
    events = quotes()
    space = read_space(README, SCHEMA)
    points = list(map(tuple, space.points(events).tolist()))
    zones: dict[Path, list[tuple[float, ...]]] = {ROOT: points}
    generator = np.random.default_rng(1)
    while len(zones) < brokers:
        path = max(zones, key=lambda one: len(zones[one]))
        mine = zones.pop(path)
        sample = [mine[row] for row in generator.choice(len(mine), 256, replace=False)]
        for half in split(path, *choose_cut(box_of(path, 2), turn(path, 2), sample)):
            zones[half] = [point for point in mine if contains(box_of(half, 2), point)]
    counts = np.array([len(mine) for mine in zones.values()])
    assert counts.sum() == len(points)
    assert counts.max() / counts.mean() <= 2
    assert counts.min() > 0
