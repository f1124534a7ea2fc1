"""1,000 text rules on Spark: `match` beside hand-written Spark SQL, CASE WHEN and `rlike` of an alternation.

`python -m benchmarks spark_text [--events N] [--rules N] [--peer-events N]`. Each rule asks whether a note contains a
word. CASE WHEN gives each rule a column of a projection that Spark compiles, `rlike` asks all words at once and then
each of the few rows that have one. The peers run on fewer events and are compared by their rate; the counts of matches
on those events are compared with Rookery's.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.spark import measured, shown

__all__ = ["main"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FILE = 500_000
#: Columns of one projection: more, and Spark gives up compiling the stage.
_AT_ONCE = 100


def write_notes(folder: Path, count: int, words: list[str]) -> None:
    """Write notes of eight words as Parquet, in files of half a million; the files repeat after the second."""
    generator = random.Random(2)
    made = []
    for number, first in enumerate(range(0, count, _FILE)):
        size = min(_FILE, count - first)
        if number < 2:
            made.append(pa.array([" ".join(generator.choices(words, k=8)) for _ in range(size)], pa.string()))
        notes = made[number % 2].slice(0, size)
        pq.write_table(
            pa.table({"event_id": pa.array(range(first, first + size)), "note": notes}),
            folder / f"{number:04d}.parquet",
        )


def by_match(frame: Any, rules: pa.Table) -> int:
    """Count the matches that Rookery finds."""
    from rookery.spark import match

    return int(match(frame, rules).count())


def by_case_when(frame: Any, words: list[str]) -> int:
    """Count by a column a rule, summed, some hundred at once."""
    total = 0
    for first in range(0, len(words), _AT_ONCE):
        cases = " + ".join(
            f"CASE WHEN note LIKE '%{word}%' THEN 1 ELSE 0 END" for word in words[first : first + _AT_ONCE]
        )
        total += int(frame.selectExpr(f"sum({cases}) AS n").collect()[0][0])
    return total


def by_alternation(frame: Any, words: list[str]) -> int:
    """Count by one `rlike` of all words, then each word on the rows that have one."""
    return by_case_when(frame.where(f"note RLIKE '{'|'.join(words)}'").cache(), words)


def main(arguments: list[str]) -> int:
    """Run all three and print their rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_text")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--peer-events", type=int, default=200_000)
    parser.add_argument("--rules", type=int, default=1_000)
    given = parser.parse_args(arguments)
    from rookery.spark import session

    generator = random.Random(1)
    words = sorted({"".join(generator.choices(_LETTERS, k=generator.randint(4, 10))) for _ in range(5 * given.rules)})
    sought = generator.sample(words, given.rules)
    rules = pa.table(
        {"subscription_id": [f"r{n}" for n in range(len(sought))], "where": [f"note LIKE '%{one}%'" for one in sought]}
    )
    with tempfile.TemporaryDirectory() as folder:
        write_notes(Path(folder), given.events, words)
        spark = session(master="local[2,4]", memory="3g")
        frame = spark.read.parquet(folder)
        few = spark.read.parquet(f"{folder}/0000.parquet").where(f"event_id < {given.peer_events}").cache()
        count = few.count()
        warm = by_match(few, rules)
        whole = shown(measured("match", given.events, len(sought), lambda: by_match(frame, rules)))
        peers = {"CASE WHEN": by_case_when, "rlike of an alternation": by_alternation}
        for name, run in peers.items():
            line = shown(measured(name, count, len(sought), lambda run=run: run(few, sought)))  # type: ignore[misc]
            assert line.matches == warm, (name, line.matches, warm)
            print(f"    match has {whole.cpu_rate / line.cpu_rate:,.1f}x its events a CPU second")
        spark.stop()
    return 0
