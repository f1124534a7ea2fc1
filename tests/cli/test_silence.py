"""A sign of life: on a terminal after two silent seconds, gone before the next word, and nothing in a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

PROGRAM = """
import sys, threading
from rookery.cli import silence
from rookery.cli.options import note, write
silence.SILENT_SECONDS = 0.05

class Watched:
    def __init__(self, stream): self.stream, self.seen = stream, threading.Event()
    def isatty(self): return self.stream.isatty()
    def flush(self): self.stream.flush()
    def write(self, text):
        self.stream.write(text)
        if "digging: " in text: self.seen.set()

sys.stderr = watched = Watched(sys.stderr)
with silence.signs_of_life("digging"):
    if sys.stderr.isatty(): watched.seen.wait()
    note("found it")
    with silence.suspended():
        watched.seen.clear()  # a slow machine may have come to show a line before
        note("a bar of its own")
        assert not watched.seen.wait(1.5)
    if sys.stderr.isatty(): watched.seen.wait()
write("done")
"""


def test_on_a_terminal_it_is_shown_and_taken_away() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=theirs, stdout=subprocess.PIPE, text=True) as program:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
        assert program.stdout is not None
        assert program.stdout.read() == "done\n"
    os.close(ours)
    assert program.returncode == 0
    text = shown.decode()
    first, _, rest = text.partition("rookery: found it")
    assert "digging: " in first
    assert first.endswith("\r\x1b[2K"), "the line is taken away before the next word"
    _, _, last = rest.partition("rookery: a bar of its own")
    assert "digging: " in last
    assert last.endswith("\r\x1b[2K")


def test_in_a_pipe_nothing_is_shown() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stderr == "rookery: found it\nrookery: a bar of its own\n"
    assert done.stdout == "done\n"
