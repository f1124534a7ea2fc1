"""What a sample costs to write and to read on DDS: CPU beside Cyclone DDS's Python package, in bursts.

`python -m benchmarks samples [--count 20000] [--rounds 3] [--sizes 64 1024]`. One writer, one reader, reliable, keep
all, each a process of its own on loopback; all pairs of stacks one after the other, in every round. The CPU of a
process is that of all its threads, from the first sample to the acknowledgment of the last (writer) or to the program's
having the last (reader). The ratio compares with Cyclone's own pair in the same run; the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

__all__ = ["main"]

MEMBER = Path(__file__).with_name("samples_member.py")
WHERE = "value >= 0 AND text LIKE 'x%'"
#: Name, writer, reader, and what the reader is asked for beyond that.
PAIRS = (
    ("cyclone to cyclone", "cyclone", "cyclone", ()),
    ("rookery to cyclone", "rookery", "cyclone", ()),
    ("cyclone to rookery", "cyclone", "rookery", ()),
    ("rookery to rookery", "rookery", "rookery", ()),
    ("cyclone to rookery, WHERE", "cyclone", "rookery", (WHERE,)),
    ("rookery to rookery, wait", "rookery", "rookery", ("", "wait")),
)


def play(writer: str, reader: str, rest: tuple[str, ...], *, domain_id: int, count: int, size: int) -> dict[str, float]:
    """Let one writer and one reader play; return microseconds of CPU a sample of each, and what was lost."""
    members = [
        subprocess.Popen(
            [sys.executable, str(MEMBER), stack, role, str(domain_id), str(count), str(size), *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for stack, role, more in ((reader, "read", rest), (writer, "write", ()))
    ]  # fmt: skip
    try:
        for member in members:
            assert member.stdout is not None
            if member.stdout.readline().strip() != "ready":
                raise RuntimeError(f"{member.args} did not get ready")
        for member in members:
            assert member.stdin is not None
            member.stdin.write("go\n")
            member.stdin.flush()
        read, written = (json.loads(member.stdout.readline()) for member in members if member.stdout is not None)
        for member in members:
            assert member.stdin is not None
            member.stdin.close()
            member.wait(30)
    finally:
        for member in members:
            member.kill()
    return {
        "write": written["cpu"] / count * 1e6,
        "read": read["cpu"] / count * 1e6,
        "lost": written["count"] - read["count"],
    }


def main(arguments: list[str]) -> int:
    """Measure all pairs, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks samples")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--domain", type=int, default=90)
    parser.add_argument("--pairs", type=int, nargs="+", help="numbers of pairs to play, from 0")
    options = parser.parse_args(arguments)
    pairs = PAIRS if options.pairs is None else [PAIRS[number] for number in options.pairs]
    for size in options.sizes:
        found: dict[str, list[dict[str, float]]] = {name: [] for name, *_ in pairs}
        for _ in range(options.rounds):
            for name, writer, reader, rest in pairs:
                found[name].append(play(writer, reader, rest, domain_id=options.domain, count=options.count, size=size))
        print(
            f"\n{size} bytes, {options.count} samples, {options.rounds} rounds: CPU µs a sample (× Cyclone's own pair)"
        )
        own = {end: statistics.median(run[end] for run in found[pairs[0][0]]) for end in ("write", "read")}
        for name, runs in found.items():
            write, read = (statistics.median(run[end] for run in runs) for end in ("write", "read"))
            lost = sum(run["lost"] for run in runs)
            print(
                f"  {name:<26} write {write:6.1f} ({write / own['write']:.2f})  "
                f"read {read:6.1f} ({read / own['read']:.2f})  lost {lost:.0f}",
                flush=True,
            )
    return 0
