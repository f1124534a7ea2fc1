"""What commands share: options of one name and one notation everywhere, and the two ways to speak.

Data goes to stdout: a table for people, or with `--json` one JSON document for programs. Everything else (progress,
notes, warnings) goes to stderr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

__all__ = [
    "ADDRESS",
    "BestEffort",
    "Brokers",
    "DomainId",
    "IdType",
    "Interface",
    "Join",
    "Json",
    "Master",
    "NeededSchema",
    "NoMulticast",
    "NodeName",
    "Peers",
    "SchemaText",
    "Seconds",
    "Space",
    "TopicKey",
    "TransientLocal",
    "TypeName",
    "Where",
    "note",
    "note_quarantined",
    "reached",
    "write",
    "write_json",
    "write_now",
]

#: The `--json` option: declare `json: Json = False` in the command.
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

DomainId = Annotated[int, typer.Option(help="The DDS domain.")]
Interface = Annotated[str, typer.Option(help="The network interface, by name or IPv4 address.")]
#: Whom a participant looks for where multicast does not reach; passed on by `reached`.
Peers = Annotated[
    list[str] | None,
    typer.Option(
        "--peer",
        metavar="HOST[:PORT]",
        help="A host, or one participant of it, to look for by itself; may be repeated.",
    ),
]
NoMulticast = Annotated[bool, typer.Option("--no-multicast", help="Neither speak nor listen by multicast.")]
_SCHEMA = "The events' schema: a JSON file, a file or folder of events, or text such as 'symbol:string,price:float64'."
#: The `--schema` option, read by `cli/notations.py`; for a command that needs one, `NeededSchema`.
SchemaText = Annotated[str | None, typer.Option("--schema", help=_SCHEMA)]
NeededSchema = Annotated[str, typer.Option("--schema", help=_SCHEMA)]
#: The `--id-type` option, for whoever reads subscriptions.
IdType = Annotated[
    str | None, typer.Option("--id-type", help="int or string; by default the ids of a text file are strings.")
]
TypeName = Annotated[str | None, typer.Option(help="The type's name on the wire, if it is not the topic's.")]
TopicKey = Annotated[list[str] | None, typer.Option(help="An attribute that is part of the topic's key.")]
BestEffort = Annotated[bool, typer.Option("--best-effort", help="Take best-effort writers too.")]
TransientLocal = Annotated[
    bool, typer.Option("--transient-local", help="Ask writers for what they kept as well, also after a restart.")
]
Where = Annotated[str | None, typer.Option("--where", help="Only the events that satisfy this WHERE clause.")]
Seconds = Annotated[float | None, typer.Option("--seconds", help="Leave after so long; by default on Ctrl-C.", min=0.0)]
NodeName = Annotated[str, typer.Option("--name", help="What this participant is called in the domain.")]
Master = Annotated[str | None, typer.Option("--master", help="A Spark master, or sc://HOST for Spark Connect.")]

#: Addresses are `HOST:PORT` everywhere, read by `cli/notations.py`.
ADDRESS = "HOST:PORT"
Join = Annotated[
    list[str] | None, typer.Option("--join", metavar=ADDRESS, help="Another one to join through; may be repeated.")
]
Brokers = Annotated[
    list[str] | None,
    typer.Option("--at", metavar=ADDRESS, help="A broker of the network; may be repeated.  [default: 127.0.0.1:7401]"),
]
Space = Annotated[
    str,
    typer.Option(
        "--space",
        help="The attributes that span the space: price:0:1000,symbol; or a JSON file of cuts, or of a tree.",
    ),
]


def write(line: str = "") -> None:
    """Write one line of data to stdout."""
    sys.stdout.write(line + "\n")


def write_now(line: str) -> None:
    """Write one line of data so that the next program in the pipe has it at once."""
    write(line)
    sys.stdout.flush()


def write_json(document: Any) -> None:
    """Write `document` to stdout as JSON, one object; what JSON lacks (dates, paths) is written as its text."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")


def note_quarantined(faults: Iterable[dict[str, Any]]) -> None:
    """Name the subscriptions that were left out, and why."""
    for fault in faults:
        name = "" if fault["subscription_id"] is None else f"{fault['subscription_id']!r}: "
        note(f"quarantined {name}{fault['reason']}")


def note(line: str) -> None:
    """Tell the user something that is not the result: one line on stderr."""
    sys.stderr.write(f"rookery: {line}\n")
    sys.stderr.flush()


def reached(peers: list[str] | None, no_multicast: bool) -> dict[str, Any]:
    """Return how a participant reaches the others, as `open_participant` and `DdsOptions` take it."""
    return {"initial_peers": tuple(peers or ()), "multicast": not no_multicast}
