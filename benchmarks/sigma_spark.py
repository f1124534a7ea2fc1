"""Sigma's public rules over recorded events, changed and repeated, on Spark: all rules, then a rule that is changed.

`python -m benchmarks sigma_spark [--events N] [--distinct N]`. The events are JSON lines as a viewer exports them, read
by the task that matches them; their files are links to one file of distinct events, so that ten million need no disk.
The matches must be those of the same rules in one process times the files, and the differences of the changed rule too.
The rules and the events are looked for in `../shared/data/sigma` (`ROOKERY_SIGMA` names another folder).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from benchmarks.dialects import changed_events, sigma_rules
from benchmarks.spark import measured, shown

import rookery
from rookery.model.documents import documents_of, laid_out

__all__ = ["main"]

_BATCH = 8_192


def main(arguments: list[str]) -> int:
    """Match all, then tell what a change of one rule changes; print the rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sigma_spark", description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--distinct", type=int, default=20_000)
    given = parser.parse_args(arguments)
    texts = sigma_rules()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = _write_events(folder / "events", given.events, given.distinct)
        before = _alone(texts, folder / "distinct.jsonl")
        most = max(before, key=lambda rule: (len(before[rule]), rule))
        changed = {**texts, most: _narrowed(texts[most])}
        after = _alone({most: changed[most]}, folder / "distinct.jsonl").get(most, set())
        assert after < before[most], "the changed rule matches as before"
        _on_spark(folder, texts, changed, files, sum(map(len, before.values())), len(before[most] - after))
    return 0


def _on_spark(
    folder: Path, texts: dict[str, str], changed: dict[str, str], files: int, matches: int, removed: int
) -> None:
    from rookery.spark import Subscriptions, diff, match, session
    from rookery.spark.documents import documents_schema, read_documents

    sets = []
    for place, rules in (("old.jsonl", texts), ("new.jsonl", changed)):
        rows = [{"subscription_id": rule, "where": text, "dialect": "sigma"} for rule, text in rules.items()]
        (folder / place).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        sets.append(Subscriptions.files(folder / place))
    spark = session(master="local[2,4]", memory="2g")
    old, new = sets
    wanted = documents_schema(old.records())
    warm, name = read_documents(spark, folder / "distinct.jsonl", wanted)
    count = warm.count()
    assert match(warm, old, event_id=name).count() == matches
    frame, name = read_documents(spark, folder / "events", wanted)
    line = shown(measured("match", count * files, len(texts), lambda: int(match(frame, old, event_id=name).count())))
    assert line.matches == matches * files, (line.matches, matches * files)
    print(f"    {line.cpu_rate:,.0f} events a CPU second, JSON parsing and Spark in")

    def changes() -> int:
        told = diff(frame, old, new, event_id=name).groupBy("change").count().collect()
        assert [row["change"] for row in told] == ["removed"]
        return int(told[0]["count"])

    line = shown(measured("diff of a changed rule", count * files, len(texts), changes))
    assert line.matches == removed * files, (line.matches, removed * files)
    spark.stop()


def _write_events(folder: Path, count: int, distinct: int) -> int:
    """Write distinct events once, and link them until there are enough; return the files."""
    folder.mkdir()
    source = folder.parent / "distinct.jsonl"
    with source.open("w", encoding="utf-8") as out:
        for event in changed_events(distinct, random.Random(25)):
            out.write(json.dumps(event) + "\n")
    files = -(-count // distinct)
    for number in range(files):
        os.link(source, folder / f"{number:05d}.jsonl")
    return files


def _alone(texts: dict[str, str], events: Path) -> dict[str, set[int]]:
    """Return the events that each rule matches, in this process."""
    rows = [{"subscription_id": rule, "where": text, "dialect": "sigma"} for rule, text in texts.items()]
    schema = rookery.Schema.from_subscriptions(rows)
    compiled: Any = rookery.matcher(schema, on_error="quarantine")
    compiled.add_many(rows)
    found: dict[str, set[int]] = {}
    lines = events.read_bytes().splitlines()
    for start in range(0, len(lines), _BATCH):
        table, _ = laid_out(documents_of(lines[start : start + _BATCH]), schema)
        table = table.append_column("event_id", pa.array(range(start, start + table.num_rows)))
        for row in compiled.match_many(table).to_pylist():
            found.setdefault(row["subscription_id"], set()).add(row["event_id"])
    return found


def _narrowed(text: str) -> str:
    """Return a rule that leaves out the half of the events that a digit of their process id decides."""
    import yaml

    rule = yaml.safe_load(text)
    wanted = rule["detection"]["condition"]
    assert isinstance(wanted, str)
    rule["detection"]["less"] = {"ProcessId|endswith": ["0", "2", "4"]}
    rule["detection"]["condition"] = f"({wanted}) and not less"
    return str(yaml.safe_dump(rule, sort_keys=False))
