"""The key that the members of a domain share, from a file: never from the command line, where everyone can read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rookery.errors import SettingsError

__all__ = ["KeyFile", "read_key"]

_SHORTEST = 16

#: The `--key-file` option: declare `key_file: KeyFile = None` in the command.
KeyFile = Annotated[
    Path | None, typer.Option("--key-file", help="A file with the key that all who may take part share.")
]


def read_key(file: Path | None) -> bytes | None:
    """Return the key in a file, without the line's end; None where no file is named."""
    if file is None:
        return None
    try:
        key = file.read_bytes().strip()
    except OSError as error:
        raise SettingsError(f"--key-file {file}: {error.strerror}") from error
    if len(key) < _SHORTEST:
        raise SettingsError(f"--key-file {file}: {len(key)} octets; a key has at least {_SHORTEST} random ones")
    return key
