"""`rookery config`: each setting, its value, and where the value comes from.

A setting has four possible origins: its flag, its variable, the settings file, the default (rule 5 of the command
line). Flags belong to one call and are not shown. Some variables belong to no command (`ROOKERY_CACHE` and the like);
they are listed under `everywhere`. What names a secret is shown as set or not set, never by value.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from rookery.cli import COMMANDS
from rookery.cli.options import Json, write, write_json
from rookery.cli.settings import SETTINGS_FILE, read_settings, settings_file
from rookery.errors import SettingsError

__all__ = ["EVERYWHERE", "EXAMPLES", "Setting", "command", "settings_of"]

EXAMPLES = [
    "rookery config match",
    "rookery config --json",
    "ROOKERY_MATCH_TIME=ts rookery config match",
]

#: The variables that belong to no command, and what each decides.
EVERYWHERE = {
    "ROOKERY_CONFIG": "the settings file, instead of rookery.toml in the working folder",
    "ROOKERY_CACHE": "the folder of compiled kernels and other things that can be made again",
    "ROOKERY_DEBUG": "1 shows the traceback of an error",
    "ROOKERY_MASTER": "the Spark master where --master is not given",
    "ROOKERY_BROADCAST_BYTES": "the largest compiled set that is sent to every Spark worker",
    "ROOKERY_CLASS_DATA": "off starts the JVM without its archive of class data",
    "ROOKERY_DATA": "the folder of real data sets that some claims read, instead of shared/data beside the checkout",
    "ROOKERY_PYTHON": "the Python that the launcher makes its environment with",
}

SECRET_WORDS = ("key", "token", "password", "secret")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: where it applies, its name, its value, and the origin of the value."""

    command: str
    name: str
    value: Any
    origin: str


def command(
    name: Annotated[str | None, typer.Argument(metavar="COMMAND", help="One command; all of them else.")] = None,
    json: Json = False,
) -> None:
    """Show each setting of a command, its value, and where that comes from: variable, file or default."""
    if name is not None and name not in COMMANDS:
        raise SettingsError(f"there is no command {name}; `rookery --help` lists them")
    names = [name] if name else list(COMMANDS)
    settings = [setting for one in names for setting in settings_of(one)]
    if name is None:
        settings = [_everywhere(variable) for variable in EVERYWHERE] + settings
    if json:
        write_json([asdict(setting) for setting in settings])
        return
    file = settings_file(SETTINGS_FILE)
    write(f"file: {file.resolve()}" if file.is_file() else f"file: none ({file} is not there)")
    width = max((len(setting.name) for setting in settings), default=0)
    for place in dict.fromkeys(setting.command for setting in settings):
        write(f"\n[{place}]")
        for setting in settings:
            if setting.command == place:
                write(f"  {setting.name:<{width}}  {_shown(setting.value):<24}  {setting.origin}")


def settings_of(name: str) -> list[Setting]:
    """Return the settings of the command `name` as they stand here and now."""
    from rookery.cli.application import application

    group: Any = get_command(application([name]))
    parsed = read_settings(SETTINGS_FILE, command=group, chosen=name).get(name, {})
    file = settings_file(SETTINGS_FILE)
    settings = []
    for option in group.commands[name].params:
        if option.param_type_name != "option" or option.name == "help":
            continue
        variable = f"ROOKERY_{name}_{option.name}".upper()
        value, origin = option.default, "default"
        if variable in os.environ:
            value, origin = os.environ[variable], f"variable {variable}"
        elif option.name in parsed:
            value, origin = parsed[option.name], f"file {file}"
        settings.append(Setting(name, option.name.replace("_", "-"), _masked(option.name, value), origin))
    return settings


def _everywhere(variable: str) -> Setting:
    if variable in os.environ:
        return Setting("everywhere", variable, os.environ[variable], f"variable: {EVERYWHERE[variable]}")
    return Setting("everywhere", variable, None, f"not set: {EVERYWHERE[variable]}")


def _masked(name: str, value: Any) -> Any:
    """Return the value, or that there is one where the name says that it is a secret (a path to one is none)."""
    secret = any(word in name.split("_") for word in SECRET_WORDS) and value is not None
    return "(set, not shown)" if secret and not isinstance(value, (Path, bool)) else value


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
