"""How soon two participants match without multicast, where one has the other's host in its list of peers.

`python -m benchmarks peer_lists [--rounds 5] [--pairs "cyclone cyclone" …]`. In a network namespace with loopback alone
and no multicast, the first participant has been there for a while and names nobody; the second names its host. Seconds
from the moment in which the second begins until both have the match; Cyclone DDS is its Python package, Fast DDS what
Debian has, where a compiler and the library are. Each is a process of its own, whose modules are loaded before.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.discovery_scene import in_a_namespace
from benchmarks.stacks import fastdds_member

__all__ = ["main"]

#: Who is there, and who comes and names its host.
PAIRS = (
    ("cyclone", "cyclone"),
    ("simple", "cyclone"),
    ("cyclone", "simple"),
    ("fastdds", "fastdds"),
    ("simple", "fastdds"),
    ("fastdds", "simple"),
    ("simple", "simple"),
)
_HERE = "127.0.0.1"
#: A host that is not there: who names it is found at the ports of the standard, and calls on nobody.
_NOBODY = "127.0.0.254"
_CYCLONE = (
    '<CycloneDDS><Domain Id="any"><General><Interfaces><NetworkInterface name="lo"/></Interfaces>'
    "<AllowMulticast>false</AllowMulticast></General><Discovery><ParticipantIndex>auto</ParticipantIndex>"
    '<Peers><Peer address="{}"/></Peers></Discovery></Domain></CycloneDDS>'
)
_SETTLED, _PATIENCE = 2.0, 60.0


class Member:
    """One participant, a process of its own."""

    def __init__(self, stack: str, kind: str, named: str, folder: str) -> None:
        path = Path(folder, f"{kind}.tsv")
        path.write_text(f"{kind}\tmet\tMet\n")
        command = [sys.executable, str(Path(__file__).with_name("stacks_member.py")), stack, str(path)]
        if stack == "fastdds":
            command = [str(fastdds_member()), str(path)]
        # Only Cyclone needs somebody to name before it takes a port at which it is looked for.
        peers = named or (_NOBODY if stack != "fastdds" else "")
        settings = {"CYCLONEDDS_URI": _CYCLONE.format(peers), "PEERS": peers}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}
        )
        if "ready" not in self.line():
            raise RuntimeError(f"a participant of {stack} did not start")

    def line(self) -> str:
        """Return what it says next."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        """Let it go on."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def is_matched(self) -> bool:
        """Say whether it has its match."""
        self.go()
        return int(self.line() or 0) > 0


def seconds_to_match(there: str, comes: str) -> float:
    """Let one participant be there and another come; return how long it took, or infinity."""
    with tempfile.TemporaryDirectory() as folder:
        first = Member(there, "W", "", folder)
        members = [first, Member(comes, "R", _HERE, folder)]
        try:
            first.go()
            time.sleep(_SETTLED)
            began = time.monotonic()
            members[1].go()
            waiting = list(members)
            while waiting:
                waiting = [member for member in waiting if not member.is_matched()]
                if time.monotonic() - began > _PATIENCE:
                    return float("inf")
                time.sleep(0.005)
            return time.monotonic() - began
        finally:
            for member in members:
                member.process.kill()
                member.process.wait()


def main(arguments: list[str]) -> int:
    """Let each pair meet, and print a line for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks peer_lists", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", nargs="+", help="such as 'simple cyclone': who is there, and who names its host")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    pairs = [tuple(pair.split()) for pair in given.pairs] if given.pairs else list(PAIRS)
    if not given.inside:
        if any("fastdds" in pair for pair in pairs):
            fastdds_member()
        return subprocess.call(in_a_namespace(sys.executable, "-m", "benchmarks", "peer_lists", "--inside", *arguments))
    for there, comes in pairs:
        found = [seconds_to_match(there, comes) for _ in range(given.rounds)]
        print(
            f"{there:>8} is there, {comes:<8} names its host: {statistics.median(found):6.2f} s "
            f"({min(found):.2f} to {max(found):.2f})",
            flush=True,
        )
    return 0
