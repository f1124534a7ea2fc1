"""The recorder: where producers write, from any thread.

It stamps the time, writes a line to a file where one is given, and hands the record to whoever listens in this process.
A file is opened for appending and each record is one write, so several processes may share one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from rookery.web.records import Record, RunRecord, decode, encode

__all__ = ["Recorder", "wall_clock"]


def wall_clock() -> int:
    """Return the time of day in microseconds since 1970."""
    return time.time_ns() // 1_000


class Recorder:
    """Takes records; `clock` gives the time of a record that has none (a virtual clock, in a simulation)."""

    def __init__(
        self,
        file: Path | None = None,
        *,
        title: str = "",
        listener: Callable[[Record], None] | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self.clock = clock
        self.count = 0
        self._listener = listener
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        if file is not None:
            self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.write(RunRecord(at=clock(), title=title))

    def write(self, record: Record) -> None:
        """Write a record; raise `RunError` where a reader would refuse it.

        The listener gets what a reader of the file gets, so that live and replay cannot differ.
        """
        line = encode(record)
        read = decode(line)
        with self._lock:
            if self._descriptor is not None:
                left = memoryview(line)
                while left:  # a signal may cut a write short
                    left = left[os.write(self._descriptor, left) :]
            self.count += 1
        if self._listener is not None:
            self._listener(read)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
