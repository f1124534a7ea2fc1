"""From a graph, in JSON, YAML or as `ros2 node info` prints it (`documents`), to a topology.

Three families of documents are read, told apart by what they hold and never by their names:

    {"nodes": [{"name" | "node_name", "namespace"?, "publishers"?, "subscribers"?, "services"?, "clients"?}]}
        An introspection dump of ROS 2, a benchmark's graph, or what a policy allows. An entry of a list is a name, or
        {"name" | "topic_name" | "service_name", "type" | "msg_type" | "srv_type" | "types"?}.
    {"topics": [{"topic", "type_name", "endpoints": [{"guid", "kind"}]}]}
        What `rookery ls --json` prints of a running domain.
    {"participants": [{"name", "endpoints": [{"kind", "topic", "type_name"}]}]}
        The names on the wire themselves.

A node is one participant unless `group_by` names an attribute of the nodes (`executor_id`, `enclave`, `process`): then
the nodes that share its value are one participant, as nodes in one process are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rookery.discovery.planning.documents import read_document
from rookery.discovery.planning.topology import (
    UNTYPED,
    PlannedEndpoint,
    PlannedParticipant,
    Topology,
    service_endpoints,
    topic_endpoint,
)
from rookery.errors import TopologyError

__all__ = ["read_graph"]

_SHAPES = "a document with `nodes` (a ROS 2 graph), `topics` (from `rookery ls --json`) or `participants`"
_LISTS = ("publishers", "subscribers", "services", "clients")
_NAMES = ("name", "topic_name", "service_name")
_TYPES = ("type", "msg_type", "srv_type", "types")


def read_graph(text: str | bytes, *, name: str = "topology", group_by: str | None = None) -> Topology:
    """Read a graph; raise `TopologyError` that says where the document is wrong."""
    document = read_document(text, name=name, expected=_SHAPES)
    kind = next((key for key in ("nodes", "topics", "participants") if key in document), None)
    if kind is None:
        raise TopologyError(f"{name} has none of nodes, topics, participants; give {_SHAPES}")
    listed = _rows(document[kind], kind)
    if not listed:
        raise TopologyError(f"{name}: {kind} is empty, so there is nothing to plan")
    if group_by is not None and kind != "nodes":
        raise TopologyError(f"nodes can be grouped by {group_by!r}, and {name} lists {kind}")
    title = document.get("name")
    title = title if isinstance(title, str) and title else name
    if kind == "topics":
        return Topology(title, _from_topics(listed))
    if kind == "participants":
        return Topology(title, tuple(_participant(row, f"participants[{n}]") for n, row in enumerate(listed)))
    return _from_nodes(title, listed, group_by)


def _from_nodes(title: str, listed: list[Mapping[str, Any]], group_by: str | None) -> Topology:
    if not any(part in node for node in listed for part in _LISTS):
        raise TopologyError(
            f"no node of {title} has any of {', '.join(_LISTS)}: these are not the nodes of a ROS 2 graph"
        )
    members: dict[str, list[PlannedEndpoint]] = {}
    seen: dict[str, list[tuple[PlannedEndpoint, ...]]] = {}
    untyped = repeated = 0
    for number, node in enumerate(listed):
        where = f"nodes[{number}]"
        name = _text(node, ("name", "node_name"), where)
        space = node.get("namespace", "/")
        if not isinstance(space, str):
            raise TopologyError(f"{where}.namespace is {space!r}; write a string such as '/robot'")
        full = f"{space.rstrip('/')}/{name.lstrip('/')}"
        endpoints, lacking = _node_endpoints(node, where)
        untyped += lacking
        if endpoints in seen.setdefault(full, []):
            repeated += 1
            continue
        seen[full].append(endpoints)
        if group_by is not None:
            if group_by not in node:
                raise TopologyError(f"{where} ({full}) has no {group_by!r} to group by; it has {', '.join(node)}")
            full = f"{group_by} {node[group_by]}"
        elif len(seen[full]) > 1:
            full = f"{full} ({len(seen[full])})"
        members.setdefault(full, []).extend(endpoints)
    notes = []
    if repeated:
        notes.append(f"{repeated} nodes are listed again with the same endpoints; each is taken once")
    if untyped:
        notes.append(f"{untyped} endpoints have no type; they are taken for {UNTYPED}, so sizes are estimates")
    return Topology(title, tuple(PlannedParticipant(name, tuple(ends)) for name, ends in members.items()), tuple(notes))


def _node_endpoints(node: Mapping[str, Any], where: str) -> tuple[tuple[PlannedEndpoint, ...], int]:
    endpoints: list[PlannedEndpoint] = []
    untyped = 0
    for part in _LISTS:
        for number, entry in enumerate(_rows(node.get(part) or [], f"{where}.{part}", plain=True)):
            place = f"{where}.{part}[{number}]"
            name = _text(entry, _NAMES, place)
            types = _types(entry, place)
            untyped += not types
            for ros_type in types or [UNTYPED if part in _LISTS[:2] else "std_srvs/srv/Trigger"]:
                if part in ("publishers", "subscribers"):
                    kind = "W" if part == "publishers" else "R"
                    endpoints.append(topic_endpoint(kind=kind, name=name, ros_type=ros_type))
                else:
                    endpoints += service_endpoints(server=part == "services", name=name, ros_type=ros_type)
    return tuple(endpoints), untyped


def _from_topics(listed: list[Mapping[str, Any]]) -> tuple[PlannedParticipant, ...]:
    members: dict[str, list[PlannedEndpoint]] = {}
    for number, row in enumerate(listed):
        where = f"topics[{number}]"
        topic, type_name = _text(row, ("topic",), where), _text(row, ("type_name",), where)
        for count, entry in enumerate(_rows(row.get("endpoints"), f"{where}.endpoints")):
            place = f"{where}.endpoints[{count}]"
            prefix = _text(entry, ("guid",), place).partition(":")[0]
            members.setdefault(prefix, []).append(PlannedEndpoint(_kind(entry, place), topic, type_name))
    return tuple(PlannedParticipant(name, tuple(ends)) for name, ends in members.items())


def _participant(row: Mapping[str, Any], where: str) -> PlannedParticipant:
    endpoints = []
    for number, entry in enumerate(_rows(row.get("endpoints"), f"{where}.endpoints")):
        place = f"{where}.endpoints[{number}]"
        names = _text(entry, ("topic",), place), _text(entry, ("type_name",), place)
        endpoints.append(PlannedEndpoint(_kind(entry, place), *names))
    return PlannedParticipant(_text(row, ("name",), where), tuple(endpoints))


def _rows(value: Any, where: str, *, plain: bool = False) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        raise TopologyError(f"{where} is {_brief(value)}; it must be a list")
    rows = [{"name": row} if plain and isinstance(row, str) else row for row in value]
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise TopologyError(f"{where}[{number}] is {_brief(row)}; it must be an object")
    return rows


def _text(row: Mapping[str, Any], keys: Iterable[str], where: str) -> str:
    for key in keys:
        if key in row:
            value = row[key]
            if not isinstance(value, str) or not value:
                raise TopologyError(f"{where}.{key} is {_brief(value)}; it must be a name")
            return value
    raise TopologyError(f"{where} has no {' or '.join(keys)}; it has {', '.join(row) or 'nothing'}")


def _types(row: Mapping[str, Any], where: str) -> list[str]:
    value: Any = next((row[key] for key in _TYPES if row.get(key)), [])
    types = [value] if isinstance(value, str) else value
    if not isinstance(types, list) or not all(isinstance(each, str) and each for each in types):
        raise TopologyError(f"{where}: the type is {_brief(value)}; it must be a name, or a list of names")
    return types


def _kind(row: Mapping[str, Any], where: str) -> str:
    kind = {"W": "W", "R": "R", "writer": "W", "reader": "R"}.get(str(row.get("kind")))
    if kind is None:
        raise TopologyError(f"{where}.kind is {_brief(row.get('kind'))}; it must be 'writer' or 'reader'")
    return kind


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
