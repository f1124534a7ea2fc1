"""Make docs/reference/command-line.md from the commands themselves: `python -m tests.docs.command_line`.

A table of options for each command, from the same objects that `--help` prints, so that it does not depend on the
width of a terminal or on the version of the printer.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from typer.main import get_command

from rookery.cli import COMMANDS
from rookery.cli.application import application

__all__ = ["page"]

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command-line.md"
OPENING = """# Command line

Made from the commands by `python -m tests.docs.command_line`. Every option is also a variable and a key of the settings
file: [configuration](configuration.md).

| command | does |
|---|---|
"""


def page() -> str:
    """Return the text of the page."""
    group: Any = get_command(application(list(COMMANDS)))
    table = "".join(f"| [`rookery {name}`](#rookery-{name}) | {line} |\n" for name, line in COMMANDS.items())
    return OPENING + table + "".join(_section(name, group.commands[name]) for name in COMMANDS)


def _section(name: str, command: Any) -> str:
    module = importlib.import_module(f"rookery.cli.{name}")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    usage = " ".join(["rookery", name, "[OPTIONS]", *(_metavar(one) for one in arguments)])
    text = f"\n## rookery {name}\n\n{inspect.cleandoc(command.help)}\n\n```text\n{usage}\n```\n\n"
    rows = "".join(_row(one) for one in command.params if one.name != "help")
    if rows:
        text += "| option | default | meaning |\n|---|---|---|\n" + rows
    return text + "\n```text\n" + "\n".join(module.EXAMPLES) + "\n```\n"


def _metavar(argument: Any) -> str:
    shown = argument.metavar or argument.name.upper()
    return shown if argument.required else f"[{shown}]"


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    default = "required" if parameter.required else _default(parameter.default)
    return f"| {names} | {default} | {(parameter.help or '').replace('|', chr(92) + '|')} |\n"


def _default(value: Any) -> str:
    return "" if value is None or value is False or callable(value) else f"`{getattr(value, 'value', value)}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
