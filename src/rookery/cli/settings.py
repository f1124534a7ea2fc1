"""Settings from a file: `rookery.toml` in the working folder, or the file that `ROOKERY_CONFIG` names.

One table for each command, with the names of its options:

    [test]
    slow = true

A flag or a `ROOKERY_*` variable overrides the file. A table or key that means nothing is a mistake, not something to
pass over: a misspelled setting that is silently ignored is worse than none.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rookery.cli import COMMANDS
from rookery.errors import SettingsError

__all__ = ["SETTINGS_FILE", "option_names", "read_settings", "settings_file"]

SETTINGS_FILE = Path("rookery.toml")


def read_settings(file: Path, *, command: Any, chosen: str | None) -> dict[str, dict[str, Any]]:
    """Return the settings by command, named as the options' parameters; the chosen command's keys are checked."""
    file = settings_file(file)
    if not os.environ.get("ROOKERY_CONFIG") and not file.is_file():
        return {}
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} is not TOML: {error}") from error
    settings: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        if name not in COMMANDS or not isinstance(table, Mapping):
            raise SettingsError(f"{file}: [{name}] is not the table of a command{_nearest(name, COMMANDS)}")
        settings[name] = {key.replace("-", "_"): value for key, value in table.items()}
        if name == chosen:
            known = option_names(command.commands[name])
            for key in table:
                if key.replace("-", "_") not in known:
                    raise SettingsError(f"{file}: [{name}] has no setting {key}{_nearest(key, known)}")
    return settings


def settings_file(file: Path) -> Path:
    """Return the settings file in force: the one that `ROOKERY_CONFIG` names, else `file`."""
    return Path(os.environ.get("ROOKERY_CONFIG") or file)


def option_names(command: Any) -> list[str]:
    """Return the parameter names of the command's options."""
    return [parameter.name for parameter in command.params if parameter.param_type_name == "option"]


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
