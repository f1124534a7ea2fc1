"""The `rookery` command.

Rule 1: only the chosen command's module is imported. `GROUPS` states the one-line helps, so that `rookery --help`
imports none of them. To add a command, write `cli/<name>.py` and add its line here (CONTRIBUTING shows one).
Rule 2: data goes to stdout, everything else to stderr.
Rule 3: a mistake is one clear message and an exit code of `ExitCode`, never a traceback; `--debug` shows the traceback.
Rule 4: SIGTERM ends a command as Ctrl-C does: what was opened is closed, who must be told is told.
Rule 5: a setting is taken from its flag, else `ROOKERY_<COMMAND>_<OPTION>`, else `rookery.toml`, else the default.
Rule 6: a flag that the call does not use is refused (`cli/unused.py`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from rookery.cli.exit_codes import ExitCode
from rookery.errors import RookeryError, SettingsError
from rookery.version import __version__

__all__ = ["COMMANDS", "GROUPS", "main"]

#: The commands by who comes for them, in the order of `rookery --help`: the name of each, which is also its module
#: here, and its one line of help.
GROUPS = {
    "First": {
        "demo": "Run the whole system on embedded defaults, and prove the result.",
        "doctor": "Say what works on this machine, and what to do where something does not.",
    },
    "Spark teams: rules on data": {
        "validate": "Say what is wrong with subscriptions: each fault with its place and a hint.",
        "lint": "Say what is wrong with a whole set: duplicates, covered ones, contradictions, what they cost.",
        "explain": "Say why an event does or does not match.",
        "match": "Tell which subscriptions want which events, on Spark.",
        "backtest": "Count what rules would have fired on.",
        "diff": "Tell what a change of the rules adds, removes and changes.",
    },
    "DDS owners: look, plan, record, join sites": {
        "ls": "List the topics of a DDS domain.",
        "ps": "List the participants of a DDS domain.",
        "node": "Join a DDS domain: print what happens there, or the events that a filter wants.",
        "plan": "Say what each discovery protocol would cost on a system, and whether a change is worth it.",
        "spool": "Record a DDS topic durably, with offsets, for Spark to replay.",
        "gateway": "Be the gateway of a site, and let events cross between DDS domains.",
    },
    "Service developers: brokers and peers": {
        "broker": "Run a broker of a topic, or show how the brokers of a network are.",
        "publish": "Publish events to a topic of a broker network.",
        "subscribe": "Print the events of a topic of a broker network that a filter wants.",
        "peer": "Be a peer of an overlay: print the events that a filter wants, publish others.",
    },
    "Operators": {
        "serve": "Show a run in the browser, live or recorded.",
        "keys": "Make an authority and certificates for brokers, clients and operators.",
        "config": "Show each setting of a command, its value and where that comes from.",
        "completion": "Print the lines that make a shell complete `rookery`.",
    },
    "Researchers and developers": {
        "reproduce": "Check what the seeds claim: figures and a verdict for each claim.",
        "test": "Run everything CI runs, in a checkout.",
    },
}
#: All commands, with their lines of help.
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given[:1] or os.environ.get("ROOKERY_DEBUG", "") not in ("", "0", "false")
    if given in (["--version"], ["-V"]):  # answered without loading anything
        print(f"rookery {__version__}")  # noqa: T201 - the one line that has no command of its own
        sys.exit(ExitCode.DONE)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        from rookery.cli.application import run

        if arguments is None:
            _prepare_process(given)
        run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (`| head`) has enough
        _silence_stdout()
        sys.exit(ExitCode.FAILED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(f"rookery: {_describe(error)}\n")
        sys.exit(ExitCode.WRONG_USAGE if isinstance(error, SettingsError) else ExitCode.FAILED)
    sys.exit(ExitCode.DONE)


def _prepare_process(given: Sequence[str]) -> None:
    """Do what only a process may do that is this command and nothing else."""
    from rookery.cli.without_pandas import LIGHT, leave_out_pandas

    if any(argument in LIGHT for argument in given) and not {"-h", "--help"}.intersection(given):
        leave_out_pandas()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does: asyncio's own handler where a loop runs, else raise `KeyboardInterrupt`."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:  # the shell started us in the background, with SIGINT ignored
        raise KeyboardInterrupt


def _describe(error: Exception) -> str:
    """Return the message for the user: what a `RookeryError` says, the extra that is not
    installed, what the system says of a file, else our fault."""
    if isinstance(error, RookeryError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("rookery"):
        from rookery.extras import lacking

        return f"this needs {lacking(error.name)}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return f"unexpected {type(error).__name__}: {error}\nThis is a fault of Rookery; `rookery --debug …` shows where."


def _silence_stdout() -> None:
    """Point stdout nowhere, so that the interpreter's last flush does not fail on the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
