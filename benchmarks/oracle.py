"""Rookery against DuckDB, which reads the raw Arrow and the raw conditions: how many pairs differ (none should).

`python -m benchmarks oracle [--pairs 1e9] [--seed 0] [--subscriptions 1250] [--events 9000] [--state FILE]`. Rounds of
random schemas, events and subscriptions (`tests/oracle/`) until so many pairs are compared: the default engine on all
of them, compiled sets and single dicts on a part, and in each fourth round the other engines and `scan` on a part. It
takes the memory of one round. A
difference is printed with its seed and all that it needs; the exit code is 1 if there was one. `--seed N --pairs 1`
replays a round. With `--state`, what was compared is written to a file after each round, and the same command goes on
from there when it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """Compare until enough pairs are compared; print what was, and what differs."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.oracle.compare import Tally, compare_round

    from rookery.matching import ENGINES

    parser = argparse.ArgumentParser(prog="python -m benchmarks oracle", description=__doc__)
    parser.add_argument("--pairs", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--subscriptions", type=int, default=1_250)
    parser.add_argument("--events", type=int, default=9_000)
    parser.add_argument("--state", type=Path, help="go on from this file, and keep it up")
    asked = parser.parse_args(arguments)
    wanted = {"seed": asked.seed, "subscriptions": asked.subscriptions, "events": asked.events}
    tally, seed, before = Tally(), asked.seed, 0.0
    if asked.state is not None and asked.state.exists():
        tally, seed, before = _read(asked.state, wanted)
        print(f"from {asked.state}: seed {seed} is next; {_line(tally)}", file=sys.stderr, flush=True)
    shown, start, said = len(tally.differences), time.process_time(), time.process_time()
    while tally.pairs < asked.pairs:
        compare_round(
            tally, seed, subscriptions=asked.subscriptions, events=asked.events, others=200, slow=5, rows=5,
            engines=ENGINES if seed % 4 == 0 else ("bitmap",),
        )  # fmt: skip
        seed += 1
        for line in tally.differences[shown : shown + 20]:
            print(line, flush=True)
        shown = len(tally.differences)
        spent = before + time.process_time() - start
        if asked.state is not None:
            _write(asked.state, wanted, tally, seed, spent)
        if time.process_time() - said > 20:
            said = time.process_time()
            print(f"seed {seed}: {_line(tally)}; {tally.pairs / spent / 1e6:.2f} M pairs/s of CPU", file=sys.stderr,
                  flush=True)  # fmt: skip
    for path, pairs in tally.by_path.items():
        print(f"  {path:<16} {pairs:>15,} pairs")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"seeds {asked.seed} to {seed - 1}: {_line(tally)}; {before + time.process_time() - start:.0f} s of CPU, "
        f"{peak:.2f} GB at the peak"
    )
    return 1 if tally.differences else 0


def _read(path: Path, wanted: dict[str, int]) -> tuple[Any, int, float]:
    """Return the tally of a file, the next seed and the CPU seconds so far; it must be of the same rounds."""
    from tests.oracle.compare import Tally

    found = json.loads(path.read_text())
    if found["rounds"] != wanted:
        raise SystemExit(f"{path} is of other rounds: {found['rounds']}")
    tally = Tally(found["pairs"], found["matches"], set(found["conditions"]), found["by_path"], found["differences"])
    return tally, found["next"], found["seconds"]


def _write(path: Path, wanted: dict[str, int], tally: Any, seed: int, seconds: float) -> None:
    """Write a tally, whole or not at all."""
    said = {
        "rounds": wanted, "next": seed, "seconds": seconds, "pairs": tally.pairs, "matches": tally.matches,
        "conditions": sorted(tally.conditions), "by_path": tally.by_path, "differences": tally.differences,
    }  # fmt: skip
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_text(json.dumps(said))
    os.replace(temporary, path)


def _line(tally: Any) -> str:
    return (
        f"{tally.pairs:,} pairs, {tally.matches:,} matches ({tally.matches / max(1, tally.pairs):.1%}), "
        f"{len(tally.conditions):,} distinct conditions, {len(tally.differences)} differences"
    )
