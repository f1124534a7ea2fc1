"""`discover`: the matches of a fleet are those of a plain double loop, by a plan without one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from rookery.discovery.planning.interests import TopologyInterests
from rookery.discovery.planning.sizes import record_size
from rookery.discovery.planning.summaries import build_summary
from rookery.discovery.planning.topology import (
    PlannedEndpoint,
    PlannedParticipant,
    Topology,
    is_infrastructure,
    service_endpoints,
)
from rookery.errors import PipelineError
from rookery.spark import contact_counts, discover
from rookery.spark.discovery import interests, key_counts

pytestmark = pytest.mark.spark

SCHEMA = "participant string, kind string, topic string, type_name string"


def fleet(seed: int, *, participants: int = 24, topics: int = 40) -> Topology:
    """Robots with topics in common, services, and the topics of every ROS 2 node; some endpoints twice."""
    dice = random.Random(seed)
    members = []
    for number in range(participants):
        ends = [PlannedEndpoint("W", "rt/parameter_events", "P_"), PlannedEndpoint("R", "rt/parameter_events", "P_")]
        for _ in range(dice.randint(0, 12)):
            topic = f"rt/tópico_{dice.randrange(topics)}"
            ends.append(PlannedEndpoint(dice.choice("WR"), topic, f"Type{dice.randrange(2)}"))
        for _ in range(dice.randint(0, 3)):
            name = f"/service_{dice.randrange(topics // 4)}"
            ends += service_endpoints(server=dice.random() < 0.4, name=name, ros_type="pkg/srv/Do")
        ends += dice.sample(ends, 1)
        members.append(PlannedParticipant(f"p{number}", tuple(ends)))
    return Topology("fleet", tuple(members))


def frame_of(spark: Any, topology: Topology) -> Any:
    rows = [(who.name, end.kind, end.topic, end.type_name) for who, end in topology.endpoints()]
    return spark.createDataFrame(rows, SCHEMA).repartition(3)


def oracle(topology: Topology) -> set[tuple[str, str, str, str]]:
    """Compare every endpoint with every endpoint."""
    return {
        (writer.name, reader.name, one.topic, one.type_name)
        for (writer, one), (reader, other) in itertools.product(topology.endpoints(), repeat=2)
        if one.kind == "W" and other.kind == "R" and writer is not reader
        if (one.topic, one.type_name) == (other.topic, other.type_name)
    }


@pytest.mark.parametrize("infrastructure", [True, False])
def test_matches_are_those_of_the_double_loop(spark: Any, infrastructure: bool) -> None:
    system = fleet(1)
    found = discover(frame_of(spark, system), infrastructure=infrastructure).toArrow().to_pylist()
    rows = [(row["writer"], row["reader"], row["topic"], row["type_name"]) for row in found]
    assert len(rows) == len(set(rows))
    assert set(rows) == oracle(system if infrastructure else system.without_infrastructure())
    assert any(is_infrastructure(row[2]) for row in rows) is infrastructure


def test_no_pair_of_participants_is_compared_by_a_loop(classic: Any) -> None:
    frame = discover(frame_of(classic, fleet(2)))
    plan = frame._jdf.queryExecution().toString()
    assert "Join" in plan
    assert "NestedLoop" not in plan
    assert "Cartesian" not in plan


def test_keys_and_octets_are_those_of_a_participant(spark: Any) -> None:
    system = fleet(3)
    expected: dict[tuple[str, str, str], list[int]] = {}
    for who, end in system.endpoints():
        total = expected.setdefault((who.name, *end.interest), [0, 0])
        total[0] += 1
        total[1] += record_size(end)
    found = interests(frame_of(spark, system)).toArrow().to_pylist()
    assert {
        (row["participant"], row["key"], row["sought"]): [row["records"], row["octets"]] for row in found
    } == expected


def test_contacts_are_those_of_the_planner(spark: Any) -> None:
    system = fleet(4, participants=40, topics=200)
    counted = TopologyInterests(system)
    summaries = [build_summary("bloom", sorted(counted.keys_of(row))) for row in range(counted.count)]
    told = counted.told_by([summary.received for summary in summaries])
    in_vain = told.records.sum(axis=0) - counted.needed.records.sum(axis=0)
    found = {
        row["participant"]: row
        for row in contact_counts(frame_of(spark, system), "bloom", ask_at_most=10_000).toArrow().to_pylist()
    }
    for row, who in enumerate(system.participants):
        made = found[who.name]
        assert made["endpoints"] == len(who.endpoints)
        assert made["octets"] == sum(record_size(end) for end in who.endpoints)
        assert made["summary_octets"] == summaries[row].size
        assert made["heard"] == counted.needed.records[:, row].sum()
        assert made["heard_octets"] == counted.needed.octets[:, row].sum()
        # The planner leaves out what a participant would tell itself by mistake; a key of its own may be asked here.
        assert made["false_contacts"] >= in_vain[row]
    assert sum(row["false_contacts"] for row in found.values()) <= in_vain.sum() + len(found)
    assert key_counts(interests(frame_of(spark, system))).count() == len(counted.keys)


def test_participants_may_be_numbers_and_a_sample_is_scaled(spark: Any) -> None:
    rows = [(number, kind, f"t{number % 50}", "T") for number in range(200) for kind in "WR"]
    frame = spark.createDataFrame(rows, "participant bigint, kind string, topic string, type_name string")
    assert discover(frame).count() == 50 * 4 * 3
    found = contact_counts(frame, "hashes", ask_at_most=20).toArrow().to_pylist()
    assert {row["participant"] for row in found} == set(range(200))
    assert {(row["heard"], row["asked"], row["false_contacts"]) for row in found} == {(6, 20, 0)}


def test_wrong_use_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame([("p", "W", None, "T"), ("q", "R", "t", "T"), ("r", "W", "t", "T")], SCHEMA)
    with pytest.raises(PipelineError, match="no column 'kind'"):
        discover(frame.drop("kind"))
    with pytest.raises(PipelineError, match="choose from bloom"):
        contact_counts(frame, "simple")
    with pytest.raises(Exception, match="lacks its participant"):
        discover(frame).collect()
