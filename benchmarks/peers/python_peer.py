"""Peers that are Python packages, and Rookery beside them: `python python_peer.py PEER PATTERNS EVENTS`.

The formats are those of `__init__.py`; the report has `edit_cpu_s` (one subscription taken out and put in again, where
the library has such a thing) and `bytes` (growth of the resident memory while the patterns were loaded) too. Events are
read from JSON inside the measured time by every peer; `rookery` and the frame libraries read them as a batch,
`rookery-row` and the others object by object.
"""

from __future__ import annotations

import gc
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Match = Callable[[bytes], int]
Edit = Callable[[], None] | None


def rookery(patterns: list[tuple[str, str]], sample: dict[str, Any], by_row: bool = False) -> tuple[Match, Edit]:
    """Rookery's default engine, by batches or event by event."""
    import pyarrow
    import pyarrow.json

    import rookery as package

    matcher = package.matcher(package.Schema(**{name: type(value) for name, value in sample.items()}))
    for name, text in patterns:
        matcher.add(name, text)
    matcher.match(sample)

    def match(text: bytes) -> int:
        if by_row:
            return sum(len(matcher.match(json.loads(line))) for line in text.splitlines())
        events = pyarrow.json.read_json(io.BytesIO(text))
        numbered = events.append_column("event_number", pyarrow.array(range(events.num_rows)))
        return matcher.match_many(numbered, event_id="event_number").num_rows

    def edit() -> None:
        name, text = patterns[0]
        matcher.remove(name)
        matcher.add(name, text)
        matcher.match(sample)

    edit.matcher = matcher  # type: ignore[attr-defined]
    return match, edit


def rookery_row(patterns: list[tuple[str, str]], sample: dict[str, Any]) -> tuple[Match, Edit]:
    """Rookery, one event at a time."""
    return rookery(patterns, sample, by_row=True)


def duckdb(patterns: list[tuple[str, str]], sample: dict[str, Any]) -> tuple[Match, Edit]:
    """One query with a filtered count for each subscription, planned anew for each batch."""
    import duckdb as package
    import pyarrow.json

    connection = package.connect(config={"threads": 1})
    counts = ", ".join(f"count(*) FILTER (WHERE {text})" for _, text in patterns)

    def match(text: bytes) -> int:
        events = pyarrow.json.read_json(io.BytesIO(text))
        connection.register("events", events)
        return sum(connection.execute(f"SELECT {counts} FROM events").fetchall()[0])

    return match, None


def polars(patterns: list[tuple[str, str]], sample: dict[str, Any]) -> tuple[Match, Edit]:
    """One projection with a sum for each subscription."""
    import re

    import polars as package

    fixed = [re.sub(r"contains\((\w+), ('[^']*')\)", r"STRPOS(\1, \2) > 0", text) for _, text in patterns]
    sums = [package.sql_expr(text).sum().alias(str(number)) for number, text in enumerate(fixed)]

    def match(text: bytes) -> int:
        return int(sum(package.read_ndjson(io.BytesIO(text)).select(sums).row(0)))

    return match, None


def rule_engine(patterns: list[tuple[str, str]], sample: dict[str, Any]) -> tuple[Match, Edit]:
    """A loop over compiled rules."""
    import rule_engine as package

    rules = [package.Rule(text) for _, text in patterns]

    def match(text: bytes) -> int:
        return sum(sum(rule.matches(event) for rule in rules) for event in map(json.loads, text.splitlines()))

    def edit() -> None:
        rules[0] = package.Rule(patterns[0][1])

    return match, edit


def cel(patterns: list[tuple[str, str]], sample: dict[str, Any]) -> tuple[Match, Edit]:
    """A loop over compiled programs."""
    import cel as package

    programs = [package.compile(text) for _, text in patterns]

    def match(text: bytes) -> int:
        return sum(
            sum(bool(program.execute(event)) for program in programs) for event in map(json.loads, text.splitlines())
        )

    def edit() -> None:
        programs[0] = package.compile(patterns[0][1])

    return match, edit


PEERS = {"rookery": rookery, "rookery-row": rookery_row, "duckdb": duckdb, "polars": polars,
         "rule-engine": rule_engine, "cel": cel}  # fmt: skip


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096


def main(peer: str, patterns_file: str, events_file: str) -> None:
    given = [json.loads(line) for line in Path(patterns_file).read_text().splitlines()]
    patterns = [(one["id"], one["pattern"]) for one in given]
    text = Path(events_file).read_bytes()
    lines = text.splitlines()
    sample = json.loads(lines[0])
    prepare = PEERS[peer]
    # Imports and compiled kernels are nobody's subscriptions; which kernels are needed, only all of them say.
    warm, _ = prepare(patterns if peer.startswith("rookery") else patterns[:2], sample)
    warm(b"\n".join(lines[:4]) + b"\n")
    gc.collect()
    resident, start = _resident(), time.process_time()
    match, edit = prepare(patterns, sample)
    load = time.process_time() - start
    gc.collect()
    grown = _resident() - resident
    match(b"\n".join(lines[:2]) + b"\n")
    own = getattr(edit, "matcher", None)  # Rookery knows its own size; resident memory is what is left of others
    size = max(grown, 0) if own is None else own.nbytes
    start = time.process_time()
    matches = match(text)
    cpu = time.process_time() - start
    edit_cpu = None
    if edit is not None:
        start = time.process_time()
        for _ in range(20):
            edit()
        edit_cpu = (time.process_time() - start) / 20
    report = {"peer": peer, "patterns": len(patterns), "refused": [], "events": len(lines), "matches": matches,
              "load_cpu_s": load, "cpu_s": cpu, "edit_cpu_s": edit_cpu, "bytes": size}  # fmt: skip
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:4])
