"""What a set keeps is what is in it: texts, intervals and attributes of removed subscriptions are forgotten."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import rookery
from rookery.matching import ENGINES

SCHEMA = rookery.Schema.from_dict({"x": "int64", "s": "string", "items": ["int64"], "d": "decimal(30,2)"})
ALIVE = 100


def condition(number: int, random: Random) -> str:
    """Return a condition with a text and, now and then, an attribute and a set of intervals that no other has."""
    words = ", ".join(f"'w{number}-{place}'" for place in range(10))
    return [
        f"s = 'only {number}' AND x > {random.randint(0, 9)}",
        f"s NOT IN ({words}) AND x = {number}",
        f"items[{number}] > 3 OR s LIKE 'p{number}%'",
        f"d > {number}.25 AND s > 'v{number}'",
    ][number % 4]


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "scan"])
def test_what_was_removed_is_forgotten(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["rookery.matching.matcher"], "MOST_DEAD", 200)
    random = Random(5)
    matcher = rookery.matcher(SCHEMA, engine=engine)
    for number in range(1_500):
        matcher.add(f"id {number}", condition(number, random), topic=f"topic {number}")
        matcher.match({"x": number, "s": f"only {number}", "d": 5}, topic=f"topic {number}")
        if number >= ALIVE:
            matcher.remove(f"id {number - ALIVE}")
    view = matcher._view
    kept = ALIVE + 201  # those in the set, and those removed since it was last packed
    assert len(view.records) <= kept
    assert len(view.space.attributes) <= kept + 5
    assert all(len(labels) <= 11 * kept for labels in view.space.labels.values())
    assert len(view.engine.rows().pool) <= 12 * kept
    assert len(view.conditions) <= kept
    matcher.compact()
    fresh = rookery.matcher(SCHEMA, engine=engine)
    fresh.add_many(matcher.compile().subscriptions)
    assert matcher.nbytes < 1.3 * fresh.nbytes


def traced() -> int:
    """Return the bytes that Python, NumPy and Arrow hold now, when no set is being kept up."""
    for thread in threading.enumerate():
        if thread.name == "rookery upkeep":
            thread.join()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("count", [2_000, 8_000])
def test_the_bytes_that_a_set_states_are_those_it_takes(count: int, edited: bool) -> None:
    texts = [f"x BETWEEN {place % 97} AND {place % 89 + 40} AND s = 'name {place % 7_000}'" for place in range(count)]

    def made() -> rookery.Matcher:
        table = pa.table({"subscription_id": [f"subscription {place}" for place in range(count)], "where": texts})
        matcher = rookery.matcher(SCHEMA)
        matcher.add_many(table)
        del table  # the set may go on with its columns
        if edited:
            for place in range(count // 10):
                matcher.add(f"newer {place}", f"s = 'new {place}' AND x > {place}")
            for place in range(0, count // 10, 2):
                matcher.remove(f"newer {place}")
        return matcher

    made()  # kernels are loaded, and where no cache has them compiled, which leaves objects behind
    tracemalloc.start()
    try:
        before = traced()
        matcher = made()
        taken = traced() - before
    finally:
        tracemalloc.stop()
    assert abs(matcher.nbytes - taken) < 0.2 * taken


CHURN = """
import resource, sys
import rookery
count, alive = int(sys.argv[1]), 1_100
matcher = rookery.matcher(rookery.Schema(x=int, s=str))
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
seen = []
for number in range(count):
    matcher.add(f"id {number}", f"s = 'a text of its own {number}' AND x > {number % 50}", topic=f"t{number % 7}")
    if number >= alive:
        matcher.remove(f"id {number - alive}")
    if number % (count // 20) == count // 20 - 1:
        seen.append(resident())
print(*(f"{one:.1f}" for one in seen), matcher.nbytes, len(matcher))
"""


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_a_million_edits_leave_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """A million subscriptions come and go, each with its own text; after the first 10⁵ the process grows no more."""
    pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    ran = subprocess.run([sys.executable, "-c", CHURN, "1000000"], capture_output=True, text=True, check=True)
    *resident, nbytes, alive = map(float, ran.stdout.split())
    with capsys.disabled():
        sys.stderr.write(f"\nMiB resident every 50,000 edits: {resident}; nbytes {nbytes:,.0f}\n")
    assert alive == 1_100
    assert max(resident[2:]) < 1.1 * resident[1]
