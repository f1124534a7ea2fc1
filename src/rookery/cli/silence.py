"""A sign of life where a command works and has nothing to say.

Rule: on a terminal, a command that has written nothing for two seconds shows what it does and for how long, in one line
of stderr that is taken away before the next word is written. Where nobody watches, in a pipe or a log, nothing is
shown: what a command prints does not depend on how fast the machine is.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

__all__ = ["SILENT_SECONDS", "signs_of_life", "spoke", "suspended"]

#: For so long a command may say nothing.
SILENT_SECONDS = 2.0
_ERASE = "\r\x1b[2K"


class _Watch:
    """Shows one line while nothing else is said."""

    def __init__(self, what: str, stream: TextIO) -> None:
        self.what = what
        self.stream = stream
        self.began = self.last = time.monotonic()
        self.held = 0
        self.shown = False
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._run, name="signs of life", daemon=True)

    def _run(self) -> None:
        while not self.ended.wait(0.5):
            with self.lock:
                now = time.monotonic()
                if not self.held and now - self.last >= SILENT_SECONDS:
                    self.stream.write(f"{_ERASE}{self.what}: {now - self.began:.0f} s")
                    self.stream.flush()
                    self.shown = True

    def spoke(self) -> None:
        with self.lock:
            self.last = time.monotonic()
            if self.shown:
                self.stream.write(_ERASE)
                self.stream.flush()
                self.shown = False


_watch: _Watch | None = None


@contextlib.contextmanager
def signs_of_life(what: str) -> Iterator[None]:
    """While the block runs, show on a terminal that `what` is still being done."""
    global _watch
    if _watch is not None or not sys.stderr.isatty():
        yield
        return
    _watch = watch = _Watch(what, sys.stderr)
    watch.thread.start()
    try:
        yield
    finally:
        watch.ended.set()
        watch.thread.join()
        watch.spoke()
        _watch = None


def spoke() -> None:
    """Say that something is about to be written: the line goes, and two seconds begin anew."""
    if _watch is not None:
        _watch.spoke()


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Show no line while the block shows a bar of its own."""
    watch = _watch
    if watch is None:
        yield
        return
    watch.held += 1
    watch.spoke()
    try:
        yield
    finally:
        watch.spoke()
        watch.held -= 1
