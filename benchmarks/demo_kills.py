"""Kill -9 of any one process of `rookery demo`: a correct verdict or a clear failure, never a wrong one, nothing left.

`python -m benchmarks demo_kills [--kinds all] [--rounds 1] [--seed 1] [--events 500000]`. For each kind of process that
the demonstration is made of (itself, Spark's JVM, the fork server of the Python workers, a worker, the processes by
which Spark asks a source and a sink, each of the three brokers) it is started anew, a process of that kind is chosen
when one is there, and ended with -9 after a random time. What follows is judged:

- exit code 0: the last line is the proof, with zeros and with the count that is computed here once more;
- killed itself: whatever it started is gone soon after;
- anything else: an exit code above 0, no proof that holds, and one line on stderr that says why;
- in each case within `--patience` seconds, with no process left. Processes are known by a mark in their environment.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

#: Each kind, and for how many seconds at most its end is put off.
KINDS = {
    "demo": 30.0,
    "jvm": 30.0,
    "broker 1": 8.0,
    "broker 2": 8.0,
    "broker 3": 4.0,
    "fork server": 15.0,
    "worker": 15.0,
    "source or sink": 40.0,
}
PROOF = re.compile(
    r"live (\d+) = spark (\d+) = oracle (\d+) \| missed 0 extra 0 \| discovery bytes -\d+ % vs simple \|"
)
#: What the demonstration says on stderr while all is well.
PROGRESS = ("rookery: starting Spark",)
MARK = "DEMO_KILLS_MARK"


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the demonstration, from /proc."""

    number: int
    parent: int
    command: str


def processes(mark: str) -> list[Process]:
    """Return the living processes that carry a mark, oldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if f"{MARK}={mark}\0".encode() not in (entry / "environ").read_bytes() + b"\0":
                continue
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if fields[0] != "Z":
            found.append((int(fields[19]), Process(int(entry.name), int(fields[1]), command)))
    return [one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].number))]


def of_kind(kind: str, demo: int, alive: list[Process]) -> list[Process]:
    """Return the processes of one kind."""
    by_number = {one.number: one for one in alive}

    def is_java(one: Process | None) -> bool:
        return one is not None and "java" in one.command.partition(" ")[0]

    if kind == "demo":
        return [one for one in alive if one.number == demo]
    if kind == "jvm":
        return [one for one in alive if is_java(one)]
    if kind.startswith("broker"):
        place = int(kind.split()[1]) - 1
        return [one for one in alive if " broker --listen" in one.command][place : place + 1]
    servers = [one for one in alive if " -m rookery.spark.daemon" in one.command and not is_java(one)]
    first = [one for one in servers if is_java(by_number.get(one.parent))]
    if kind == "fork server":
        return first
    if kind == "worker":
        return [one for one in servers if one not in first]
    children = [one for one in alive if is_java(by_number.get(one.parent)) and one not in servers]
    return [one for one in children if "python" in one.command]


def expected_matches() -> int:
    """Return how many matches the demonstration must find, from its own oracle and constants."""
    from rookery.spark.demonstration import JUDGED, RULES
    from rookery.spark.workloads import oracle, workload

    telemetry = workload("telemetry")
    return len(oracle(telemetry.table(JUDGED), telemetry.bounds(RULES, 1)))


def judge(kind: str, code: int, out: str, err: str, *, expected: int) -> str:
    """Return what came of a kill; a text that begins with WRONG is a fault of the demonstration."""
    last = out.strip().rpartition("\n")[2]
    proof = PROOF.match(last)
    holds = proof is not None and {int(count) for count in proof.groups()} == {expected}
    if code == 0:
        return "correct verdict" if holds else f"WRONG: code 0 and the last line is {last!r}"
    if proof is not None:
        return f"WRONG: code {code} and a proof that holds: {last!r}"
    if kind == "demo":
        return "ended" if code == -signal.SIGKILL else f"WRONG: code {code} of what was killed"
    reasons = [line for line in err.splitlines() if line not in PROGRESS]
    if code < 0 or len(reasons) != 1 or not reasons[0].startswith("rookery: ") or "fault of Rookery" in err:
        return f"WRONG: code {code}, stderr:\n{err[-3_000:]}"
    return f"clear failure: {reasons[0]}"


def one_kill(kind: str, *, dice: random.Random, events: int, patience: float, expected: int) -> str:
    """Run the demonstration once, kill one process of a kind, and return what came of it."""
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "rookery", "demo", "--events", str(events)]
    environment = {**os.environ, MARK: mark}
    delay = dice.uniform(0, KINDS[kind])
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as demo:
        victim = None
        seen: float | None = None
        while demo.poll() is None and victim is None:
            living = of_kind(kind, demo.pid, processes(mark))
            if living and seen is None:
                seen = time.monotonic()
            if living and seen is not None and time.monotonic() - seen >= delay:
                victim = dice.choice(living)
                os.kill(victim.number, signal.SIGKILL)
            else:
                time.sleep(0.05)
        killed = time.monotonic()
        try:
            out, err = demo.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            for one in processes(mark):
                os.kill(one.number, signal.SIGKILL)
            out, err = demo.communicate()
            return f"WRONG: no end within {patience:g} s after the kill\n{out[-1_000:]}{err[-3_000:]}"
    took = time.monotonic() - killed
    verdict = judge(kind, demo.returncode, out, err, expected=expected)
    left = processes(mark)
    while left and time.monotonic() < killed + took + 15:
        time.sleep(0.1)
        left = processes(mark)
    for one in left:
        os.kill(one.number, signal.SIGKILL)
        verdict = f"WRONG: left behind: {one.command[:120]} | {verdict}"
    if victim is None:
        return f"not hit, {verdict}"
    return f"killed after {killed - began:4.1f} s, over {took:4.1f} s later: {verdict}"


def main(arguments: list[str]) -> int:
    """Kill each kind in turn; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks demo_kills", description=__doc__)
    parser.add_argument("--kinds", default="all", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--patience", type=float, default=180.0)
    asked = parser.parse_args(arguments)
    kinds = list(KINDS) if asked.kinds == "all" else asked.kinds.split(",")
    dice = random.Random(asked.seed)
    expected = expected_matches()
    wrong = 0
    for _ in range(asked.rounds):
        for kind in kinds:
            told = one_kill(kind, dice=dice, events=asked.events, patience=asked.patience, expected=expected)
            wrong += "WRONG" in told
            print(f"{kind:15} {told}", flush=True)
    print(f"{asked.rounds * len(kinds)} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
