"""Which plan runs a match, and why.

*expressions*, *join*: the rules become Spark's own expressions, or a hash join; no event leaves the JVM. For some tens
of rules, or rules of one value and ranges (`native.py`).
*broadcast*: every worker holds the whole set; no shuffle. Right until the set no longer fits a worker's share of
memory.
*keys*: the rules stay a DataFrame, and tasks compile those of their part of a column's values; for `match` in a
program, where it is asked for (`keys.py`).
*zoned*: the event space is cut into zones, a worker holds the rules of one zone at a time; one shuffle of the events.
*files*: Parquet input is read and matched inside the workers, and only matches cross to the JVM, or none where they are
written there too. For paths (`match_files`, the command line) and for a DataFrame that is a bare scan of files
(`scans.py`): one with filters would not show them in its list of files (spec, spark 10, promise 8).

An estimate is CPU microseconds for an event. Its constants are rough: some were fitted to runs of
`benchmarks/spark_plans.py` on a busy machine, some are guesses. It chooses between plans and promises nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from rookery.errors import PipelineError

if TYPE_CHECKING:
    from rookery import CompiledSet
    from rookery.spark.row_masks import RowMasks

__all__ = [
    "CROSS",
    "CROSS_COLUMN",
    "LARGEST_BROADCAST",
    "MATCHING",
    "READ",
    "READ_COLUMN",
    "Plan",
    "PlanName",
    "PlanOffer",
    "choose",
]

#: Bytes of a compiled set that one worker process may hold; `ROOKERY_BROADCAST_BYTES` overrides it.
LARGEST_BROADCAST = 512 * 1024 * 1024

PlanName = Literal["auto", "broadcast", "zoned", "files", "expressions", "join", "keys"]

#: CPU microseconds of an event that crosses to Python and of each of its columns; the same where a worker reads its
#: file; and of its matching in a worker.
CROSS, CROSS_COLUMN = 0.25, 0.12
READ, READ_COLUMN = 0.02, 0.04
MATCHING = 0.35
#: The part of a column's crossing that is Spark's reading, and a look-up of a word before it (`row_masks.py`).
SCAN_COLUMN, MASK = 0.1, 0.02


@dataclass(frozen=True, slots=True)
class PlanOffer:
    """What a plan would cost, or why it is not to be had: no microseconds then."""

    microseconds: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen plan, the reason, and what an event costs by estimate, for the log and `--explain-plan`."""

    name: Literal["broadcast", "zoned", "files", "expressions", "join"]
    reason: str
    microseconds: float | None = None


def choose(
    compiled: CompiledSet,
    *,
    plan: str = "auto",
    paths: bool = False,
    offered: Mapping[str, PlanOffer] | None = None,
    columns: int = 0,
    masks: RowMasks | None = None,
) -> Plan:
    """Choose the plan of one job; `paths` says that the events are Parquet files named by path.

    `offered` are the plans of `native` and `scans`, which not every set and not every input has; `columns` how many
    would cross to Python, of the events that `masks` keep.
    """
    offered = offered or {}
    size = f"{len(compiled):,} rules compile to {compiled.nbytes / 2**20:.1f} MiB"
    limit = int(os.environ.get("ROOKERY_BROADCAST_BYTES", LARGEST_BROADCAST))
    if plan not in get_args(PlanName):
        raise PipelineError(f"there is no plan {plan!r}: write {', '.join(get_args(PlanName))}")
    if plan == "keys":
        raise PipelineError("the plan 'keys' compiles in the tasks, and is asked of match() in a program: plan='keys'")
    if plan in ("broadcast", "zoned") or (plan == "files" and paths):
        return Plan(plan, f"asked for; {size}")  # type: ignore[arg-type]
    if plan != "auto":
        found = offered.get(plan, PlanOffer(reason="it is not for this job"))
        if found.microseconds is None:
            raise PipelineError(f"the plan {plan!r} is not to be had here: {found.reason}")
        return Plan(plan, f"asked for; {found.reason}", found.microseconds)  # type: ignore[arg-type]
    if compiled.nbytes > limit:
        return Plan("zoned", f"{size}, more than the {limit / 2**20:.0f} MiB that a worker may hold")
    if paths:
        return Plan("files", f"the events are Parquet files, and {size}, which every worker can hold")
    costs = {name: one.microseconds for name, one in offered.items() if one.microseconds is not None}
    crossing, before = CROSS + CROSS_COLUMN * columns + MATCHING, ""
    if masks is not None:
        crossing = SCAN_COLUMN * columns + MASK * masks.words + masks.kept * (crossing - SCAN_COLUMN * columns)
        before = f"; {masks.words} look-ups leave {masks.kept:.0%} of evenly spread events to cross"
    name = min(costs, key=costs.__getitem__, default="broadcast")
    if name == "broadcast" or costs[name] >= crossing:
        return Plan("broadcast", f"{size}, which every worker can hold{before}", crossing)
    return Plan(name, offered[name].reason, costs[name])  # type: ignore[arg-type]
