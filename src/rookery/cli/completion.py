"""`rookery completion`: the lines that make a shell complete commands and options.

The shell asks `rookery` itself, so what it offers is what this version has. Nothing is installed behind the user's
back: the lines are printed, and the user says where they go.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rookery.cli.application import COMPLETING
from rookery.cli.options import write

__all__ = ["EXAMPLES", "Shell", "command"]

EXAMPLES = [
    'eval "$(rookery completion bash)"',
    "rookery completion zsh > ~/.zfunc/_rookery",
    "rookery completion fish > ~/.config/fish/completions/rookery.fish",
]


class Shell(StrEnum):
    """A shell that can be told how to complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(shell: Annotated[Shell, typer.Argument(help="The shell that is to complete.")]) -> None:
    """Print the lines that make a shell complete `rookery`."""
    from typer._completion_shared import get_completion_script

    write(get_completion_script(prog_name="rookery", complete_var=COMPLETING, shell=shell.value))
