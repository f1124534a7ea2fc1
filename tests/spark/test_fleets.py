"""A fleet counted on Spark costs what the planner finds in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rookery.cli import plan_fleet as plan_fleet_module
from rookery.cli.plan_fleet import plan_fleet
from rookery.discovery.planning import Network, make_plan
from rookery.spark.fleets import count_fleet

from .test_discovery import fleet, frame_of

pytestmark = pytest.mark.spark


def test_the_plan_of_a_fleet_is_the_plan_in_memory(spark: Any, tmp_path: Path) -> None:
    system = fleet(9, participants=60, topics=400)
    path = tmp_path / "fleet.parquet"
    frame_of(spark, system).toPandas().to_parquet(path)
    found = plan_fleet(path, master=None, network=Network(), protocols=["hashes", "server"], group_by=None)
    expected = make_plan(system, protocols=["hashes", "server"])
    assert (found.participants, found.endpoints, found.topics) == (60, system.endpoint_count, system.topic_count)
    assert found.verdict.protocol == expected.verdict.protocol
    for name, view in expected.views.items():
        made = found.views[name]
        assert made.gating.records == view.gating.records
        assert made.gating.needed == view.gating.needed
        assert made.gating.pairs_in_contact == view.gating.pairs_in_contact
        assert made.gating.pair_gating_saves == pytest.approx(view.gating.pair_gating_saves)
        for protocol, cost in view.costs.items():
            # Sums are exact; how records divide into datagrams is known only on average.
            assert made.costs[protocol].octets == pytest.approx(cost.octets, rel=0.03), (name, protocol)
            assert made.costs[protocol].memory_per_node == pytest.approx(cost.memory_per_node, rel=0.02)
            assert made.costs[protocol].false_contacts == cost.false_contacts
    document = json.dumps(found.document())
    assert "hashes" in document


def test_too_many_pairs_are_taken_for_all(spark: Any) -> None:
    system = fleet(10, participants=12)
    counted = count_fleet(frame_of(spark, system), protocols=[], pairs_at_most=5)
    assert not counted.pairs_were_counted
    assert counted.gating.pairs_in_contact == counted.gating.pairs == 66
    assert counted.gating.pair_gating_saves == 0


def test_a_table_is_read_as_it_is(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "fleet.csv"
    path.write_text("participant,kind,topic,type_name\np,W,t,T\nq,R,t,T\n")
    read = plan_fleet_module._read(spark, path, None)
    assert [tuple(row) for row in read.collect()] == [("p", "W", "t", "T"), ("q", "R", "t", "T")]
