"""From the text of a graph to one document, whoever wrote it: JSON, YAML, or what `ros2 node info` prints.

Tools of ROS 2 write one graph in several dresses. All of them become the same plain document, with a list `nodes` (or
`topics`, `participants`) whose entries have lists `publishers`, `subscribers`, `services` and `clients`:

    a mapping where a list is meant     {/talker: {publishers: {/chatter: std_msgs/msg/String}}}
    CARET's architecture files          `publishes` and `subscribes` of a node
    `ros2 node info NODE`               the node's name alone in its line, then `Publishers:`, `Service Servers:` and so
                                        on with `name: type` lines; the output of many nodes in one file
    an action                           three services and two topics, as rcl makes them

YAML is read by PyYAML, safely: tags that make objects are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rookery.errors import TopologyError
from rookery.extras import need

__all__ = ["read_document"]

_WORDS = {
    "publishes": "publishers",
    "subscribes": "subscribers",
    "subscriptions": "subscribers",
    "service_servers": "services",
    "service_clients": "clients",
}
_LISTS = ("publishers", "subscribers", "services", "clients", "action_servers", "action_clients")
_NODE = re.compile(r"^/[^\s:]*$", re.MULTILINE)
_SECTION = re.compile(r"^\s+([A-Z][A-Za-z ]+):\s*$")
_ENTRY = re.compile(r"^\s+(/\S*):\s*(\S+(?:,\s*\S+)*)\s*$")
#: What an action is made of: name and type of each part, by the action's name and its type's stem.
_ACTION_SERVICES = (("send_goal", "{}_SendGoal"), ("get_result", "{}_GetResult"))
_CANCEL = ("cancel_goal", "action_msgs/srv/CancelGoal")
_ACTION_TOPICS = (("feedback", "{}_FeedbackMessage"), ("status", "action_msgs/msg/GoalStatusArray"))


def read_document(text: str | bytes, *, name: str, expected: str) -> dict[str, Any]:
    """Return the document of a graph; raise `TopologyError` with what was `expected` where there is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        document = _not_json(text, name=name, expected=expected, problem=error)
    if not isinstance(document, dict):
        raise TopologyError(f"{name} holds a {type(document).__name__}; give {expected}")
    document = {str(key): value for key, value in document.items()}
    if not {"nodes", "topics", "participants"} & document.keys() and _is_listing(document):
        document = {"nodes": document}
    if document.get("nodes") and isinstance(document["nodes"], dict):
        nodes = document["nodes"].items()
        document["nodes"] = [{"name": key, **node} if isinstance(node, dict) else node for key, node in nodes]
    if isinstance(document.get("nodes"), list):
        document["nodes"] = [_plain_node(node) if isinstance(node, dict) else node for node in document["nodes"]]
    return document


def _not_json(text: str | bytes, *, name: str, expected: str, problem: Exception) -> Any:
    try:
        words = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        raise TopologyError(f"{name} is no text; give {expected}, or a pcap of a running system") from None
    words = words.replace("\r\n", "\n")
    if _NODE.search(words):
        return {"nodes": _printed_nodes(words)}
    if words.lstrip()[:1] in ("{", "["):
        raise TopologyError(f"{name} is no JSON ({problem}); give {expected}, or a pcap of a running system")
    need("yaml", f"{name} is no JSON ({problem}); YAML", extra="yaml")
    import yaml

    try:
        return yaml.load(words, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise TopologyError(f"{name} is neither JSON nor YAML ({reason}); give {expected}, or a pcap") from None


def _is_listing(document: Mapping[str, Any]) -> bool:
    """Say whether a document is a mapping of nodes by their names."""
    return bool(document) and all(
        key.startswith("/") and isinstance(node, dict) and any(_word(part) in _LISTS for part in node)
        for key, node in document.items()
    )


def _printed_nodes(words: str) -> list[dict[str, Any]]:
    """Read the output of `ros2 node info`, of one node or of many."""
    nodes: list[dict[str, Any]] = []
    section: list[dict[str, Any]] | None = None
    for line in words.splitlines():
        heading, entry = _SECTION.match(line), _ENTRY.match(line)
        if _NODE.match(line):
            nodes.append({"name": line.strip()})
            section = None
        elif heading and nodes:
            section = nodes[-1].setdefault(_word(heading[1]), [])
        elif entry and section is not None:
            section.append({"name": entry[1], "types": [each.strip() for each in entry[2].split(",")]})
    return nodes


def _word(key: object) -> str:
    word = str(key).strip().lower().replace(" ", "_")
    return _WORDS.get(word, word)


def _plain_node(node: dict[Any, Any]) -> dict[str, Any]:
    plain = {_word(key) if _word(key) in _LISTS else str(key): value for key, value in node.items()}
    for part in _LISTS:
        entries = plain.get(part)
        if isinstance(entries, dict):
            plain[part] = [{"name": name, "type": kind} for name, kind in entries.items()]
    for part in ("action_servers", "action_clients"):
        actions = plain.pop(part, None)
        if isinstance(actions, list):
            _spell_out(plain, actions, server=part == "action_servers")
    return plain


def _spell_out(node: dict[str, Any], actions: list[Any], *, server: bool) -> None:
    """Add the services and topics of a node's actions."""
    for action in actions:
        if not isinstance(action, dict) or not isinstance(action.get("name"), str):
            continue
        types = action.get("types") or action.get("type") or []
        for stem in [types] if isinstance(types, str) else types:
            services = [*((part, kind.format(stem)) for part, kind in _ACTION_SERVICES), _CANCEL]
            for keys, parts in (
                (("services", "clients"), services),
                (("publishers", "subscribers"), [(part, kind.format(stem)) for part, kind in _ACTION_TOPICS]),
            ):
                listed = list(node.get(keys[not server]) or [])
                listed += [{"name": f"{action['name']}/_action/{part}", "type": kind} for part, kind in parts]
                node[keys[not server]] = listed
