"""Freed memory goes back to the system: in a process of its own, for the setting is one of the whole process."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Large blocks freed once, so that glibc's own threshold has grown; then every other one of many is freed.
PROGRAM = """
import sys
from pathlib import Path
from rookery.live.blocks import return_large_blocks

def memory():
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("RssAnon:")]
    return int(line.split()[1]) << 10

if sys.argv[1] == "set" and not return_large_blocks():
    print("no such setting")
    raise SystemExit
grown = bytes(31 << 20)
del grown
before = memory()
blocks = [b"%d" % number + bytes(1 << 20) for number in range(64)]
del blocks[::2]
print((memory() - before) >> 20)
"""


def grown_by(argument: str) -> int:
    made = subprocess.run([sys.executable, "-c", PROGRAM, argument], capture_output=True, text=True, check=True)
    if made.stdout.startswith("no such setting"):
        pytest.skip("the C library has no mallopt")
    return int(made.stdout)


def test_half_of_many_large_blocks_is_half_of_the_memory() -> None:
    assert 30 <= grown_by("set") <= 40
    assert grown_by("leave") >= 60  # what it is for: without the setting all of it stays
