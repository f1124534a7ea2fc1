"""From text to index, one event at a time, and edits: what a live set costs.

- parsing a filter of ten comparisons;
- a million five-predicate filters as text: parsed, typed, lowered to rows and indexed, with the share of each;
- `match` of one dict at 1 k to 1 M subscriptions: median and 99th percentile;
- `add`, `replace` and `remove` of one subscription as text; `add`, then `match_many` of one event; `add_many` of one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.workloads import WORKLOADS, make_boxes, make_events

import rookery

__all__ = ["report"]

SPLIT_SAMPLE = 20_000
TEN = " AND ".join(f"a{number} >= {number}.5" for number in range(10))


def report(*, as_json: bool, quick: bool) -> int:
    """Measure and print."""
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    result = {
        "parse": _parse_ten(),
        "bulk": _bulk(20_000 if quick else 1_000_000),
        "single": [_single(size) for size in sizes],
    }
    if as_json:
        print(json.dumps(result, indent=1))
        return 0
    bulk = result["bulk"]
    print(f"parse a filter of ten comparisons: {result['parse']:.1f} µs")
    print(
        f"{bulk['count']:,} filters as text, `{bulk['example']}`, by add_many and compile, CPU time: "
        f"{bulk['total']:.1f} s"
    )
    for name in ("parse", "lower", "index", "rest"):
        print(f"  {name:<6} {bulk[name]:6.1f} s  {100 * bulk[name] / bulk['total']:3.0f} %  {bulk['meaning'][name]}")
    print("one dict in, a list of ids out; an edit of one subscription as text (device workload), µs: median (99 %)")
    names = ("range match", "device match", "add", "replace", "remove", "add+match_many", "add_many of 1")
    print(f"  {'':<10}" + "".join(f"{name:>20}" for name in names))
    for row in result["single"]:
        print(
            f"  {row['size']:<10,}" + "".join(f"{row[name][0]:>11.1f} ({row[name][1]:.0f})".rjust(20) for name in names)
        )
    return 0


def _parse_ten() -> float:
    rookery.parse(TEN)
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for _ in range(1000):
            rookery.parse(TEN)
        best = min(best, (time.process_time() - began) / 1000)
    return best * 1e6


def _bulk(count: int) -> dict[str, Any]:
    """Add filters as text; parsing and lowering are timed apart on a sample, the index on the rows that came out."""
    from rookery.model.check import checking
    from rookery.model.lower import lower

    workload = WORKLOADS["range"]
    texts = make_boxes(workload, count).texts()
    sample = texts[:SPLIT_SAMPLE]
    schema = workload.schema
    began = time.process_time()
    trees = [rookery.parse(text) for text in sample]
    parse = (time.process_time() - began) * count / len(sample)
    began = time.process_time()
    for text, tree in zip(sample, trees, strict=True):
        checking(text, tree, lambda one: lower(one, schema, ()))
    lowering = (time.process_time() - began) * count / len(sample)
    del trees
    table = pa.table({"subscription_id": np.arange(count), "where": texts})
    _warm(workload)
    began = time.process_time()
    matcher: Any = rookery.matcher(schema)
    matcher.add_many(table)
    compiled = matcher.compile()
    total = time.process_time() - began
    engine = compiled._view.engine
    rows, space = engine.rows(), compiled._view.space
    began = time.process_time()
    engine.packed(rows, space)
    index = time.process_time() - began
    return {
        "count": count,
        "example": texts[0][:60] + "…",
        "total": total,
        "parse": parse,
        "lower": lowering,
        "index": index,
        "rest": total - parse - lowering - index,
        "meaning": {
            "parse": f"text to tree (from {len(sample):,} filters)",
            "lower": f"types checked, tree to boxes (from {len(sample):,} filters)",
            "index": "rows to bitmaps",
            "rest": "records read and checked, boxes to rows; what is left of the whole",
        },
    }


def _warm(workload: Any) -> None:
    matcher: Any = rookery.matcher(workload.schema)
    boxes = make_boxes(workload, 3000)
    matcher.add_boxes(**boxes.columns())
    event = make_events(workload, 1).dicts(1)[0]
    for number, text in enumerate(boxes.texts()[:200]):
        matcher.add(10_000_000 + number, text)
        matcher.match(event)
    matcher.compile().match(event)


def _single(size: int) -> dict[str, Any]:
    found: dict[str, Any] = {"size": size}
    for name in ("range", "device"):
        workload = WORKLOADS[name]
        _warm(workload)
        matcher: Any = rookery.matcher(workload.schema)
        matcher.add_boxes(**make_boxes(workload, size).columns())
        events = make_events(workload, 2000).dicts(2000)
        found[f"{name} match"] = _each(matcher.match, [(event,) for event in events])
    texts = make_boxes(workload, 2000, seed=5).texts()
    ids = [10_000_000 + number for number in range(1000)]
    found["add"] = _each(matcher.add, list(zip(ids, texts[:1000], strict=True)))
    found["replace"] = _each(matcher.replace, list(zip(ids, texts[1000:], strict=True)))
    found["remove"] = _each(matcher.remove, [(one,) for one in ids])
    event = make_events(workload, 1).table()

    def add_and_match(number: int, text: str) -> None:
        matcher.add(number, text)
        matcher.match_many(event, event_id="id")

    later = [20_000_000 + number for number in range(1000)]
    found["add+match_many"] = _each(add_and_match, list(zip(later, texts[:1000], strict=True)))
    tables = [
        pa.table({"subscription_id": [30_000_000 + number], "where": [text]})
        for number, text in enumerate(texts[:1000])
    ]
    found["add_many of 1"] = _each(matcher.add_many, [(one,) for one in tables])
    return found


def _each(call: Callable[..., Any], calls: list[tuple[Any, ...]]) -> tuple[float, float]:
    """Return the median and the 99th percentile of calls timed one by one, in microseconds."""
    taken = []
    for one in calls:
        began = time.perf_counter_ns()
        call(*one)
        taken.append(time.perf_counter_ns() - began)
    return float(np.percentile(taken, 50)) / 1e3, float(np.percentile(taken, 99)) / 1e3
