"""One graph in every dress that tools of ROS 2 give it is one topology."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.discovery.planning import PlannedEndpoint, read_graph
from rookery.errors import MissingExtraError, TopologyError

yaml = pytest.importorskip("yaml")

NODES = [
    {
        "name": "/robot/talker",
        "publishers": [{"name": "/chatter", "type": "std_msgs/msg/String"}],
        "subscribers": [{"name": "/clock", "type": "rosgraph_msgs/msg/Clock"}],
        "services": [{"name": "/robot/talker/reset", "type": "std_srvs/srv/Trigger"}],
        "clients": [],
    },
    {"name": "/listener", "subscribers": [{"name": "/chatter", "type": "std_msgs/msg/String"}]},
]
EXPECTED = read_graph(json.dumps({"nodes": NODES})).participants

PRINTED = """/robot/talker
  Subscribers:
    /clock: rosgraph_msgs/msg/Clock
  Publishers:
    /chatter: std_msgs/msg/String
  Service Servers:
    /robot/talker/reset: std_srvs/srv/Trigger
  Service Clients:

  Action Servers:

  Action Clients:

/listener
  Subscribers:
    /chatter: std_msgs/msg/String
"""


def mapped(node: dict[str, Any]) -> dict[str, Any]:
    return {
        part: {entry["name"]: entry["type"] for entry in node[part]} for part in node if isinstance(node[part], list)
    }


@pytest.mark.parametrize(
    "text",
    [
        yaml.safe_dump({"nodes": NODES}),
        yaml.safe_dump({"nodes": {node["name"]: mapped(node) for node in NODES}}),
        yaml.safe_dump({node["name"]: mapped(node) for node in NODES}),
        PRINTED,
        PRINTED.replace("\n", "\r\n"),
    ],
    ids=["list", "mapping of nodes", "nodes alone", "ros2 node info", "with carriage returns"],
)
def test_one_graph_in_every_dress_is_one_topology(text: str) -> None:
    found = read_graph(text.encode()).participants
    assert {who.name: sorted(map(repr, who.endpoints)) for who in found} == {
        who.name: sorted(map(repr, who.endpoints)) for who in EXPECTED
    }


def test_an_architecture_of_caret_has_publishes_and_subscribes() -> None:
    text = """
named_paths: []
nodes:
- node_name: /message_driven_node
  publishes:
  - topic_name: /topic3
    callback_names: [callback_0]
  subscribes:
  - topic_name: /topic1
    callback_name: callback_0
"""
    system = read_graph(text)
    (who,) = system.participants
    assert [(end.kind, end.topic) for end in who.endpoints] == [("W", "rt/topic3"), ("R", "rt/topic1")]
    assert "2 endpoints have no type" in system.notes[0]


def test_an_action_is_three_services_and_two_topics() -> None:
    server, client = (
        read_graph(f"/robot\n  Action {side}:\n    /turn: demo/action/Turn\n").participants[0].endpoints
        for side in ("Servers", "Clients")
    )
    assert {end.topic for end in server} == {
        "rt/turn/_action/feedback",
        "rt/turn/_action/status",
        *(
            f"{half[0]}/turn/_action/{part}{half[1]}"
            for part in ("send_goal", "get_result", "cancel_goal")
            for half in (("rq", "Request"), ("rr", "Reply"))
        ),
    }
    opposite = {"W": "R", "R": "W"}
    assert sorted(map(repr, client)) == sorted(
        repr(PlannedEndpoint(opposite[end.kind], end.topic, end.type_name)) for end in server
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: [", "neither JSON nor YAML"),
        ("- a\n- b\n", "holds a list"),
        ("just words", "holds a str"),
        ("a: !!python/object/apply:os.system [echo]", "neither JSON nor YAML"),
        ('{"nodes": [', "no JSON"),
        (b"\xff\xfe\x00", "no text"),
        ("nodes:\n- 7\n", r"nodes\[0\] is 7"),
    ],
)
def test_what_is_no_graph_is_refused_with_what_to_do(text: str | bytes, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        read_graph(text, name="robot.yaml")


def test_without_pyyaml_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"the extra 'yaml' brings: pip install '?pyyaml"):
        read_graph("nodes: {}", name="robot.yaml")
    assert read_graph(PRINTED).participants  # what `ros2 node info` prints needs none


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    with contextlib.suppress(TopologyError):
        read_graph(text)
