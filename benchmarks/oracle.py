"""Rookery against DuckDB, which reads the raw Arrow and the raw conditions: how many pairs differ (none should).

`python -m benchmarks oracle [--pairs 1e9] [--seed 0] [--subscriptions 1250] [--events 9000]`. Rounds of random
schemas, events and subscriptions (`tests/oracle/`) until so many pairs are compared: the default engine on all of them,
the other engines, `scan`, compiled sets and single dicts on a part. It takes the memory of one round. A difference is
printed with its seed and all that it needs; the exit code is 1 if there was one. `--seed N --pairs 1` replays a round.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """Compare until enough pairs are compared; print what was, and what differs."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.oracle.compare import Tally, compare_round

    parser = argparse.ArgumentParser(prog="python -m benchmarks oracle", description=__doc__)
    parser.add_argument("--pairs", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--subscriptions", type=int, default=1_250)
    parser.add_argument("--events", type=int, default=9_000)
    asked = parser.parse_args(arguments)
    tally, seed, shown = Tally(), asked.seed, 0
    start, said = time.process_time(), time.process_time()
    while tally.pairs < asked.pairs:
        compare_round(tally, seed, subscriptions=asked.subscriptions, events=asked.events, others=200, slow=5, rows=5)
        seed += 1
        for line in tally.differences[shown : shown + 20]:
            print(line, flush=True)
        shown = len(tally.differences)
        if time.process_time() - said > 20:
            said = time.process_time()
            rate = tally.pairs / (said - start)
            print(f"seed {seed}: {_line(tally)}; {rate / 1e6:.2f} M pairs/s of CPU", file=sys.stderr, flush=True)
    for path, pairs in tally.by_path.items():
        print(f"  {path:<16} {pairs:>15,} pairs")
    print(f"seeds {asked.seed} to {seed - 1}: {_line(tally)}; {time.process_time() - start:.0f} s of CPU")
    return 1 if tally.differences else 0


def _line(tally: object) -> str:
    pairs, matches = tally.pairs, tally.matches  # type: ignore[attr-defined]
    return (
        f"{pairs:,} pairs, {matches:,} matches ({matches / pairs:.1%}), "
        f"{len(tally.conditions):,} distinct conditions, {len(tally.differences)} differences"  # type: ignore[attr-defined]
    )
