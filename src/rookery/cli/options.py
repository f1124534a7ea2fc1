"""What every command shares: the `--json` option, and the two ways to speak.

Data goes to stdout: a table for people, or with `--json` one JSON document for programs. Everything else (progress,
notes, warnings) goes to stderr.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

__all__ = ["Json", "note", "write", "write_json"]

#: The `--json` option: declare `json: Json = False` in the command.
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def write(line: str = "") -> None:
    """Write one line of data to stdout."""
    sys.stdout.write(line + "\n")


def write_json(document: Any) -> None:
    """Write `document` to stdout as JSON, one object; what JSON lacks (dates, paths) is written as its text."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")


def note(line: str) -> None:
    """Tell the user something that is not the result: one line on stderr."""
    sys.stderr.write(f"rookery: {line}\n")
    sys.stderr.flush()
