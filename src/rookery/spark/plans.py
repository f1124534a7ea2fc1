"""Which plan runs a match, and why.

*broadcast*: every worker holds the whole set; no shuffle. Right until the set no longer fits a worker's share of
memory.
*zoned*: the event space is cut into zones, a worker holds the rules of one zone at a time; one shuffle of the events.
*files*: Parquet input is read, matched and written inside the workers; no row crosses the JVM. Only for paths
(`match_files`, the command line): a DataFrame may carry filters that its list of input files does not show (spec,
spark 10, promise 8).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rookery.errors import PipelineError

if TYPE_CHECKING:
    from rookery import CompiledSet

__all__ = ["LARGEST_BROADCAST", "Plan", "choose"]

#: Bytes of a compiled set that one worker process may hold; `ROOKERY_BROADCAST_BYTES` overrides it.
LARGEST_BROADCAST = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen plan and the reason, for the log and `--explain-plan`."""

    name: Literal["broadcast", "zoned", "files"]
    reason: str


def choose(compiled: CompiledSet, *, plan: str = "auto", paths: bool = False) -> Plan:
    """Choose the plan of one job; `paths` says that the events are Parquet files named by path."""
    size = f"{len(compiled):,} rules compile to {compiled.nbytes / 2**20:.1f} MiB"
    limit = int(os.environ.get("ROOKERY_BROADCAST_BYTES", LARGEST_BROADCAST))
    if plan == "broadcast":
        return Plan("broadcast", f"asked for; {size}")
    if plan == "zoned":
        return Plan("zoned", f"asked for; {size}")
    if plan == "files":
        if not paths:
            raise PipelineError(
                "the plan 'files' needs Parquet files named by path: use match_files or the command line"
            )
        return Plan("files", f"asked for; {size}")
    if plan != "auto":
        raise PipelineError(f"there is no plan {plan!r}: write auto, broadcast, zoned or files")
    if compiled.nbytes > limit:
        return Plan("zoned", f"{size}, more than the {limit / 2**20:.0f} MiB that a worker may hold")
    if paths:
        return Plan("files", f"the events are Parquet files, and {size}, which every worker can hold")
    return Plan("broadcast", f"{size}, which every worker can hold")
