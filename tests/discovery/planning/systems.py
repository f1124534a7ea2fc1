"""Small systems that tests plan for, made from a seed or by hand."""

from __future__ import annotations

import random
from typing import Any

from rookery.discovery.planning import PlannedEndpoint, PlannedParticipant, Topology

__all__ = ["random_topology", "ros_graph"]

_PARAMETER_SERVICES = {
    "describe_parameters": "DescribeParameters",
    "get_parameter_types": "GetParameterTypes",
    "get_parameters": "GetParameters",
    "list_parameters": "ListParameters",
    "set_parameters": "SetParameters",
    "set_parameters_atomically": "SetParametersAtomically",
}


def random_topology(seed: int, *, participants: int = 8, topics: int = 20) -> Topology:
    """Participants with a few endpoints each, services among them; some have none, some have one twice."""
    dice = random.Random(seed)
    members = []
    for number in range(participants):
        ends = [
            PlannedEndpoint(dice.choice("WR"), f"rt/topic_{dice.randrange(topics)}", f"Type{dice.randrange(2)}")
            for _ in range(dice.randrange(8))
        ]
        for _ in range(dice.randrange(3)):
            name, server = f"service_{dice.randrange(4)}", dice.random() < 0.5
            ends.append(PlannedEndpoint("R" if server else "W", f"rq/{name}Request", "p::srv::dds_::Do_Request_"))
            ends.append(PlannedEndpoint("W" if server else "R", f"rr/{name}Reply", "p::srv::dds_::Do_Response_"))
        members.append(PlannedParticipant(f"p{number}", tuple(ends + ends[:1])))
    return Topology("random", tuple(members))


def ros_graph(nodes: int = 40, *, seed: int = 1) -> dict[str, Any]:
    """Return a graph as an introspection dump of ROS 2 has it: a robot of cells, each node with its own parameters.

    Every node logs, writes and reads parameter events and serves its parameters; beyond that it publishes some topics
    of its own and reads some of its neighbors'. One node in seven is a monitor that reads parameter services.
    """
    dice = random.Random(seed)
    listed: list[dict[str, Any]] = []
    for number in range(nodes):
        name, space = f"node_{number}", f"/cell_{number // 6}"
        full = f"{space}/{name}"
        publishers = [("/rosout", "rcl_interfaces/msg/Log"), ("/parameter_events", "rcl_interfaces/msg/ParameterEvent")]
        publishers += [(f"{full}/state_{k}", "cell_interfaces/msg/State") for k in range(dice.randrange(1, 8))]
        subscribers = [("/parameter_events", "rcl_interfaces/msg/ParameterEvent")]
        for _ in range(dice.randrange(1, 8)):
            other = max(0, min(nodes - 1, number + dice.randrange(-3, 4)))
            subscribers.append(
                (f"/cell_{other // 6}/node_{other}/state_{dice.randrange(4)}", "cell_interfaces/msg/State")
            )
        services = [(f"{full}/{each}", f"rcl_interfaces/srv/{kind}") for each, kind in _PARAMETER_SERVICES.items()]
        services += [(f"{full}/do_{k}", "cell_interfaces/srv/Do") for k in range(dice.randrange(8))]
        clients = [
            (f"/cell_0/node_0/{each}", f"rcl_interfaces/srv/{kind}") for each, kind in _PARAMETER_SERVICES.items()
        ]
        lists = {"publishers": publishers, "subscribers": subscribers, "services": services}
        lists["clients"] = clients if number % 7 == 3 else []
        entries = {key: [{"name": n, "type": t} for n, t in dict(values).items()] for key, values in lists.items()}
        listed.append({"name": name, "namespace": space, "localhost_only": True, **entries})
    return {"version": "1.0.0", "name": "generated", "nodes": listed}
