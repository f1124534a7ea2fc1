"""What commands share: the `--json` option, the options of a DDS domain and of its topics, and the two ways to speak.

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
    "BestEffort",
    "DomainId",
    "IdType",
    "Interface",
    "Json",
    "NeededSchema",
    "SchemaText",
    "TopicKey",
    "TypeName",
    "note",
    "note_quarantined",
    "write",
    "write_json",
]

#: The `--json` option: declare `json: Json = False` in the command.
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

DomainId = Annotated[int, typer.Option(help="The DDS domain.")]
Interface = Annotated[str, typer.Option(help="The network interface, by name or IPv4 address.")]
_SCHEMA = "The events' schema: a JSON file, a file or folder of events, or text such as 'price:float64,symbol:string'."
#: The `--schema` option, read by `Schema.read`; for a command that needs one, `NeededSchema`.
SchemaText = Annotated[str | None, typer.Option("--schema", help=_SCHEMA)]
NeededSchema = Annotated[str, typer.Option("--schema", help=_SCHEMA)]
#: The `--id-type` option, for whoever reads subscriptions.
IdType = Annotated[
    str | None, typer.Option("--id-type", help="int or string; by default the ids of a text file are strings.")
]
TypeName = Annotated[str | None, typer.Option(help="The type's name on the wire, if it is not the topic's.")]
TopicKey = Annotated[list[str] | None, typer.Option(help="An attribute that is part of the topic's key.")]
BestEffort = Annotated[bool, typer.Option("--best-effort", help="Take best-effort writers too.")]


def write(line: str = "") -> None:
    """Write one line of data to stdout."""
    sys.stdout.write(line + "\n")


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
