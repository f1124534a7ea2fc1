"""What discovery would cost: a planner for the owner of a DDS system.

    from rookery.discovery.planning import make_plan, read_topology

    plan = make_plan(read_topology(octets, name="robot.json"))
    plan.document()["protocols"]["ribbon"]["bytes"], plan.verdict.text

A topology comes from a graph in JSON (`graphs`) or a capture of a running system (`captures`, `observed`). Sizes come
from encoding the real messages (`sizes`) and building the real summaries (`summaries`); who would be told what, from
asking them (`interests`, `loads`). How often things are sent is fitted to measured runs (`traffic`, `constants`);
`costs` puts it together, `plan` makes the four views, `verdict` says what follows. Nothing here reads a file, a socket
or a clock.
"""

from __future__ import annotations

from rookery.discovery.planning.captures import is_capture
from rookery.discovery.planning.constants import Network
from rookery.discovery.planning.costs import Cost
from rookery.discovery.planning.graphs import read_graph
from rookery.discovery.planning.loads import PROTOCOLS
from rookery.discovery.planning.observed import Observation, read_capture
from rookery.discovery.planning.plan import DiscoveryPlan, PlanView, make_plan
from rookery.discovery.planning.topology import PlannedEndpoint, PlannedParticipant, Topology
from rookery.errors import TopologyError

__all__ = [
    "PROTOCOLS",
    "Cost",
    "DiscoveryPlan",
    "Network",
    "Observation",
    "PlanView",
    "PlannedEndpoint",
    "PlannedParticipant",
    "Topology",
    "is_capture",
    "make_plan",
    "read_capture",
    "read_graph",
    "read_topology",
]


def read_topology(data: bytes, *, name: str = "topology", group_by: str | None = None) -> Topology:
    """Read a graph or a capture, whichever the octets are."""
    if is_capture(data):
        if group_by is not None:
            raise TopologyError(f"nodes can be grouped by {group_by!r} in a graph, and {name} is a capture")
        return read_capture(data, name=name)[0]
    return read_graph(data, name=name, group_by=group_by)
