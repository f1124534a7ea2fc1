"""Every engine equals `scan`: on random schemas, subscriptions and events, and over random sequences of edits."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import rookery
import rookery.matching.baselines.packed
import rookery.matching.bitmap.build
import rookery.matching.bitmap.engine
import rookery.matching.bitmap.positions
from matching.probes import STRUCTURES, probes
from model.generators import random_event, random_filter, random_schema, table_of
from rookery.errors import RookeryError, UnknownSubscriptionError
from rookery.matching import ENGINES, CompiledSet
from rookery.matching.output import match_table
from rookery.model.schema import Schema

FAST = [engine for engine in ENGINES if engine != "scan"]
SEEDS = st.integers(0, 2**32)


def pairs_of(table: pa.Table) -> set[tuple[Any, ...]]:
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert len(set(rows)) == len(rows)
    return set(rows)


@settings(max_examples=120)
@given(st.randoms(use_true_random=False), st.sampled_from([0, 128]))
def test_every_engine_equals_scan(random: Random, at_once: int) -> None:
    """Whatever part of the rows the newest are: with `at_once` 128 every row is in the structure."""
    with pytest.MonkeyPatch.context() as patch, probes() as asked:
        patch.setattr(rookery.matching.baselines.packed, "AT_ONCE", at_once)
        patch.setattr(rookery.matching.bitmap.positions, "LEAST_PREDICATES", 0 if at_once else 1 << 62)
        wanted = compare_engines(random, at_once)
    for engine in STRUCTURES:
        assert asked.pairs[engine] >= 2 * wanted * (at_once > 0), engine
        assert asked.events[engine] or not wanted


def compare_engines(random: Random, at_once: int) -> int:
    """Match random events against random filters with every engine; return how many pairs match."""
    schema = random_schema(random, most=4)
    filters = [random_filter(random, schema, depth=2) for _ in range(random.randint(1, 8))]
    events = [random_event(random, schema) for _ in range(random.randint(1, 5))]
    topics = [random.choice([None, None, "t"]) for _ in filters]
    table = table_of(schema, events)
    matchers = {engine: rookery.matcher(schema, engine=engine) for engine in ENGINES}
    for matcher in matchers.values():
        for place, ((where, parameters), topic) in enumerate(zip(filters, topics, strict=True)):
            matcher.add(place, where, parameters=parameters, topic=topic)
    wanted = pairs_of(matchers["scan"].match_many(table))
    singles = [sorted(matchers["scan"].match(event, topic="t")) for event in events]
    assert wanted == {(place, one, 1) for place, ids in enumerate(singles) for one in ids}
    for engine in FAST:
        assert pairs_of(matchers[engine].match_many(table)) == wanted, engine
        for event, ids in zip(events, singles, strict=True):
            assert matchers[engine].match(event, topic="t") == ids, engine
        if at_once and engine in STRUCTURES:
            assert matchers[engine]._view.engine.tail_rows == 0
    return len(wanted)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("engine", FAST)
def test_a_set_of_many_rows_equals_scan_before_and_after_removals(engine: str, seed: int) -> None:
    """Enough rows of one kind for blocks of bitmaps, added in bulk and one by one, then thinned out."""
    random = Random(seed)
    schema = Schema.from_dict({"k": "string", "v": "float64", "n": "int64"})
    rules = [
        f"k = 'k{random.randrange(3)}' AND v BETWEEN {low} AND {low + 10}" if random.random() < 0.6 else f"n <> {low}"
        for low in (random.randrange(50) for _ in range(700))
    ]
    events = [
        {
            "k": f"k{random.randrange(4)}",
            "v": float(random.randrange(70)),
            "n": random.choice([None, random.randrange(50)]),
        }
        for _ in range(60)
    ]
    fast, scan = rookery.matcher(schema, engine=engine), rookery.matcher(schema, engine="scan")
    for matcher in (fast, scan):
        matcher.add_many(pa.table({"subscription_id": list(range(600)), "where": rules[:600]}))
        for place in range(600, 700):
            matcher.add(place, rules[place])
    table = table_of(schema, events)
    assert pairs_of(fast.match_many(table)) == pairs_of(scan.match_many(table))
    for place in random.sample(range(700), 300):
        fast.remove(place)
        scan.remove(place)
    assert len(fast) == len(scan) == 400
    assert pairs_of(fast.match_many(table)) == pairs_of(scan.match_many(table))


EDITED = Schema.from_dict(
    {
        "i": "int64",
        "f": "float64",
        "s": "string",
        "e": {"$enum": ["on", "off"]},
        "d": "decimal(20,2)",
        "at": {"x": "int8"},
    }
)
DAYS = [None, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"]
TIMES = [
    "2025-12-31T23:59:59.999999Z",
    "2026-01-01T00:00:00Z",
    "2026-01-02T12:00:00Z",
    "2026-01-03T00:00:00Z",
    "2027-01-01Z",
]
IDS = [f"s{place}" for place in range(8)]


class Edits(RuleBasedStateMachine):
    """The same edits on every engine; after each, the same answers, the same length and the same errors."""

    def __init__(self) -> None:
        super().__init__()
        # Small limits, so that packing, tails, blocks and compaction happen within a dozen edits.
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(sys.modules["rookery.matching.matcher"], "MOST_DEAD", 3)
        self.patch.setattr(rookery.matching.baselines.packed, "AT_ONCE", 4)
        self.patch.setattr(rookery.matching.bitmap.engine, "TAIL_ROWS", 6)
        self.patch.setattr(rookery.matching.bitmap.engine, "LEAST_SEGMENT", 4)
        self.patch.setattr(rookery.matching.bitmap.tail, "DIRECT_ROWS", 2)
        self.patch.setattr(rookery.matching.bitmap.build, "DIRECT_ROWS", 2)
        self.patch.setattr(rookery.matching.bitmap.positions, "LEAST_PREDICATES", 0)
        self.patch.setattr(rookery.matching.records, "LEAST_TAIL", 5)
        self.patch.setattr(rookery.matching.labels, "_FEW", 2)
        self.folder = tempfile.TemporaryDirectory()
        self.matchers: dict[str, Any] = {}
        #: Earlier states of the sets, with what they matched then.
        self.earlier: list[tuple[Any, pa.Table, list[Any]]] = []

    def teardown(self) -> None:
        self.patch.undo()
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self.matchers = {engine: rookery.matcher(EDITED, engine=engine) for engine in ENGINES}

    def everywhere(self, seed: int, edit: Any) -> None:
        """Do an edit on every engine; all succeed, or all refuse with the same error and change nothing."""
        outcomes: dict[str, str | None] = {}
        for engine, matcher in self.matchers.items():
            before = len(matcher)
            try:
                edit(matcher, Random(seed))
                outcomes[engine] = None
            except RookeryError as error:
                # A bad filter under a taken id may be refused for either reason.
                outcomes[engine] = "unknown" if isinstance(error, UnknownSubscriptionError) else "bad"
                assert len(matcher) == before
        assert len(set(outcomes.values())) == 1, outcomes
        assert len({len(matcher) for matcher in self.matchers.values()}) == 1
        self.compare(Random(seed))

    def compare(self, random: Random) -> None:
        events = [random_event(random, EDITED) for _ in range(4)]
        table = table_of(EDITED, events)
        times = pa.array([random.choice(TIMES) for _ in events])
        topics = [random.choice(["north", "south"]) for _ in events]
        from rookery.model.instants import parse_instant

        stamps = pa.array([parse_instant(one) // 1000 for one in times.to_pylist()], pa.int64())
        table = table.append_column("ts", stamps.cast(pa.timestamp("us", tz="UTC")))
        table = table.append_column("topic", pa.array(topics))
        wanted = pairs_of(self.matchers["scan"].match_many(table, time="ts"))
        as_of = pairs_of(self.matchers["scan"].match_many(table, as_of=TIMES[2]))
        for engine in FAST:
            matcher = self.matchers[engine]
            assert pairs_of(matcher.match_many(table, time="ts")) == wanted, engine
            assert pairs_of(matcher.match_many(table, as_of=TIMES[2])) == as_of, engine
            ids = matcher.match(events[0], topic=topics[0], time=times[0].as_py())
            assert sorted(ids) == sorted(one for place, one, _ in wanted if place == 0), engine
            self.earlier.append((matcher._view, table, wanted))
        for view, before, matched in random.sample(self.earlier, min(4, len(self.earlier))):
            again = match_table(
                view, before, event_id="event_id", time="ts", topic=None, as_of=None, missing="error", on_error="raise"
            )
            assert pairs_of(again) == matched, "a state of the set has changed"

    @staticmethod
    def subscription(random: Random) -> dict[str, Any]:
        where, parameters = random_filter(random, EDITED, depth=1)
        dated = random.random() < 0.5
        return {
            "where": "i >" if random.random() < 0.05 else where,
            "parameters": parameters,
            "topic": random.choice([None, "north", "south"]),
            "valid_from": random.choice(DAYS) if dated else None,
            "valid_to": random.choice(DAYS) if dated else None,
        }

    @rule(seed=SEEDS)
    def add(self, seed: int) -> None:
        self.everywhere(
            seed,
            lambda one, random: one.add(random.choice(IDS), version=random.randint(1, 4), **self.subscription(random)),
        )

    @rule(seed=SEEDS)
    def replace(self, seed: int) -> None:
        def edit(matcher: Any, random: Random) -> None:
            version = random.choice([None, 1, 2, 3])
            matcher.replace(random.choice(IDS), version=version, **self.subscription(random))

        self.everywhere(seed, edit)

    @rule(seed=SEEDS)
    def remove(self, seed: int) -> None:
        self.everywhere(
            seed, lambda one, random: one.remove(random.choice(IDS), version=random.choice([None, None, 1, 2]))
        )

    @rule(seed=SEEDS)
    def set_parameters(self, seed: int) -> None:
        def edit(matcher: Any, random: Random) -> None:
            values = [random.choice(["1", "-2.5", "ab", "on", "7"]) for _ in range(random.randint(0, 3))]
            matcher.set_parameters(random.choice(IDS), values, version=random.choice([None, None, 1, 2]))

        self.everywhere(seed, edit)

    @rule(seed=SEEDS)
    def add_many(self, seed: int) -> None:
        def edit(matcher: Any, random: Random) -> None:
            rows = []
            for _ in range(random.randint(1, 6)):
                row = self.subscription(random)
                row["parameters"] = None if row["parameters"] is None else [str(one) for one in row["parameters"]]
                rows.append(
                    {"subscription_id": random.choice([*IDS, "x", "y", "z"]), **row, "version": random.randint(1, 6)}
                )
            types = {"parameters": pa.list_(pa.string())}
            names = list(rows[0])
            columns = {name: pa.array([row[name] for row in rows], types.get(name)) for name in names}
            matcher.add_many(pa.table(columns))

        self.everywhere(seed, edit)

    @rule(seed=SEEDS, by_file=st.booleans())
    def compile_and_go_on(self, seed: int, by_file: bool) -> None:
        """Compile, send through bytes or a file, and go on editing what comes back."""
        for engine in FAST:
            compiled = self.matchers[engine].compile()
            if by_file:
                path = Path(self.folder.name) / engine
                compiled.save(path)
                loaded = CompiledSet.load(path)
            else:
                loaded = CompiledSet.from_bytes(compiled.to_bytes())
            assert loaded.content_hash == compiled.content_hash
            assert loaded.subscriptions.equals(compiled.subscriptions)
            self.matchers[engine] = rookery.matcher(loaded, engine=engine)
        self.compare(Random(seed))


Edits.TestCase.settings = settings(max_examples=25, stateful_step_count=12)
TestEdits = Edits.TestCase
