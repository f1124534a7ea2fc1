"""Graphs in JSON: every shape that is read, and what is said of any other."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.discovery.planning import PlannedEndpoint, read_graph
from rookery.discovery.planning.topology import dds_type, is_infrastructure
from rookery.errors import TopologyError

from .systems import ros_graph


def test_a_dump_of_ros_has_its_names_on_the_wire() -> None:
    node = {
        "name": "talker",
        "namespace": "/robot",
        "publishers": [{"name": "/chatter", "type": "std_msgs/msg/String"}],
        "subscribers": [{"name": "clock", "types": ["rosgraph_msgs/msg/Clock"]}],
        "services": [{"name": "/robot/reset", "type": "std_srvs/srv/Trigger"}],
        "clients": [{"name": "/map/load", "type": "nav2_msgs/srv/LoadMap"}],
    }
    system = read_graph(json.dumps({"name": "robot", "nodes": [node]}))
    (who,) = system.participants
    assert (system.name, who.name, system.notes) == ("robot", "/robot/talker", ())
    assert who.endpoints == (
        PlannedEndpoint("W", "rt/chatter", "std_msgs::msg::dds_::String_"),
        PlannedEndpoint("R", "rt/clock", "rosgraph_msgs::msg::dds_::Clock_"),
        PlannedEndpoint("R", "rq/robot/resetRequest", "std_srvs::srv::dds_::Trigger_Request_"),
        PlannedEndpoint("W", "rr/robot/resetReply", "std_srvs::srv::dds_::Trigger_Response_"),
        PlannedEndpoint("W", "rq/map/loadRequest", "nav2_msgs::srv::dds_::LoadMap_Request_"),
        PlannedEndpoint("R", "rr/map/loadReply", "nav2_msgs::srv::dds_::LoadMap_Response_"),
    )


def test_a_benchmark_graph_may_leave_lists_and_types_out() -> None:
    nodes = [
        {"node_name": "montreal", "publishers": [{"topic_name": "amazon", "msg_type": "stamped", "period_ms": 10}]},
        {"node_name": "lyon", "subscribers": [{"topic_name": "amazon"}, "nile"], "executor_id": 1},
    ]
    system = read_graph(json.dumps({"nodes": nodes}), name="cedar.json")
    assert [len(each.endpoints) for each in system.participants] == [1, 2]
    assert system.participants[0].endpoints == (PlannedEndpoint("W", "rt/amazon", "stamped"),)
    assert "2 endpoints have no type" in system.notes[0]


def test_nodes_of_one_process_are_one_participant() -> None:
    graph = {
        "nodes": [
            {"node_name": name, "executor_id": number, "publishers": [{"topic_name": name, "msg_type": "t"}]}
            for name, number in (("a", 1), ("b", 2), ("c", 1))
        ]
    }
    system = read_graph(json.dumps(graph), group_by="executor_id")
    assert [(each.name, len(each.endpoints)) for each in system.participants] == [
        ("executor_id 1", 2),
        ("executor_id 2", 1),
    ]
    with pytest.raises(TopologyError, match="no 'process' to group by"):
        read_graph(json.dumps(graph), group_by="process")


def test_a_node_that_is_listed_twice_counts_once_and_namesakes_stay_apart() -> None:
    node = {"name": "n", "publishers": ["/a"]}
    other = {"name": "n", "publishers": ["/b"]}
    system = read_graph(json.dumps({"nodes": [node, node, other]}))
    assert [each.name for each in system.participants] == ["/n", "/n (2)"]
    assert any("listed again" in note for note in system.notes)


def test_what_ls_prints_and_plain_participants_are_read_too() -> None:
    listed = {
        "topics": [
            {
                "topic": "quotes",
                "type_name": "Quote",
                "endpoints": [{"guid": "01aa:0103", "kind": "writer"}, {"guid": "01bb:0104", "kind": "reader"}],
            }
        ]
    }
    plain = {
        "participants": [
            {"name": "01aa", "endpoints": [{"kind": "W", "topic": "quotes", "type_name": "Quote"}]},
            {"name": "01bb", "endpoints": [{"kind": "R", "topic": "quotes", "type_name": "Quote"}]},
        ]
    }
    assert read_graph(json.dumps(listed)).participants == read_graph(json.dumps(plain)).participants


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "holds a list"),
        ({"edges": []}, "none of nodes, topics, participants"),
        ({"nodes": []}, "nodes is empty"),
        ({"nodes": {}}, "nodes is {}; it must be a list"),
        ({"nodes": [1]}, r"nodes\[0\] is 1; it must be an object"),
        ({"nodes": [{"id": 1}]}, "not the nodes of a ROS 2 graph"),
        ({"nodes": [{"publishers": []}]}, r"nodes\[0\] has no name or node_name"),
        ({"nodes": [{"name": "a", "publishers": [{}]}]}, r"nodes\[0\].publishers\[0\] has no name"),
        ({"nodes": [{"name": "a", "publishers": [{"name": 7}]}]}, r"publishers\[0\].name is 7"),
        ({"nodes": [{"name": "a", "publishers": [{"name": "/t", "type": 7}]}]}, "the type is 7"),
        ({"nodes": [{"name": "a", "namespace": 3, "publishers": []}]}, "namespace is 3"),
        ({"participants": [{"name": "a", "endpoints": [{"kind": "X"}]}]}, "has no topic"),
        (
            {"participants": [{"name": "a", "endpoints": [{"kind": "X", "topic": "t", "type_name": "T"}]}]},
            "kind is 'X'",
        ),
    ],
)
def test_anything_else_is_an_error_that_says_where(document: Any, message: str) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(TopologyError, match=message):
        read_graph(text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["nodes", "name", "publishers", "type", "topics", "endpoints", "kind", "services"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_no_document_raises_anything_else(document: Any) -> None:
    with contextlib.suppress(TopologyError):
        read_graph(json.dumps(document))


def test_infrastructure_is_what_ros_gives_to_every_node() -> None:
    for topic in ("rt/rosout", "rt/parameter_events", "ros_discovery_info", "rq/a/b/get_parametersRequest"):
        assert is_infrastructure(topic)
    for topic in ("rt/robot/rosout_agg", "rt/clock", "rq/a/set_mapRequest", "rr/a/get_parametersRequest", "rosouts"):
        assert not is_infrastructure(topic)
    system = read_graph(json.dumps(ros_graph(12)))
    bare = system.without_infrastructure()
    assert len(bare.participants) == len(system.participants)
    assert 0 < bare.endpoint_count < system.endpoint_count


def test_types_that_are_on_the_wire_already_stay() -> None:
    assert dds_type("std_msgs::msg::dds_::String_") == "std_msgs::msg::dds_::String_"
    assert dds_type("stamped9_float32") == "stamped9_float32"
