"""What commands read from files or from the command line: an event, and how a space is cut."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rookery.errors import EventError, SpaceError

__all__ = ["read_cuts", "read_event"]


def read_cuts(given: str) -> str | dict[str, Any]:
    """Return how a space is cut, for `space/notation.py`: the text itself, or the document in a JSON file."""
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
