"""Bits of rows as Spark SQL: no event that some row wants is left out, and most of the others are."""

from __future__ import annotations

from math import inf, nan
from random import Random
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="the Spark tests need `pip install rookery[spark]`")

from rookery.spark import Subscriptions, explain_plan, match
from rookery.spark.pipeline import arrow_schema
from rookery.spark.row_masks import CELLS, MOST_ROWS, WORD, row_masks
from rookery.spark.rules import Reading, schema_of
from rookery.spark.sql_rows import SqlRows, sql_rows

from .conftest import pairs

pytestmark = pytest.mark.spark

NUMBERS = (0.0, -0.0, nan, None, inf, -inf, 5e-324, 1.5, 1.25, 99.99999999999999, 1e300, -1e300, 2.0**53)
WHOLE = (0, None, 5, -5, 2**53 + 1, 2**53, 2**63 - 1, -(2**63), 7)


def frame_of(spark: Any) -> Any:
    random = Random(5)
    rows = [
        (row, NUMBERS[row % len(NUMBERS)] if row < 100 else random.uniform(0, 100), WHOLE[row % len(WHOLE)],
         random.choice(["a", "b", None]), random.uniform(0, 100))
        for row in range(600)
    ]  # fmt: skip
    return spark.createDataFrame(rows, "event_id bigint, x double, n bigint, s string, f float")


def rows_of(frame: Any, wheres: list[str]) -> SqlRows:
    records = pa.table({"subscription_id": range(len(wheres)), "where": wheres})
    compiled = Subscriptions.arrow(records).compiled(schema_of(arrow_schema(frame)), Reading()).compiled
    rows = sql_rows(compiled, frame.schema, Reading())
    assert rows is not None
    return rows


def wheres_of(count: int) -> list[str]:
    """Return conditions that all together want about half of the events."""
    random, made = Random(count), []
    for _ in range(count):
        low, other = random.uniform(0, 90), random.uniform(0, 90)
        width = min(9.0, 200 / count)
        few = f"f >= {other!r} and f <= {other + width!r}"
        made.append(
            random.choice(
                [
                    f"x >= {low!r} and x < {low + width!r} and {few}",
                    f"f > {other!r} and f < {other + 1!r} and s = 'a'",
                    f"x is null and {few}", f"n in (5, {2**53 + 1}) and x between {low!r} and {low + width!r}",
                    f"n > {2**53} and {few}", f"n < -5 and {few}", f"x > 1e299 and {few}", f"x < 0 and {few}",
                    "x = 0 and n = 0",
                ]
            )
        )  # fmt: skip
    return made


@pytest.mark.connect
@pytest.mark.parametrize("count", [2, WORD, WORD + 1, 130])
def test_no_event_that_a_row_wants_is_left_out(spark: Any, count: int) -> None:
    frame, wheres = frame_of(spark), wheres_of(count)
    masks = row_masks(rows_of(frame, wheres))
    assert masks is not None
    kept = {row[0] for row in frame.where(masks.condition).select("event_id").collect()}
    due = set()
    for first in range(0, count, 20):
        asked = " or ".join(
            "(" + where.replace("x ", "nanvl(x, null) ").replace("-5", "-5L") + ")"
            for where in wheres[first : first + 20]
        )
        due |= {row[0] for row in frame.where(asked).select("event_id").collect()}
    assert due <= kept
    assert len(kept) < 0.95 * frame.count()
    rules = pa.table({"subscription_id": range(count), "where": wheres})
    found = {one[0] for one in pairs(match(frame, rules, plan="broadcast"))}
    assert found == due


def test_a_set_without_a_bound_or_with_many_rows_is_not_looked_up(spark: Any) -> None:
    frame = frame_of(spark)
    assert row_masks(rows_of(frame, ["s = 'a'"])) is None
    assert row_masks(rows_of(frame, ["x > 5 and x < 7", "s = 'b'"])) is None
    assert row_masks(rows_of(frame, ["x > 1e308", "x < -1e308"])) is None  # a width that is no double
    assert row_masks(rows_of(frame, [f"f > {one} and f < {one + 1}" for one in range(99)])) is None  # everything
    some = [f"x > {one} and x < {one + 2} and f > {one} and f < {one + 1}" for one in range(MOST_ROWS + 1)]
    assert row_masks(rows_of(frame, some)) is None
    masks = row_masks(rows_of(frame, some[:-1]))
    assert masks is not None
    assert masks.words == 8
    assert 1 / CELLS < masks.kept < 0.1


def test_some_tens_of_ranges_are_pruned_before_they_cross(spark: Any) -> None:
    frame = frame_of(spark)
    some = [f"x > {one} and x < {one + 2} and f > {one} and f < {one + 1}" for one in range(90)]
    rules = pa.table({"subscription_id": range(90), "where": some})
    chosen = explain_plan(frame, rules)
    assert (chosen.name, "look-ups" in chosen.reason) == ("broadcast", True)
    assert " & " in match(frame, rules)._jdf.queryExecution().optimizedPlan().toString()
