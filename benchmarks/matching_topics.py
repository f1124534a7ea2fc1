"""Matrix, counting, index and bitmap: 5 to 1,000 subscriptions under each of 1 to 500 topics, in one run.

Seed 004's own question: up to how many subscriptions under one topic does its matrix win? The subscriptions are the
telemetry of the claims (one to five predicates, limits from a catalog), the events name a topic each. All four are
compiled and take their turn in one process (A B C D, A B C D, …); the time is CPU time, the least of the rounds. Their
pairs are compared, not only their totals.
"""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
from benchmarks.matching_report import header

from rookery.matching.baselines import Counting, PredicateIndex, PredicateMatrix
from rookery.matching.baselines.predicates import Domains
from rookery.matching.bitmap.build import build_index
from rookery.matching.bitmap.engine import BitmapEngine
from rookery.matching.rows import Rows
from rookery.papers.telemetry import ATTRIBUTES, TOP, nanoseconds_each, subscriptions

__all__ = ["report"]

SIZES, TOPICS = (5, 10, 20, 40, 80, 160, 320, 1000), (1, 10, 100, 500)
#: The topic is one more attribute.
TOPIC = ATTRIBUTES
DOMAINS = Domains(np.zeros(ATTRIBUTES + 1, np.int64), np.array([TOP] * ATTRIBUTES + [10**9], np.int64), topic=TOPIC)
ENGINES: dict[str, Any] = {
    "matrix": lambda rows: PredicateMatrix(rows, DOMAINS),
    "counting": lambda rows: Counting(rows, DOMAINS),
    "index": lambda rows: PredicateIndex(rows, DOMAINS),
    "bitmap": lambda rows: BitmapEngine(build_index(rows, ATTRIBUTES + 1)),
}


def report(*, as_json: bool, quick: bool) -> int:
    """Measure the grid and print it; return 1 where two engines differ in a pair."""
    sizes, topics = ((5, 40, 160), (1, 20)) if quick else (SIZES, TOPICS)
    names, cells = [*ENGINES], []
    if not as_json:
        print(f"{header()['machine']}; nanoseconds of CPU for an event, codes in, pairs out, the least of 5 rounds\n")
        print(
            f"{'topics':>7}{'subscriptions':>15}{'matches':>9}" + "".join(f"{name:>11}" for name in names) + "  fastest"
        )
        print(f"{'':>7}{'for each':>15}{'an event':>9}" + f"{'ns':>11}" * len(names))
    for count in topics:
        for size in sizes:
            cell = measure(size, count, events=2_000 if quick else 10_000)
            cells.append(cell)
            if not as_json:
                times = "".join(f"{cell['ns'][name]:>11,.0f}" for name in names)
                print(f"{count:>7,}{size:>15,}{cell['matches']:>9.1f}{times}  {fastest(cell)}", flush=True)
    wrong = [cell for cell in cells if not cell["equal"]]
    if as_json:
        print(json.dumps({"header": header(), "cells": cells}, indent=1))
        return 1 if wrong else 0
    print()
    for name in names:
        won = [f"{cell['topics']:,} × {cell['size']:,}" for cell in cells if fastest(cell) == name]
        print(f"{name:<9} wins at {len(won)} of {len(cells)}: {', '.join(won) or 'none'}")
    small = [cell["ns"] for cell in cells if cell["size"] <= 40]
    for name in names[1:]:
        ratio = sorted(one[name] / one["matrix"] for one in small)
        print(f"{name} / matrix up to 40 under a topic: {ratio[0]:.2f} to {ratio[-1]:.2f}")
    print("\n" + ("\n".join(f"FAULT {one}" for one in wrong) or "all four gave the same pairs everywhere"))
    return 1 if wrong else 0


def fastest(cell: dict[str, Any]) -> str:
    """Return the engine with the least time."""
    return min(cell["ns"], key=cell["ns"].__getitem__)


def measure(size: int, topics: int, *, events: int, seed: int = 1) -> dict[str, Any]:
    """Time the four on one cell of the grid."""
    rows = topic_rows(size, topics, seed)
    generator = np.random.default_rng([seed, size, topics])
    codes = np.column_stack(
        [generator.integers(0, TOP, size=(events, ATTRIBUTES)), generator.integers(0, topics, size=events)]
    )
    alive = np.ones(len(rows), np.uint8)
    probes = {name: functools.partial(make(rows).probe, codes, alive) for name, make in ENGINES.items()}
    pairs = [np.unique(probe()) for probe in probes.values()]
    return {
        "topics": topics,
        "size": size,
        "matches": len(pairs[0]) / events,
        "totals": [len(one) for one in pairs],
        "equal": all(np.array_equal(pairs[0], one) for one in pairs),
        "ns": nanoseconds_each(probes, events=events, rounds=5),
    }


def topic_rows(size: int, topics: int, seed: int) -> Rows:
    """Return so many subscriptions under each topic: the telemetry of the claims, with the topic as a predicate."""
    count = size * topics
    drawn = subscriptions(min(count, 4_000), seed)
    if count > len(drawn):
        drawn = drawn.take(np.random.default_rng([seed, count]).integers(0, len(drawn), size=count))
    topic = np.repeat(np.arange(topics), size)
    return Rows(
        np.arange(count, dtype=np.int32),
        drawn.start + np.arange(count + 1),
        np.insert(drawn.attribute, drawn.start[:-1], TOPIC).astype(np.uint16),
        np.insert(drawn.bounds, drawn.start[:-1], np.stack([topic, topic], axis=1), axis=0),
        drawn.pool,
    )
