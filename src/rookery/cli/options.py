"""What commands share: options of one name and one notation everywhere, and the two ways to speak.

Data goes to stdout: a table for people, or with `--json` one JSON document for programs. Everything else (progress,
notes, warnings) goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.silence import spoke
from rookery.errors import SettingsError

if TYPE_CHECKING:
    from rookery.rtps.limits import Limits

__all__ = [
    "ADDRESS",
    "BestEffort",
    "Brokers",
    "Deadline",
    "Dialect",
    "DomainId",
    "EventsPath",
    "Exclusive",
    "IdType",
    "Interface",
    "Join",
    "Json",
    "LimitTexts",
    "Master",
    "NeededSchema",
    "NoMulticast",
    "NodeName",
    "Partitions",
    "Peers",
    "SchemaText",
    "Seconds",
    "Space",
    "SubscriptionsPath",
    "TableTime",
    "TableVersion",
    "TopicKey",
    "TransientLocal",
    "TypeName",
    "Where",
    "note",
    "note_limits",
    "note_quarantined",
    "reached",
    "state_folder",
    "write",
    "write_json",
    "write_now",
]

#: The `--json` option: declare `json: Json = False` in the command.
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

DomainId = Annotated[int, typer.Option(help="The DDS domain.")]
Interface = Annotated[str, typer.Option(help="The network interface, by name or IPv4 address; several: eth0,wlan0.")]
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
MulticastData = Annotated[
    bool, typer.Option("--multicast-data", help="Hear samples by multicast too, and send so what several listen to.")
]
#: The bounds of a participant; passed on by `reached`.
LimitTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=NUMBER",
        help="A bound of what is kept of others, such as participants=4096 (see the page on DDS); may be repeated.",
    ),
]
_SCHEMA = "The events' schema: a JSON file, a file or folder of events, or text such as 'symbol:string,price:float64'."
#: The `--schema` option, read by `cli/notations.py`; for a command that needs one, `NeededSchema`.
SchemaText = Annotated[str | None, typer.Option("--schema", help=_SCHEMA)]
NeededSchema = Annotated[str, typer.Option("--schema", help=_SCHEMA)]
#: The `--id-type` option, for whoever reads subscriptions.
IdType = Annotated[
    str | None, typer.Option("--id-type", help="int or string; by default the ids of a text file are strings.")
]
#: The `--dialect` option, for whoever reads subscriptions.
Dialect = Annotated[
    str | None,
    typer.Option(
        "--dialect", help="What the conditions are written in: where, sigma, eventbridge, jms or cesql; YAML is Sigma."
    ),
]
#: Where rules and events are; texts, since a `Path` would take `s3://bucket` for `s3:/bucket`.
SubscriptionsPath = Annotated[
    str,
    typer.Option(
        "--subscriptions",
        "-s",
        metavar="PATH",
        help="Rules: CSV, TSV, JSON lines, Parquet, Arrow or Sigma's YAML; or table:NAME of Spark's catalog.",
    ),
]
EventsPath = Annotated[
    str,
    typer.Option(
        "--events",
        "-e",
        metavar="PATH",
        help="Events: CSV, JSON lines or Parquet, file or folder; a table's folder; or table:NAME of Spark's catalog.",
    ),
]
#: The state of a table of events.
TableVersion = Annotated[
    int | None, typer.Option(help="Read a Delta table at this version, an Iceberg table at this snapshot.")
]
TableTime = Annotated[datetime | None, typer.Option(help="Read a table as it was at this moment (UTC).")]
TypeName = Annotated[str | None, typer.Option(help="The type's name on the wire, if it is not the topic's.")]
TopicKey = Annotated[list[str] | None, typer.Option(help="An attribute that is part of the topic's key.")]
BestEffort = Annotated[bool, typer.Option("--best-effort", help="Take best-effort writers too.")]
TransientLocal = Annotated[
    bool, typer.Option("--transient-local", help="Ask writers for what they kept as well, also after a restart.")
]
Partitions = Annotated[
    list[str] | None, typer.Option("--partition", help="Read in this partition, a name or a pattern; may be repeated.")
]
Exclusive = Annotated[
    bool,
    typer.Option("--exclusive", help="Read writers of exclusive ownership: an instance belongs to the strongest."),
]
Deadline = Annotated[
    float | None,
    typer.Option("--deadline-seconds", help="Warn where an instance has no event for so long.", min=0.000_001),
]
Liveliness = Annotated[
    float | None,
    typer.Option("--liveliness-seconds", help="Warn where a writer gives no sign of life for so long.", min=0.001),
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


def state_folder() -> Path:
    """Return where files are that a command needs when it runs again."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "rookery"


def write(line: str = "") -> None:
    """Write one line of data to stdout."""
    spoke()
    sys.stdout.write(line + "\n")


def write_now(line: str) -> None:
    """Write one line of data so that the next program in the pipe has it at once."""
    write(line)
    sys.stdout.flush()


def write_json(document: Any) -> None:
    """Write `document` to stdout as JSON, one object; what JSON lacks (dates, paths) is written as its text."""
    spoke()
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")


def note_quarantined(faults: Iterable[dict[str, Any]]) -> None:
    """Name the subscriptions that were left out, and why."""
    for fault in faults:
        name = "" if fault["subscription_id"] is None else f"{fault['subscription_id']!r}: "
        note(f"quarantined {name}{fault['reason']}")


def note(line: str) -> None:
    """Tell the user something that is not the result: one line on stderr."""
    spoke()
    sys.stderr.write(f"rookery: {line}\n")
    sys.stderr.flush()


def note_limits(reached: Mapping[str, str]) -> None:
    """Warn that a survey does not show all, and say how to see more."""
    for warning in reached.values():
        note(f"warning: {warning}; raise it with --limit NAME=NUMBER")


def reached(
    peers: list[str] | None, no_multicast: bool, limits: list[str] | None, *, multicast_data: bool = False
) -> dict[str, Any]:
    """Return how a participant reaches the others, and what it keeps of them, as `open_participant` takes it."""
    if multicast_data and no_multicast:
        raise SettingsError("--multicast-data with --no-multicast: leave one of both out")
    found = {"initial_peers": tuple(peers or ()), "multicast": not no_multicast, "limits": _read_limits(limits)}
    return found | ({"multicast_data": True} if multicast_data else {})


def _read_limits(given: list[str] | None) -> Limits | None:
    """Return the bounds that are given, over the usual ones; None where none is."""
    if not given:
        return None
    from rookery.rtps.limits import Limits

    names = [field.name for field in fields(Limits)]
    values: dict[str, int] = {}
    for text in given:
        name, _, number = text.partition("=")
        if name not in names:
            raise SettingsError(f"--limit {text}: there is no limit {name!r}; there are {', '.join(names)}")
        if not number.isdecimal() or not int(number):
            raise SettingsError(f"--limit {text}: write it as {name}=NUMBER, a whole number above 0")
        values[name] = int(number)
    return Limits(**values)
