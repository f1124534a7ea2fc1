"""Plans in which no event leaves the JVM: what they cost, and the one of a few rules, *expressions*.

Each rule is a condition that Spark compiles into the loop that reads the events. Right for some tens of rules: the
crossing to Python costs more than the comparisons. The other one is the hash join of `joins.py`.

Rule: exactly what a worker would find, or not offered: `offers` says why a set is not for a plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.spark.carried import carried_name
from rookery.spark.carriers import RecentValues
from rookery.spark.joins import join_shape
from rookery.spark.plans import PlanOffer
from rookery.spark.range_sql import quoted, range_text, text_literal
from rookery.spark.rules import CompiledRules, Reading
from rookery.spark.sql_rows import SqlRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["match_expressions", "offers"]

Array = np.ndarray[Any, Any]

#: Comparisons from which on the JVM leaves a loop to its interpreter (8,000 bytes of code, in which each is twice),
#: which takes so many times as long; and comparisons that Spark plans at all.
LONG_LOOP, INTERPRETED, MOST_COMPARISONS = 90, 20, 2_000
#: CPU nanoseconds: a comparison, a look-up, a rule that is met; and a column that Spark reads for them, which a plan
#: that crosses to Python pays within what a column costs there (`benchmarks/spark_plans.py`).
COMPARISON, LOOK_UP, MEETING, COLUMN = 2, 300, 25, 100


def offers(rows: SqlRows | None) -> dict[str, PlanOffer]:
    """Return what each plan would cost, or why it is not for this set."""
    if rows is None or not rows.says_all:
        no = PlanOffer(reason="some conditions are more than comparisons that Spark makes in the same way")
        return {"expressions": no, "join": no}
    found = {}
    read = COLUMN * (1 + len(rows.bounded))
    count = int(sum(len(ranges.row) for _, ranges in rows.bounded) * 2 + sum(map(len, rows.texts.values())))
    if count > MOST_COMPARISONS:
        found["expressions"] = PlanOffer(reason=f"{count:,} comparisons, more than {MOST_COMPARISONS:,}")
    else:
        looped = read + count * COMPARISON * (INTERPRETED if count > LONG_LOOP else 1)
        found["expressions"] = PlanOffer(looped / 1e3, f"{count:,} comparisons in Spark's own code")
    shape = join_shape(rows)
    if isinstance(shape, str):
        found["join"] = PlanOffer(reason=shape)
    else:
        column, spent = rows.bounded[shape.place][0].column, read + LOOK_UP + MEETING * shape.most
        found["join"] = PlanOffer(spent / 1e3, f"a hash join by {column}, at most {shape.most} rules for a value")
    return found


#: What the last sets ask, for the next job with one of them, each with its rows, so that no other has their address.
_written: RecentValues[tuple[SqlRows, str, str]] = RecentValues()


def match_expressions(
    events: DataFrame, rules: CompiledRules, reading: Reading, rows: SqlRows, columns: Sequence[str] = ()
) -> DataFrame:
    """Match by a condition for each rule: `event_id, subscription_id, version, zone` and the carried columns.

    All is text: each object that Python makes in the JVM is a call, and of many calls a short job has much of its time.
    """
    _, asked, each = _written((id(rows), rules.id_type), lambda: (rows, *_texts(rules, rows)))
    carried = [f"{quoted(name)} as {quoted(carried_name(name))}" for name in columns]
    matched = events.where(asked).selectExpr(f"{quoted(reading.event_id)} as event_id", each, *carried)
    return matched.where("subscription_id is not null")


def _texts(rules: CompiledRules, rows: SqlRows) -> tuple[str, str]:
    """Return when any rule wants an event, and the generator of its matches: NULL for each rule that does not."""
    slots = sorted({int(slot) for slot in rows.slot[rows.alive]})
    conditions = {slot: _condition(rows, slot) for slot in slots}
    ids, versions = rules.compiled.names(np.array(slots, np.int64))
    found = []
    for slot, name, version in zip(slots, ids.to_pylist(), versions.to_pylist(), strict=True):
        text = text_literal(name) if isinstance(name, str) else f"bigint('{name}')"
        matched = _match(text, f"bigint('{version}')")
        found.append(f"case when {conditions[slot]} then {matched} end")
    kind = "string" if pa.types.is_string(rules.id_type) else "bigint"
    none = _match(f"{kind}(null)", "bigint(null)")
    return " or ".join(conditions.values()) or "false", f"inline(array({', '.join(found or [none])}))"


def _match(name: str, version: str) -> str:
    return f"named_struct('subscription_id', {name}, 'version', {version}, 'zone', 0)"


def _condition(rows: SqlRows, slot: int) -> str:
    """Return when a subscription wants an event: one of its rows holds."""
    wanted = []
    for row in np.flatnonzero((rows.slot == slot) & rows.alive).tolist():
        parts = list(rows.texts.get(row, ()))
        for leaf, ranges in rows.bounded:
            ends = [
                range_text(leaf, bool(ranges.null[place]), ranges.lower[place], ranges.upper[place])
                for place in np.flatnonzero(ranges.row == row).tolist()
            ]
            if ends:
                parts.append(ends[0] if len(ends) == 1 else f"({' or '.join(ends)})")
        wanted.append(" and ".join(parts) or "true")
    return "(" + " or ".join(f"({one})" for one in wanted) + ")"
