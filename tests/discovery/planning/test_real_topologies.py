"""Real systems: parcels, robots, cars. Figures of the specification's table, and what follows from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery.discovery.planning import DiscoveryPlan, make_plan, read_topology

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "topologies"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the real topologies are not beside the checkout"),
]

#: File, participants, endpoints, topics, percent of the records that are needed, percent that pair gating saves.
SYSTEMS = [
    ("0008nodes_2023-09-01_12_00_00_roseRobot.json", 8, 273, 174, 8.9, 67.8),
    ("0026nodes_2023-09-01_12_00_00_roseRobot.json", 26, 818, 534, 4.7, 30.7),
    ("0061nodes_singulate_dedup.json", 61, 2_265, 1_477, 6.3, 0.1),
    ("autoware_reference_system.json", 24, 52, 23, 4.8, 85.3),
    ("cedar.json", 9, 32, 13, 14.8, 54.3),
    ("mont_blanc.json", 20, 58, 23, 6.4, 72.8),
    ("sierra_nevada.json", 10, 30, 13, 12.6, 60.4),
    ("tb3_nav2.json", 32, 1_293, 652, 4.6, 20.5),
]


def plan_of(name: str) -> DiscoveryPlan:
    return make_plan(read_topology((FOLDER / name).read_bytes(), name=name))


@pytest.mark.parametrize(
    ("name", "participants", "endpoints", "topics", "needed", "gated"), SYSTEMS, ids=lambda v: str(v)[:12]
)
def test_the_table_of_real_systems(
    name: str, participants: int, endpoints: int, topics: int, needed: float, gated: float
) -> None:
    plan = plan_of(name)
    assert (plan.participants, plan.endpoints, plan.topics) == (participants, endpoints, topics)
    gating = plan.views["unicast"].gating
    assert gating.records == endpoints * (participants - 1)
    assert 100 * gating.needed / gating.records == pytest.approx(needed, abs=0.06)
    assert gating.pair_gating_saves == pytest.approx(gated, abs=0.06)
    for view in plan.views.values():
        for protocol in ("bloom", "cuckoo", "ribbon", "hashes"):
            assert view.costs[protocol].false_contacts < 0.02 * max(view.gating.records, 1)


def test_sparing_pairs_is_worthless_on_the_parcel_robot_and_filtering_endpoints_is_not() -> None:
    plan = plan_of("0061nodes_singulate_dedup.json")
    view, bare = plan.views["unicast"], plan.views["unicast_without_infrastructure"]
    assert (view.gating.pairs_in_contact, view.gating.pairs) == (1_827, 1_830)
    assert view.gating.pair_gating_saves < 0.5
    assert view.gating.endpoint_filtering_saves > 90
    told = view.costs["ribbon"].records
    assert 100 * (1 - told / view.gating.records) > 90
    assert view.saved_percent("ribbon") > 80
    assert bare.saved_percent("ribbon") > 90
    assert plan.verdict.protocol in ("ribbon", "bloom", "cuckoo", "hashes")


def test_small_robots_are_told_to_stay_as_they_are() -> None:
    for name in ("cedar.json", "sierra_nevada.json", "mont_blanc.json"):
        assert plan_of(name).verdict.text.startswith("No change is worth it"), name


def test_nodes_that_share_an_enclave_are_one_participant() -> None:
    data = (FOLDER / "tb3_nav2.json").read_bytes()
    apart, grouped = read_topology(data), read_topology(data, group_by="enclave")
    assert len(grouped.participants) < len(apart.participants)
    assert grouped.endpoint_count == apart.endpoint_count
    assert make_plan(grouped).views["unicast"].gating.records < make_plan(apart).views["unicast"].gating.records
