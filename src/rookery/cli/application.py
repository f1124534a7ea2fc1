"""Build the typer application for one command line, and run it.

A command that the arguments do not name is registered as a name with its line of help and no body: typer can list it
and suggest it, and its module stays unloaded.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from rookery.cli import COMMANDS, GROUPS
from rookery.cli.options import note, write
from rookery.cli.settings import SETTINGS_FILE, read_settings
from rookery.cli.silence import signs_of_life
from rookery.cli.unused import remember_given
from rookery.version import __version__

__all__ = ["COMPLETING", "WORK", "NotingCommand", "application", "run"]

#: Set by the shell while it completes a line, beside the line so far; `rookery completion` prints what sets it.
COMPLETING = "_ROOKERY_COMPLETE"
#: What the commands do that work and end; the others wait for others, and are silent until something happens.
WORK = {
    "validate": "checking the subscriptions",
    "lint": "comparing the subscriptions",
    "explain": "reading the subscriptions",
    "match": "matching",
    "backtest": "matching what was",
    "diff": "matching both sets",
    "plan": "counting the announcements",
    "demo": "working",
    "keys": "making certificates",
    "doctor": "trying",
}


def run(arguments: Sequence[str]) -> None:
    """Run the command line `arguments`; a result other than 0 leaves as `SystemExit`."""
    if COMPLETING in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
        line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
        get_command(application(line.split())).main(args=[], prog_name="rookery", complete_var=COMPLETING)
    tell_of_compilation()
    command = get_command(application(arguments))
    chosen = next((argument for argument in arguments if argument in COMMANDS), None)
    settings = read_settings(SETTINGS_FILE, command=command, chosen=chosen)
    command.main(
        args=list(arguments),
        prog_name="rookery",
        auto_envvar_prefix="ROOKERY",
        default_map=settings,
    )


def tell_of_compilation() -> None:
    """Show on stderr that kernels are being compiled: a command that is silent for half a minute looks dead."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(record.getMessage())

    kernels = logging.getLogger("rookery.kernels")
    kernels.handlers, kernels.propagate = [Notes()], False
    kernels.setLevel(logging.INFO)


def application(arguments: Sequence[str]) -> typer.Typer:
    """Return the application, with the body of each command that `arguments` names."""
    app = typer.Typer(
        name="rookery",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_epilog(["rookery --version", "rookery COMMAND --help"]),
    )
    app.callback()(_rookery)
    panels = {name: title for title, group in GROUPS.items() for name in group}
    for name, line in COMMANDS.items():
        placed: dict[str, Any] = {"cls": NotingCommand, "rich_help_panel": panels.get(name)}
        if name in arguments:
            module = importlib.import_module(f"rookery.cli.{name}")
            app.command(name, short_help=line, epilog=_epilog(module.EXAMPLES), **placed)(
                _exiting(name, module.command)
            )
        else:
            app.command(name, help=line, **placed)(_not_chosen)
    return app


class NotingCommand(TyperCommand):
    """A command that notes which of its options were typed, for `cli/unused.py`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command's function."""
        given = {}
        for parameter in self.params:
            source = ctx.get_parameter_source(parameter.name)
            if parameter.param_type_name == "option" and source is not None and source.name == "COMMANDLINE":
                given[parameter.name] = max(parameter.opts, key=len)
        with remember_given(given):
            return super().invoke(ctx)


def _rookery(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Print the version and stop.", allow_from_autoenv=False, show_envvar=False
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Content-based publish/subscribe: one compiled set of subscriptions, the same answer everywhere."""
    if version:
        write(f"rookery {__version__}")
        raise typer.Exit


def _not_chosen() -> None:
    """Stand for a command that the arguments do not name: it can be listed, never run."""
    raise AssertionError("a command ran that the arguments do not name")


def _exiting(name: str, function: Callable[..., int | None]) -> Callable[..., None]:
    """Turn the exit code that a command returns into typer's way of leaving; show that a long one is alive."""

    @functools.wraps(function)
    def leave(*positional: Any, **named: Any) -> None:
        with signs_of_life(WORK[name]) if name in WORK else nullcontext():
            code = function(*positional, **named)
        if code:
            raise typer.Exit(int(code))

    return leave


def _epilog(examples: Sequence[str]) -> str:
    """Return the closing lines of a `--help`: one example a line, with typer's markup switched off."""
    return "\n".join(["Examples:", *(f"  {example}".replace("[", r"\[") for example in examples)])
