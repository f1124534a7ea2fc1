"""`rookery ls`: what is written and read in the domain?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.credentials import KeyFile, read_key
from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import (
    DomainId,
    Interface,
    Json,
    LimitTexts,
    NoMulticast,
    Peers,
    note,
    note_limits,
    reached,
    write_json,
)

if TYPE_CHECKING:
    from rookery.live.survey import Survey

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery ls",
    "rookery ls --domain-id 5 --interface eth0",
    "rookery ls --interface eth0 --no-multicast --peer 10.0.0.7 --peer 10.0.0.8",
    "rookery ls --seconds 3 --json",
]
#: A pipe has no width; the table is not cut for it.
_WIDTH = 200


def command(
    domain_id: DomainId = 0,
    interface: Interface = "lo",
    peer: Peers = None,
    no_multicast: NoMulticast = False,
    limit: LimitTexts = None,
    seconds: Annotated[float, typer.Option(help="How long to listen.", min=0.0)] = 1.0,
    key_file: KeyFile = None,
    json: Json = False,
) -> int:
    """List the topics of a DDS domain: type, writers and readers, quality of service, who is apart and why."""
    from rich.console import Console
    from rich.table import Table

    from rookery.live.survey import survey

    place = {"domain_id": domain_id, "interface": interface, **reached(peer, no_multicast, limit)}
    found = asyncio.run(survey(seconds=seconds, pre_shared_key=read_key(key_file), **place))
    topics = _by_topic(found)
    note_limits(found.limits_reached)
    if json:
        write_json({"domain_id": domain_id, "limits_reached": found.limits_reached, "topics": topics})
        return ExitCode.DONE
    note(f"{len(topics)} topics, {len(found.endpoints)} endpoints in domain {domain_id} on {interface}")
    if not topics:
        return ExitCode.DONE
    table = Table(box=None, pad_edge=False)
    for heading in ("topic", "type", "writers", "readers", "quality of service", "summaries"):
        table.add_column(heading, justify="right" if heading in ("writers", "readers") else "left")
    for topic in topics:
        endpoints = topic["endpoints"]
        kinds = [endpoint["kind"] for endpoint in endpoints]
        qualities = dict.fromkeys(_words(endpoint["quality"]) for endpoint in endpoints)
        table.add_row(
            topic["topic"],
            topic["type_name"] + (" (keyed)" if topic["keyed"] else ""),
            str(kinds.count("writer")),
            str(kinds.count("reader")),
            "; ".join(qualities),
            ", ".join(dict.fromkeys(endpoint["summary"] or "none" for endpoint in endpoints)),
        )
    Console(width=_WIDTH).print(table)
    if found.misfits:
        apart = Table(box=None, pad_edge=False)
        for heading in ("apart", "writers", "readers", "because"):
            apart.add_column(heading, justify="right" if heading in ("writers", "readers") else "left")
        for one in found.misfits:
            apart.add_row(one.topic, str(len(one.writers)), str(len(one.readers)), "; ".join(one.reasons))
        Console(width=_WIDTH).print("", apart)
    return ExitCode.DONE


def _by_topic(found: Survey) -> list[dict[str, Any]]:
    topics: dict[tuple[str, str, bool], list[dict[str, Any]]] = {}
    for endpoint in found.endpoints:
        members = topics.setdefault((endpoint.topic, endpoint.type_name, endpoint.keyed), [])
        described = {"guid": endpoint.guid, "kind": endpoint.kind, "quality": endpoint.quality}
        members.append({**described, "summary": endpoint.summary})
    return [
        {"topic": topic, "type_name": type_name, "keyed": keyed, "endpoints": members, "apart": _apart(found, members)}
        for (topic, type_name, keyed), members in topics.items()
    ]


def _apart(found: Survey, members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what keeps some of these endpoints from others of their topic."""
    names = {member["guid"] for member in members}
    return [
        {"writers": one.writers, "readers": one.readers, "reasons": one.reasons}
        for one in found.misfits
        if names & {*one.writers, *one.readers}
    ]


def _words(quality: dict[str, Any]) -> str:
    words = [quality["reliability"], quality["durability"], quality["history"]]
    if quality["deadline_seconds"] is not None:
        words.append(f"deadline {quality['deadline_seconds']:g} s")
    if "partitions" in quality:
        words.append("in " + ", ".join(quality["partitions"]))
    if "lifespan_seconds" in quality:
        words.append(f"lifespan {quality['lifespan_seconds']:g} s")
    if "separation_seconds" in quality:
        words.append(f"at least {quality['separation_seconds']:g} s apart")
    if "liveliness" in quality:
        lease = quality["liveliness_seconds"]
        words.append(f"liveliness {quality['liveliness']}" + ("" if lease is None else f" within {lease:g} s"))
    if "ownership" in quality:
        strength = quality.get("ownership_strength")
        words.append(f"{quality['ownership']} ownership" + ("" if strength is None else f" of strength {strength}"))
    if "destination_order" in quality:
        words.append(f"ordered {quality['destination_order']}")
    if "latency_budget_seconds" in quality:
        words.append(f"latency budget {quality['latency_budget_seconds']:g} s")
    if "user_data" in quality:
        return ", ".join(words).replace("_", " ") + f", says {quality['user_data']!r}"
    return ", ".join(words).replace("_", " ")
