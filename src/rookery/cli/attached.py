"""`python -m rookery.cli.attached COMMAND …`: run a command as a part of the process that started it, and end with it.

Whoever starts this gives it a pipe as standard input, keeps the other end and writes nothing. The system closes that
end when its owner is gone, however it went: after kill -9 there is nobody left to say goodbye, and a broker of a
demonstration would stay for ever. Nothing is handed over then; what must survive its starter is not started this way.
"""

from __future__ import annotations

import os
import threading

from rookery.cli.exit_codes import ExitCode

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name until it ends or standard input does."""
    threading.Thread(target=_end_with_input, name="attached", daemon=True).start()
    from rookery.cli import main as run

    run()


def _end_with_input() -> None:
    while os.read(0, 4_096):
        pass
    os._exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()
