"""Which columns of a stream's events are handed to the workers, while its rules may change.

A column that crosses to Python costs its share of the crossing, which is most of the time. Events of few columns are
handed over whole. Of many those cross that the rules read when the query starts, those that go out with a match, and
those that are named ahead. The plan of a running query is fixed: a rule
that is written later and reads another column is quarantined with that reason, and counts when the query is started
again.

A replay is judged by the set of its batch, which may read what the newest does not: its columns cross too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import pyarrow as pa

from rookery.errors import PipelineError, SubscriptionError
from rookery.spark.rules import CompiledRules, Reading, compile_rules, require_columns, schema_of
from rookery.spark.versions import SetVersion

__all__ = ["Ahead", "check_read", "lacking", "projected", "within"]

#: Up to so many columns all cross, and a rule on any of them counts from the next micro-batch.
FEW = 16

Ahead = Sequence[str] | Literal["*"]

LACKS = "it reads a column that this stream does not hand over"
HINT = "start the query again, or name the column ahead (ahead=)"


def projected(
    held: Sequence[str], reading: Reading, needed: Iterable[str], ahead: Ahead, replayed: SetVersion | None
) -> list[str]:
    """Return the columns that cross, in the order of those that could: `needed` are what rules and matches ask for."""
    if (
        ahead == "*" or len(held) <= FEW or (replayed is not None and replayed.columns is None)
    ):  # a log of before said no columns
        return list(held)
    named = reading.carried([ahead] if isinstance(ahead, str) else list(ahead), held)
    for name in named:
        require_columns(held, ahead=name)
    last = () if replayed is None or replayed.columns is None else replayed.columns
    return reading.columns([*needed, *named, *last], held)


def within(rules: CompiledRules, events: pa.Schema, crossing: Sequence[str] | None, reading: Reading) -> CompiledRules:
    """Return the rules without those that read more than what crosses: they are quarantined with that reason."""
    if crossing is None or set(rules.columns) <= set(crossing):
        return rules
    seen = pa.schema([field for field in events if field.name in crossing])
    fewer = compile_rules(rules.records, schema_of(seen), reading=reading)
    before = {(error.subscription_id, error.text) for error in rules.quarantined}
    errors = tuple(
        error if (error.subscription_id, error.text) in before
        else SubscriptionError(LACKS, text=error.text, position=error.position, hint=HINT,
                               subscription_id=error.subscription_id)
        for error in fewer.quarantined
    )  # fmt: skip
    return replace(fewer, quarantined=errors)


def lacking(version: SetVersion) -> bool:
    """Say whether a set left rules out because of a column that did not cross."""
    return any(bad["reason"] == LACKS for bad in version.quarantined)


def check_read(columns: Iterable[str], batch: pa.RecordBatch) -> None:
    """Refuse a batch without a column that its set reads: what is missing would be taken for NULL."""
    missing = sorted(set(columns) - set(batch.schema.names))
    if missing:
        raise PipelineError(
            f"the rules of this micro-batch read {', '.join(missing)}, which this stream does not hand over: {HINT}"
        )
