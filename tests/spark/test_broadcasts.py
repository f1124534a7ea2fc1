"""Space that jobs took is given back, and what a DataFrame still needs is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rookery.spark import broadcasts, match
from rookery.spark.broadcasts import HELD, sent_sets
from rookery.spark.workloads import workload

from .conftest import pairs

pytestmark = pytest.mark.spark

RULES = 1_000


def sizes_in(folder: str) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()}


def size_of(folder: str) -> int:
    return sum(sizes_in(folder).values())


@pytest.fixture
def bounded(classic: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The session, with little patience for files that nobody needs."""
    sent = sent_sets(classic.sparkContext)
    monkeypatch.setattr(broadcasts, "MOST_BYTES", 2**18)
    monkeypatch.setattr(sent, "patience", 2**18)
    return classic


@pytest.mark.parametrize(("how", "sets"), [({}, 14), ({"plan": "zoned", "zones": 2}, 7)])
def test_jobs_of_many_sets_leave_no_more_than_a_few(bounded: Any, how: dict[str, Any], sets: int) -> None:
    load, folder = workload("ranges"), bounded.sparkContext._temp_dir
    events = bounded.createDataFrame(load.table(300)).cache()
    waiting = match(events, load.rules(RULES, 1), **how)  # not asked for anything before all the others have been
    derived = waiting.where("subscription_id >= 0")
    del waiting
    before, seen = sizes_in(folder), dict[str, int]()
    for seed in range(2, 2 + sets):
        assert match(events, load.rules(RULES, seed), **how).count()
        seen |= sizes_in(folder)
    written = sum(size for path, size in seen.items() if path not in before)
    assert written > 2**20
    assert size_of(folder) - sum(before.values()) < written / 2
    assert pairs(derived) == pairs(match(events, load.rules(RULES, 1)))
    events.unpersist()


def test_one_set_is_sent_once(bounded: Any) -> None:
    load, folder = workload("ranges"), bounded.sparkContext._temp_dir
    events, rules = bounded.createDataFrame(load.table(50)), load.rules(RULES, 91)
    first = match(events, rules).count()
    before = size_of(folder)
    assert [match(events, rules).count() for _ in range(3)] == [first] * 3
    assert size_of(folder) == before
    assert len(sent_sets(bounded.sparkContext).held) <= HELD


def test_a_shipped_file_is_shipped_once(classic: Any) -> None:
    from rookery.spark.carriers import ship
    from rookery.spark.rules import compile_rules, schema_of

    load = workload("ranges")
    compiled = compile_rules(load.rules(100, 5), schema_of(load.schema)).compiled
    one, other = ship(classic, compiled), ship(classic, compiled)
    assert one == other
    assert len([name for name in classic.sparkContext.listFiles if name.endswith(one.name)]) == 1
