"""A DDS system as the planner sees it: participants, and the endpoints that each of them has.

Names are those on the wire. ROS 2 puts `rt/` before a topic, and makes of a service two topics, `rq/…Request` and
`rr/…Reply`; the server reads the first and writes the second, the client the other way round. The two halves of a
service are useless without each other and are told as one (`rookery.discovery.interests`).

Some topics connect every pair of ROS 2 nodes whatever they do: logging, parameters, the graph. `is_infrastructure`
knows them, and `Topology.without_infrastructure` is the system that its owner had in mind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from rookery.discovery.interests import Interest, interest_of

__all__ = [
    "INFRASTRUCTURE",
    "UNTYPED",
    "PlannedEndpoint",
    "PlannedParticipant",
    "Topology",
    "dds_type",
    "is_infrastructure",
    "service_endpoints",
    "topic_endpoint",
]

#: Where a graph names no type: as long as a common type of ROS 2, so that records have a likely size.
UNTYPED = "std_msgs/msg/String"

_PARAMETER_SERVICES = (
    "(describe_parameters|get_parameter_types|get_parameters|list_parameters|set_parameters|set_parameters_atomically"
    "|get_type_description)"
)
#: A regular expression of the topics that ROS 2 gives to every node; Python and Java read it alike.
INFRASTRUCTURE = (
    "^(rt/)?/*(rosout|parameter_events|ros_discovery_info)$"
    f"|^rq/(.*/)?{_PARAMETER_SERVICES}Request$|^rr/(.*/)?{_PARAMETER_SERVICES}Reply$"
)
_INFRASTRUCTURE = re.compile(INFRASTRUCTURE)


@dataclass(frozen=True, slots=True)
class PlannedEndpoint:
    """A writer (`W`) or reader (`R`) of a topic, by the names on the wire."""

    kind: str
    topic: str
    type_name: str

    @property
    def interest(self) -> Interest:
        """The key that its participant's summary holds for it, and the key that it seeks in the others'."""
        return interest_of(kind=self.kind, topic=self.topic, type_name=self.type_name)


@dataclass(frozen=True, slots=True)
class PlannedParticipant:
    """Who announces itself; in ROS 2 a process, or in the simplest reading of a graph one node."""

    name: str
    endpoints: tuple[PlannedEndpoint, ...]


@dataclass(frozen=True)
class Topology:
    """Participants, and what the reader of the file has to say about them."""

    name: str
    participants: tuple[PlannedParticipant, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def endpoint_count(self) -> int:
        """All endpoints of all participants."""
        return sum(len(participant.endpoints) for participant in self.participants)

    @cached_property
    def topic_count(self) -> int:
        """Different topics on the wire."""
        return len({endpoint.topic for _, endpoint in self.endpoints()})

    def endpoints(self) -> Iterator[tuple[PlannedParticipant, PlannedEndpoint]]:
        """Yield every endpoint with its participant."""
        for participant in self.participants:
            for endpoint in participant.endpoints:
                yield participant, endpoint

    def without_infrastructure(self) -> Topology:
        """Return the same participants without the topics that connect every ROS 2 pair."""
        return replace(
            self,
            participants=tuple(
                replace(each, endpoints=tuple(end for end in each.endpoints if not is_infrastructure(end.topic)))
                for each in self.participants
            ),
        )


def is_infrastructure(topic: str) -> bool:
    """Say whether a topic is one that ROS 2 itself gives to every node."""
    return _INFRASTRUCTURE.search(topic) is not None


def dds_type(ros_type: str) -> str:
    """Return the wire's name of a ROS 2 type: `std_msgs/msg/String` is `std_msgs::msg::dds_::String_`."""
    parts = [part for part in ros_type.replace("::", "/").split("/") if part and part != "dds_"]
    if len(parts) == 1:
        return ros_type
    return "::".join([*parts[:-1], "dds_", parts[-1].removesuffix("_") + "_"])


def topic_endpoint(*, kind: str, name: str, ros_type: str) -> PlannedEndpoint:
    """Return the endpoint of a publisher (`W`) or subscriber (`R`)."""
    return PlannedEndpoint(kind, "rt/" + name.lstrip("/"), dds_type(ros_type))


def service_endpoints(*, server: bool, name: str, ros_type: str) -> tuple[PlannedEndpoint, PlannedEndpoint]:
    """Return the two endpoints of a service's server, or of its client."""
    bare = name.lstrip("/")
    stem = dds_type(ros_type).removesuffix("_")
    request = PlannedEndpoint("R" if server else "W", f"rq/{bare}Request", f"{stem}_Request_")
    reply = PlannedEndpoint("W" if server else "R", f"rr/{bare}Reply", f"{stem}_Response_")
    return request, reply
