"""Statistics of a Spark job share a broker network anew: the rows of `zone_stats` are what `resplit` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rookery import Schema
from rookery.brokers.plans import SplitPlan, TransferStep, next_step
from rookery.live.brokers.resplit import read_statistics
from rookery.space.axes import Axis, EventSpace
from rookery.space.zones import ROOT, box_of, contains, split
from rookery.spark import zone_stats

pytestmark = pytest.mark.spark


def test_zones_by_the_statistics_of_a_job_share_its_events(spark: Any, tmp_path: Path) -> None:
    prices = [1000.0 * (number / 4000) ** 4 for number in range(4000)]  # half of them below 63
    frame = spark.createDataFrame(list(enumerate(prices)), "event_id int, price double")
    conditions = [f"price BETWEEN {number} AND {number + 3}" for number in range(50)]
    rules = pa.table({"subscription_id": range(50), "where": conditions})
    zone_stats(frame, rules, zones=32).coalesce(1).write.json(str(tmp_path / "statistics"))
    (file,) = (tmp_path / "statistics").glob("part-*.json")
    tree, loads = read_statistics(file.read_text())
    assert loads is not None
    assert sum(loads) >= 4000 + 50
    space = EventSpace(Schema(price=float), [Axis("price", 0, 1000)])
    plan = SplitPlan.of_tree(tree, space, loads=loads)
    zones, waiting = [ROOT], 3
    while (step := next_step(plan, zones, waiting)) is not None:
        assert not isinstance(step, TransferStep)
        assert step.cut is not None
        zones.remove(step.path)
        zones += split(step.path, *step.cut)
        waiting -= 1
    counts = [sum(contains(box_of(path, 1), space.point({"price": one})) for one in prices) for path in zones]
    assert len(counts) == 4
    assert sum(counts) == 4000
    assert max(counts) < 1.25 * 1000
