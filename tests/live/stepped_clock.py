"""Wall clocks that step: a library, preloaded into the processes of a test, shifts what they are told the time is.

Only the wall clock of the one process steps; its monotonic clock, as that of a machine whose clock is set, goes on.
Needs a C compiler.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path

__all__ = ["SteppedClocks"]

SOURCE = Path(__file__).with_name("stepped_clock.c")
PLACES, SIZE = 65_536, 8


class SteppedClocks:
    """By how much the wall clock of each process is off; `variables` are for the environment of the processes."""

    def __init__(self, folder: Path) -> None:
        self.variables: dict[str, str] = {}
        compiler = shutil.which("cc")
        if compiler is None:
            return
        library, steps = folder / "stepped_clock.so", folder / "steps"
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE)], check=True)
        steps.write_bytes(bytes(PLACES * SIZE))
        with steps.open("r+b") as file:
            self._steps = mmap.mmap(file.fileno(), PLACES * SIZE)
        self.variables = {"LD_PRELOAD": str(library), "STEPPED_CLOCKS": str(steps)}

    def step(self, process: int, microseconds: int) -> None:
        """Let the wall clock of a process be so much ahead of the system's from now on, or behind."""
        assert self.variables, "these processes have the clock of the system: there was no compiler"
        struct.pack_into("=q", self._steps, process % PLACES * SIZE, microseconds)
