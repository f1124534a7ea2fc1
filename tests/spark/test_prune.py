"""What pruning keeps where most rules name values of one column and some do not: whatever a rule of either kind wants.

The twin judges each rule on each event in Python. NaN, NULL and signed zeros are among the values.
"""

from __future__ import annotations

from math import nan
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from rookery.spark import Subscriptions, match
from rookery.spark.pipeline import arrow_schema
from rookery.spark.prune import pruned
from rookery.spark.rules import Reading, schema_of
from rookery.spark.sql_rows import SqlRows, sql_rows

from .conftest import pairs

pytestmark = pytest.mark.spark

EVENTS, NAMED = 600, 120
VALUES = [None, nan, 0.0, -0.0, 0.25, 0.5, 0.75, 1.0, 2.0]
KEYS = [None, "", "é", *(f"k{number}" for number in range(2 * NAMED))]


def drawn_events(draw: Random) -> list[tuple[int, str | None, float | None, float | None]]:
    return [(place, draw.choice(KEYS), draw.choice(VALUES), draw.choice(VALUES)) for place in range(EVENTS)]


def at_least(value: float | None, limit: float) -> bool:
    return value is not None and value >= limit  # of NaN it is false here, as in the language


def mixed(draw: Random, others: int) -> tuple[pa.Table, list[Any]]:
    """Rules of one value each, of two, of a value or anything, and of no value; with their twins."""
    made: list[tuple[str, Any]] = []
    for number in range(NAMED):
        key, limit = f"k{number}", draw.choice((0.0, 0.5, 1.0))
        made.append((f"k = '{key}' and x >= {limit}", lambda k, x, y, key=key, m=limit: k == key and at_least(x, m)))
    made.append(("k in ('', 'é') and x is null", lambda k, x, y: k in ("", "é") and (x is None or x != x)))
    for _ in range(others):
        limit, least = draw.choice((0.5, 0.75, 1.0)), draw.choice((0.75, 1.0, 2.0))
        made.append((f"x >= {limit} and y >= {least}",
                     lambda k, x, y, m=limit, n=least: at_least(x, m) and at_least(y, n)))  # fmt: skip
    both = "(k = 'k1' or k > 'k97') and x >= 1 and y >= 1"
    made.append(
        (both, lambda k, x, y: k is not None and (k == "k1" or k > "k97") and at_least(x, 1) and at_least(y, 1))
    )
    made.append(("k is null and y >= 2", lambda k, x, y: k is None and at_least(y, 2)))
    where = pa.array([text for text, _ in made])
    return pa.table({"subscription_id": range(len(made)), "where": where}), [judged for _, judged in made]


def rows_of(frame: Any, rules: pa.Table) -> SqlRows:
    compiled = Subscriptions.arrow(rules).compiled(schema_of(arrow_schema(frame)), Reading())
    rows = sql_rows(compiled.compiled, frame.schema, Reading())
    assert rows is not None
    return rows


@pytest.mark.parametrize("others", [0, 20])
def test_events_that_a_rule_of_either_kind_wants_are_kept(spark: Any, others: int) -> None:
    draw = Random(others)
    events, (rules, judged) = drawn_events(draw), mixed(draw, others)
    frame = spark.createDataFrame(events, "event_id bigint, k string, x double, y double")
    due = sorted((place, rule, 1) for place, *values in events for rule, one in enumerate(judged) if one(*values))
    assert len({one[1] for one in due}) > others
    found = match(frame, rules, plan="broadcast")
    assert "LeftOuter" in found._jdf.queryExecution().optimizedPlan().toString()
    assert pairs(found) == due
    left = pruned(frame, rows_of(frame, rules))
    assert left.columns == frame.columns
    kept = [row.event_id for row in left.select("event_id").collect()]
    assert {one[0] for one in due} <= set(kept)
    assert len(kept) == len(set(kept)) < EVENTS * 2 / 3
    twice = match(frame.where("x >= 0.5 and not isnan(x)"), rules, plan="broadcast")  # with the table of the first
    wanted = {place for place, _, x, _ in events if at_least(x, 0.5)}
    assert pairs(found.unionAll(twice)) == sorted(due + [one for one in due if one[0] in wanted])


def test_nothing_is_looked_up_where_the_other_rules_want_anything(spark: Any) -> None:
    frame = spark.createDataFrame(drawn_events(Random(3)), "event_id bigint, k string, x double, y double")
    wheres = [*(f"k = 'k{number}'" for number in range(NAMED)), "x + y > 1"]
    rows = rows_of(frame, pa.table({"subscription_id": range(len(wheres)), "where": wheres}))
    assert "Join" not in pruned(frame, rows)._jdf.queryExecution().optimizedPlan().toString()
