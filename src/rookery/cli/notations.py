"""How people write a schema, a space, an address and an event in options: one notation of each, for all commands.

    --schema   symbol:string,price:float64    or a JSON file of names and types, or a file or folder of events
    --space    price:0:1000,symbol            or a JSON file of edges and values (`space/notation.py`)
    address    127.0.0.1:7401                 HOST:PORT, for --listen, --join, --at and --broker

What is written wrongly is wrong usage: the message names the option and shows the notation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rookery.errors import EventError, SchemaError, SettingsError, SpaceError

if TYPE_CHECKING:
    from rookery.model import Schema
    from rookery.space.axes import EventSpace
    from rookery.space.grid import Grid

__all__ = [
    "read_address",
    "read_addresses",
    "read_event",
    "read_grid",
    "read_schema",
    "read_space",
]

_SCHEMA_NOTATION = "--schema 'symbol:string,price:float64', a JSON file of names and types, or a file of events"


def read_schema(given: str) -> Schema:
    """Read what `--schema` says."""
    from rookery.model import Schema

    try:
        return Schema.read(given)
    except SchemaError as error:
        raise SettingsError(f"--schema: {error}; write {_SCHEMA_NOTATION}") from error


def read_space(given: str, schema: Schema) -> EventSpace:
    """Read what `--space` says, as brokers take it."""
    from rookery.space import notation

    try:
        return notation.read_space(_cuts(given), schema)
    except SpaceError as error:
        raise SettingsError(f"--space: {error}") from error


def read_grid(given: str, schema: Schema) -> Grid:
    """Read what `--space` says, as the peers of an overlay take it."""
    from rookery.space import notation

    try:
        return notation.read_grid(_cuts(given), schema)
    except SpaceError as error:
        raise SettingsError(f"--space: {error}") from error


def _cuts(given: str) -> str | dict[str, Any]:
    """Return how a space is cut: the text itself, or the document in a JSON file."""
    path = Path(given)
    if path.suffix.lower() != ".json":
        return given
    try:
        cuts = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SpaceError(f"{given}: cannot read the space: {error}") from None
    if not isinstance(cuts, dict):
        raise SpaceError(f'{given}: a space is an object of lists, such as {{"price": [0, 10, 20]}}')
    return cuts


def read_address(option: str, given: str) -> tuple[str, int]:
    """Read the address that `option` says."""
    from rookery.live.brokers.settings import parse_address

    try:
        return parse_address(given)
    except SettingsError as error:
        raise SettingsError(f"{option}: {error}") from None


def read_addresses(option: str, given: list[str] | None) -> list[tuple[str, int]]:
    """Read the addresses that `option`, which may be repeated, says."""
    return [read_address(option, one) for one in given or ()]


def read_event(given: str) -> dict[str, Any]:
    """Read one event: JSON, `@file` with JSON in it, or `-` for standard input."""
    try:
        if given == "-":
            text = sys.stdin.read()
        elif given.startswith("@"):
            text = Path(given[1:]).read_text("utf-8")
        else:
            text = given
        event = json.loads(text)
    except (OSError, ValueError) as error:
        raise EventError(f"cannot read the event: {error}; an event is JSON, as '{{\"price\": 9.5}}'") from None
    if not isinstance(event, dict):
        raise EventError("an event is a JSON object of attributes and values")
    return event
