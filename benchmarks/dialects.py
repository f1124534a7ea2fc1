"""Dialects beside their own engines, one core, CPU time: rsigma-eval, pySigma, event-ruler, quamina.

    python -m benchmarks dialects sigma --events 20000
    python -m benchmarks dialects patterns --count 1000 100000
    python -m benchmarks dialects cases correctness-cases.json

Each engine reads the same files of patterns and events (`peers/__init__.py` has their form), JSON parsing counts for
all, and the matches must be equal where both take the pattern. Sigma rules go without their log source and events with
their fields by name, since what a log source means is left to each engine. pySigma makes a query of each rule, for
SQLite or DuckDB, on fewer events: where its verdicts differ, for SQL's NOT of a missing field mostly, the slow judge of
the tests decides. `cases` takes event-ruler's own file of cases and random patterns, and compares verdicts, each
pattern alone. Peers that cannot be built are named as such.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peers import PeerMissingError, build, run_peer, write_patterns

from rookery import Schema, matcher
from rookery.errors import SubscriptionError
from rookery.model.dialects import translate
from rookery.model.document_lines import DocumentLines
from rookery.model.document_rows import DocumentRows

__all__ = ["main"]

BATCH = 8_192
Pair = tuple[int, str]


def main(arguments: list[str]) -> int:
    """Run one part; print a JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks dialects", description=__doc__.partition("\n")[0])
    parts = parser.add_subparsers(dest="part", required=True)
    sigma = parts.add_parser("sigma")
    sigma.add_argument("--events", type=int, default=20_000, help="recorded events, changed at random")
    sigma.add_argument("--sql-events", type=int, default=1_000, help="of these, for pySigma's queries")
    patterns = parts.add_parser("patterns")
    patterns.add_argument("--count", type=int, nargs="+", default=[1_000, 100_000])
    patterns.add_argument("--events", type=int, default=20_000)
    cases = parts.add_parser("cases")
    cases.add_argument("file", nargs="?", type=Path, help="event-ruler's correctness-cases.json")
    cases.add_argument("--random", type=int, default=1_000, help="random patterns beside it, over 400 random events")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if asked.part == "sigma":
            report: Any = _sigma(Path(folder), asked.events, asked.sql_events)
        elif asked.part == "patterns":
            report = [_patterns(Path(folder), count, asked.events) for count in asked.count]
        else:
            report = _cases(Path(folder), asked.file, asked.random)
    print(json.dumps(report, indent=2))
    return 0


def run_rookery(dialect: str, patterns: dict[str, str], events: Path) -> tuple[dict[str, Any], set[Pair]]:
    """Compile patterns and match a file of events, as the peers do; return the report and the matches."""
    start = time.process_time()
    taken, refused = {}, []
    for name, text in patterns.items():
        try:
            taken[name] = translate(dialect, text).where
        except SubscriptionError as error:
            refused.append((name, error.message))
    table = {"subscription_id": list(taken), "where": list(taken.values())}
    schema = Schema.from_subscriptions(table)
    compiled: Any = matcher(schema, on_error="quarantine")
    compiled.add_many(table)
    refused += [(str(one.subscription_id), one.message) for one in compiled.quarantined]
    load = time.process_time() - start
    lines = events.read_bytes().splitlines()
    read = DocumentLines(schema)
    _match(compiled, read, lines[:200], [])  # kernels are compiled before the clock starts
    times = [0.0, 0.0]
    found: list[Any] = []
    for at in range(0, len(lines), BATCH):
        spent = _match(compiled, read, lines[at : at + BATCH], found)
        times = [one + other for one, other in zip(times, spent, strict=True)]
    pairs: set[Pair] = set()
    for number, answer in enumerate(found):
        base = number * BATCH
        names = answer["subscription_id"].to_pylist()
        pairs |= {(base + place, name) for place, name in zip(answer["event_id"].to_pylist(), names, strict=True)}
    report = {
        "peer": "rookery", "patterns": len(patterns) - len(refused), "refused": refused, "events": len(lines),
        "matches": len(pairs), "load_cpu_s": load, "parse_cpu_s": times[0], "match_cpu_s": times[1],
        "cpu_s": sum(times), "single_event_us": _singly(compiled, DocumentRows(schema), lines[:2_000]),
    }  # fmt: skip
    return report, pairs


def _singly(compiled: Any, rows: DocumentRows, lines: list[bytes]) -> list[float]:
    """Return the median and the 99th of a hundred, in microseconds of CPU, of events that come one by one as JSON."""

    def spent(line: bytes) -> float:
        start = time.process_time()
        _ = {name for event in rows(line) for name in compiled.match(event)}
        return (time.process_time() - start) * 1e6

    for line in lines[:200]:
        spent(line)
    times = sorted(map(spent, lines))
    return [times[len(times) // 2], times[len(times) * 99 // 100]]


def _match(compiled: Any, read: DocumentLines, lines: list[bytes], found: list[Any]) -> tuple[float, float]:
    """Match some lines; return the CPU seconds of parsing and laying out, and of matching."""
    start = time.process_time()
    table, origins = read(lines)
    table = table.append_column("event_id", [range(len(lines)) if origins is None else origins])
    middle = time.process_time()
    answer = compiled.match_many(table)
    found.append(answer)
    return middle - start, time.process_time() - middle


def _beside(peer: str, dialect: str, patterns: dict[str, str], events: Path, folder: Path, own: Any) -> dict[str, Any]:
    """Run a peer; return its report with the ratio and how many verdicts differ."""
    report, pairs = own
    try:
        command = build(peer)
        write_patterns(folder / "patterns.jsonl", patterns.items())
        other = run_peer(command, folder / "patterns.jsonl", events)
        run_peer(command, folder / "patterns.jsonl", events, folder / "matches.jsonl")
    except PeerMissingError as error:
        return {"peer": peer, "missing": str(error)}
    theirs = {(place, str(name)) for place, name in map(json.loads, (folder / "matches.jsonl").open(encoding="utf-8"))}
    left_out = {str(name) for name, _ in [*report["refused"], *other["refused"]]}
    differ = Counter(name for _, name in theirs ^ pairs if name not in left_out)
    other["refused"] = len(other["refused"])
    return {
        **other, "dialect": dialect, "compared_patterns": len(patterns) - len(left_out),
        "different_verdicts": sum(differ.values()), "different_patterns": differ.most_common(12),
        "rookery_over_peer": other["cpu_s"] / report["cpu_s"] if report["cpu_s"] else None,
    }  # fmt: skip


def sigma_rules() -> dict[str, str]:
    """Return Sigma's public rules by id."""
    from tests.model.dialects.test_sigma import rules_and_events

    return rules_and_events()[0]


def changed_events(count: int, dice: random.Random) -> Iterator[dict[str, Any]]:
    """Yield recorded events of Windows, changed at random, as a viewer exports them."""
    from tests.model.dialects.test_sigma import mutated, rules_and_events

    recorded = rules_and_events()[1]
    for _ in range(count):
        yield mutated(dice.choice(recorded), recorded, dice)


def _sigma(folder: Path, count: int, few: int) -> dict[str, Any]:
    from tests.twins.sigma import fields_of_document

    patterns = {name: _without_source(text) for name, text in sigma_rules().items()}
    place = folder / "events.jsonl"
    with place.open("w", encoding="utf-8") as out:
        for event in changed_events(count, random.Random(25)):
            fields = fields_of_document(event)
            flat = {name: one for name, one in fields.items() if not isinstance(one, dict | list) and "." not in name}
            out.write(json.dumps(flat) + "\n")
    own = run_rookery("sigma", patterns, place)
    found = {"rookery": _short(own[0]), "rsigma": _beside("rsigma", "sigma", patterns, place, folder, own)}
    lines = place.read_bytes().splitlines(keepends=True)[:few]
    place.write_bytes(b"".join(lines))
    found["pysigma"] = _beside_sql(patterns, place, folder)
    return found


def _beside_sql(patterns: dict[str, str], events: Path, folder: Path) -> dict[str, Any]:
    """Run pySigma's queries; of verdicts that differ, count those that an independent judge gives to Rookery."""
    from tests.twins.sigma import Judge

    own = run_rookery("sigma", patterns, events)
    told = _beside("pysigma", "sigma", patterns, events, folder, own)
    if "missing" in told:
        return told
    lines = (folder / "matches.jsonl").read_text(encoding="utf-8").splitlines()
    theirs = {(place, str(name)) for place, name in map(json.loads, lines)}
    taken = set(told.pop("taken"))
    differ = [pair for pair in theirs ^ own[1] if pair[1] in taken]
    documents = [json.loads(line) for line in events.read_bytes().splitlines()]
    right = sum(Judge(patterns[name]).holds(documents[place]) == ((place, name) in own[1]) for place, name in differ)
    return {**told, "compared_patterns": len(taken), "different_verdicts": len(differ), "judged_for_rookery": right}


def _without_source(text: str) -> str:
    """Return a rule without its log source: a line `logsource:` and what is indented below it."""
    return re.sub(r"(?m)^logsource:.*\n(?:[ \t]+.*\n|\s*\n)*", "logsource: {category: any}\n", text)


def _short(report: dict[str, Any]) -> dict[str, Any]:
    return {**report, "refused": len(report["refused"]), "events_per_cpu_s": report["events"] / report["cpu_s"]}


def _patterns(folder: Path, count: int, events: int) -> dict[str, Any]:
    dice = random.Random(count)
    patterns = {str(number): json.dumps(_account_pattern(dice, count)) for number in range(count)}
    place = folder / "events.jsonl"
    with place.open("w", encoding="utf-8") as out:
        for _ in range(events):
            out.write(json.dumps(_account_event(dice, count)) + "\n")
    own = run_rookery("eventbridge", patterns, place)
    found = {"count": count, "rookery": _short(own[0])}
    for peer in ("event_ruler", "quamina"):
        found[peer] = _beside(peer, "eventbridge", patterns, place, folder, own)
    return found


_STATES = ["pending", "running", "stopping", "stopped", "terminated"]
_SERVICES = [f"aws.service{number}" for number in range(40)]


def _account_pattern(dice: random.Random, count: int) -> dict[str, Any]:
    """Return what one of many accounts asks: its own events of a service, in some states."""
    pattern: dict[str, Any] = {"account": [f"{dice.randrange(count):012d}"], "source": [dice.choice(_SERVICES)]}
    way = dice.random()
    if way < 0.5:
        pattern["detail"] = {"state": dice.sample(_STATES, 2)}
    elif way < 0.7:
        pattern["detail"] = {"instance": [{"prefix": f"i-{dice.randrange(16):x}"}]}
    elif way < 0.85:
        pattern["detail"] = {"state": [{"anything-but": dice.sample(_STATES, 1)}]}
    else:
        pattern["resources"] = [f"arn:{dice.randrange(8)}"]
    return pattern


def _account_event(dice: random.Random, count: int) -> dict[str, Any]:
    return {
        "version": "0",
        "id": f"{dice.getrandbits(64):016x}",
        "account": f"{dice.randrange(count):012d}",
        "source": dice.choice(_SERVICES),
        "time": "2026-10-02T16:24:49Z",
        "region": "eu-west-1",
        "resources": [f"arn:{dice.randrange(8)}" for _ in range(dice.randint(0, 2))],
        "detail": {
            "state": dice.choice(_STATES),
            "instance": f"i-{dice.getrandbits(32):08x}",
            "cpu": dice.random(),
            "tags": [{"key": "k", "value": str(dice.randrange(100))}],
        },
    }


def _cases(folder: Path, file: Path | None, count: int) -> dict[str, Any]:
    """Compare verdicts with event-ruler, each pattern in a machine of its own."""
    from tests.model.dialects.random_patterns import random_event, random_pattern

    command = build("event_ruler")
    command.insert(1, "-Dalone=true")
    sets: dict[str, tuple[dict[str, str], list[Any], bool]] = {}
    if file is not None:
        given = json.loads(file.read_text(encoding="utf-8"))
        patterns = {str(number): json.dumps(one["rule"]) for number, one in enumerate(given)}
        sets["cases"] = patterns, [one["event"] for one in given], True
        sets["cases, every pattern on every event"] = patterns, [one["event"] for one in given], False
    dice = random.Random(1)
    made = {str(number): json.dumps(random_pattern(dice)) for number in range(count)}
    sets["random"] = made, [random_event(dice) for _ in range(400)], False
    report = {}
    for title, (patterns, events, own_only) in sets.items():
        place = folder / "events.jsonl"
        place.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
        write_patterns(folder / "patterns.jsonl", patterns.items())
        other = run_peer(command, folder / "patterns.jsonl", place, folder / "matches.jsonl")
        lines = (folder / "matches.jsonl").read_text(encoding="utf-8").splitlines()
        theirs = {(number, str(name)) for number, name in map(json.loads, lines)}
        mine, ours = run_rookery("eventbridge", patterns, place)
        refused = {name for name, _ in mine["refused"]}
        left_out = refused | {name for name, _ in other["refused"]}
        asked = {
            (number, name)
            for number in range(len(events))
            for name in patterns
            if name not in left_out and (not own_only or str(number) == name)
        }
        differ = (ours ^ theirs) & asked
        reasons = Counter(_reason(patterns[name], events[number]) for number, name in differ)
        report[title] = {
            "patterns": len(patterns), "events": len(events), "refused": len(refused),
            "refused_by_event_ruler": len(other["refused"]), "compared": len(asked),
            "agreed": len(asked) - len(differ), "differ": dict(reasons),
            "reasons_of_refusal": Counter(why.partition(": ")[2] for _, why in mine["refused"]),
        }  # fmt: skip
    return report


def _reason(pattern: str, event: Any) -> str:
    """Name what event-ruler is known to answer in its own way."""
    if '"exists": false' in pattern:
        return "exists: false inside an array: event-ruler goes by the order of names"
    if "9007199254740993" in pattern + json.dumps(event):
        return "an integer past 2^53"
    if '\\"' in pattern:
        return "a quotation mark inside a text"
    return "an IPv6 address in another spelling" if "::1" in pattern else "other"
