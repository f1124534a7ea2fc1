"""The exit codes of every command."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """What the shell sees."""

    DONE = 0
    FAILED = 1
    WRONG_USAGE = 2
    NOT_REPRODUCED = 3
    INTERRUPTED = 130
