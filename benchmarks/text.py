"""Texts, patterns and computed predicates: against boxes alone, plain Python, Arrow, one `re`, and by their number.

`python -m benchmarks text [--events N] [--sigma FOLDER] [--only NAME …]`. Every ratio is of CPU time within one run;
the counts of matches are compared where a peer counts them too.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.sigma_rules import command_lines, read_rules

import rookery

__all__ = ["main"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_VALUES = 10


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    found = work()
    return process_time() - start, found


def _words(generator: random.Random, count: int) -> list[str]:
    return ["".join(generator.choices(_LETTERS, k=generator.randint(4, 10))) for _ in range(count)]


def _compiled(schema: rookery.Schema, texts: list[str]) -> Any:
    matcher = rookery.matcher(schema)
    matcher.add_many(pa.table({"subscription_id": list(map(str, range(len(texts)))), "where": texts}))
    return matcher.compile()


def _rate(compiled: Any, events: pa.Table) -> tuple[float, int]:
    """Return the seconds of CPU time a batch takes once everything is warm, and how many pairs match."""
    compiled.match_indices(events.slice(0, 1000))
    seconds, (pairs, _) = _timed(lambda: compiled.match_indices(events))
    return seconds, len(pairs)


def mixed(count: int) -> None:
    """10,000 subscriptions, a fifth of which no box holds, against boxes alone."""
    generator, numbers = random.Random(1), np.random.default_rng(1)
    words = _words(generator, 20_000)
    columns: dict[str, Any] = {f"a{place}": numbers.random(count) for place in range(_VALUES)}
    columns |= {"price": numbers.random(count), "lim": numbers.random(count), "vol": numbers.integers(0, 1000, count)}
    columns["note"] = [" ".join(generator.choices(words, k=8)) for _ in range(count)]
    events = pa.table(columns)
    schema = rookery.Schema(note=str, vol=int, price=float, lim=float, **{f"a{p}": float for p in range(_VALUES)})

    def box() -> str:
        lows = [(name, generator.random() * 0.8) for name in generator.sample(range(_VALUES), 4)]
        return " AND ".join(f"a{name} BETWEEN {low:.3f} AND {low + 0.16:.3f}" for name, low in lows)

    boxes = [box() for _ in range(10_000)]
    fifth = {
        "contains": lambda: f"note LIKE '%{generator.choice(words)}%' AND vol > {generator.randint(900, 999)}",
        "not contains": lambda: f"note NOT LIKE '%{generator.choice(words)}%' AND vol > {generator.randint(996, 999)}",
        "field to field": lambda: f"price > lim AND vol > {generator.randint(990, 999)}",
        "arithmetic": lambda: f"price * 2 + lim > 2.5 AND vol > {generator.randint(990, 999)}",
        "lower(…) =": lambda: f"lower(note) = '{generator.choice(words)}' OR vol > {generator.randint(996, 999)}",
        "regex": lambda: f"note RLIKE '{generator.choice(words)} .*[m-z]+$' AND vol > {generator.randint(900, 999)}",
        "vol alone": lambda: f"vol > {generator.randint(990, 999)}",
    }
    base, pairs = _rate(_compiled(schema, boxes), events)
    print(f"boxes alone: {count / base:,.0f} events/s, {pairs:,} matches")
    for name, write in fifth.items():
        texts = [write() if place % 5 == 0 else one for place, one in enumerate(boxes)]
        seconds, pairs = _rate(_compiled(schema, texts), events)
        print(f"20 % {name}: {count / seconds:,.0f} events/s, {seconds / base:.2f}x the time, {pairs:,} matches")


def contains(count: int) -> None:
    """1,000 rules that contain a word, against Python's `in`, Arrow's match_substring and one `re`."""
    generator = random.Random(2)
    words = _words(generator, 5_000)
    notes = [" ".join(generator.choices(words, k=8)) for _ in range(count)]
    events = pa.table({"note": notes})
    sought = words[:1000]
    seconds, pairs = _rate(_compiled(rookery.Schema(note=str), [f"note LIKE '%{one}%'" for one in sought]), events)
    few = max(1, count // 50)
    part = events["note"].combine_chunks().slice(0, few)
    peers = {
        "Python in": lambda: sum(one in note for note in notes[:few] for one in sought),
        "Arrow match_substring": lambda: sum(pc.sum(pc.match_substring(part, one)).as_py() or 0 for one in sought),
        "one re, every place": lambda: _by_one_re(notes[:few], sought),
    }
    own = len(_compiled(rookery.Schema(note=str), [f"note LIKE '%{one}%'" for one in sought]).match_indices(
        events.slice(0, few)
    )[0])  # fmt: skip
    print(f"contains, 1,000 rules: {count / seconds:,.0f} events/s, {pairs:,} matches")
    for name, work in peers.items():
        taken, found = _timed(work)
        assert found == own, (name, found, own)
        print(f"  {name}: {few / taken:,.0f} events/s, Rookery {taken / few / (seconds / count):,.1f}x")


def _by_one_re(notes: list[str], words: list[str]) -> int:
    """Find every word with one look-ahead; a word that begins another is looked for by itself."""
    together = re.compile("(?=(" + "|".join(sorted(words, key=len, reverse=True)) + "))")
    inner = {word: [other for other in words if other != word and word.startswith(other)] for word in words}
    total = 0
    for note in notes:
        found = set(together.findall(note))
        for word in list(found):
            found.update(inner[word])
        total += len(found)
    return total


def sigma(count: int, folder: Path) -> None:
    """The process_creation rules of Sigma that the converter expresses, against a Python loop over them."""
    rules, total = read_rules(folder)
    generator = random.Random(3)
    seen = command_lines(folder)
    names = sorted({name for rule in rules for name in rule.fields})
    pieces = [piece for event in seen for piece in event["CommandLine"].split()] + [
        one for rule in rules for one in re.findall(r"ILIKE '%?([^%']{4,})%?'", rule.where)
    ]
    events = []
    for _ in range(count):
        event = {name: value for name, value in generator.choice(seen).items() if name in names}
        event["CommandLine"] = " ".join(generator.choices(pieces, k=generator.randint(3, 12)))
        events.append(event)
    table = pa.table({name: pa.array([event.get(name) for event in events], pa.string()) for name in names})
    compiled = _compiled(rookery.Schema(**dict.fromkeys(names, str)), [rule.where for rule in rules])
    seconds, pairs = _rate(compiled, table)
    few = max(1, count // 100)
    lowered = [{name: value.lower() for name, value in event.items()} for event in events[:few]]
    taken, _ = _timed(lambda: sum(rule.decide(event) for event in lowered for rule in rules))
    scan = rookery.matcher(compiled, engine="scan")
    wanted = scan.match_many(table.slice(0, 10).append_column("event_id", pa.array(range(min(10, count)))))
    own = len(compiled.match_indices(table.slice(0, 10))[0])
    assert wanted.num_rows == own, (wanted.num_rows, own)
    print(
        f"Sigma process_creation: {len(rules):,} of {total:,} rules, "
        f"{sum(rule.patterns for rule in rules):,} patterns; "
        f"{count / seconds:,.0f} events/s, {pairs:,} matches; Python loop {few / taken:,.0f} events/s; "
        f"{taken / few / (seconds / count):,.0f}x"
    )


def growth(count: int) -> None:
    """1,000, 10,000 and 100,000 patterns: the cost of an event, the memory, one more and one less."""
    generator = random.Random(4)
    words = _words(generator, 200_000)
    events = pa.table({"note": [" ".join(generator.choices(words, k=8)) for _ in range(count)]})
    for patterns in (1_000, 10_000, 100_000):
        _grown(events, [f"note LIKE '%{one}%'" for one in dict.fromkeys(words)][:patterns])


def _grown(events: pa.Table, texts: list[str]) -> None:
    """Measure one set of patterns, and edits of it that are seen by the next match."""
    count, edits = events.num_rows, 50
    matcher = rookery.matcher(rookery.Schema(note=str))
    table = pa.table({"subscription_id": list(map(str, range(len(texts)))), "where": texts})
    built, _ = _timed(lambda: matcher.add_many(table))
    compiled = matcher.compile()
    seconds, pairs = _rate(compiled, events)
    matcher.match({"note": "warm"})

    def add() -> None:
        for one in range(edits):
            matcher.add(f"new {one}", f"note LIKE '%q{one}q%'")
            assert matcher.match({"note": f"q{one}q"}) == [f"new {one}"]

    def remove() -> None:
        for one in range(edits):
            matcher.remove(f"new {one}")
            assert matcher.match({"note": f"q{one}q"}) == []

    adding, removing = _timed(add)[0], _timed(remove)[0]
    print(
        f"{len(texts):>7,} patterns: {seconds / count * 1e6:.2f} µs an event, {pairs:,} matches, "
        f"{compiled.nbytes / len(texts):,.0f} bytes a pattern, built in {built:.1f} s; "
        f"one more and a match {adding / edits * 1e3:.2f} ms, one less and a match {removing / edits * 1e3:.2f} ms"
    )


def main(arguments: list[str]) -> int:
    """Run the parts that are named, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks text")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--sigma", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "sigma")
    parser.add_argument("--only", nargs="*", choices=["mixed", "contains", "sigma", "growth"])
    given = parser.parse_args(arguments)
    wanted = given.only or ["mixed", "contains", "sigma", "growth"]
    for name, part in (("mixed", mixed), ("contains", contains), ("growth", growth)):
        if name in wanted:
            part(given.events)
    if "sigma" in wanted:
        if not (given.sigma / "rules.jsonl.gz").is_file():
            print(f"no Sigma rules in {given.sigma}: give --sigma FOLDER")
        else:
            sigma(given.events, given.sigma)
    return 0
