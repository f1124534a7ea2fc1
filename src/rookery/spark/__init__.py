"""The data pipeline on Spark: DataFrame in, DataFrame out.

    from rookery.spark import Subscriptions, match
    hits = match(events, Subscriptions.table(spark, "ops.rules"), event_id="id", time="ts")

The same compiled set that runs live judges batches and streams here; every plan gives the same pairs. Names are loaded
at first use, so that `import rookery.spark` works where PySpark is not installed and fails only where it is needed.
"""

from __future__ import annotations

import importlib
from typing import Any

from rookery.extras import need

__all__ = [
    "Backtest",
    "MatchProgress",
    "Outcome",
    "Plan",
    "Subscriptions",
    "VersionLog",
    "backtest",
    "contact_counts",
    "diff",
    "discover",
    "explain_plan",
    "key_stats",
    "match",
    "match_files",
    "match_listener",
    "matches_of",
    "matching",
    "partition",
    "publish_to",
    "register",
    "session",
    "summarize",
    "validate",
    "workload",
    "write_edits",
    "write_stream",
    "zone_stats",
]

_HOMES = {
    "Backtest": "history",
    "MatchProgress": "progress",
    "Outcome": "files",
    "Plan": "plans",
    "Subscriptions": "subscriptions",
    "VersionLog": "versions",
    "backtest": "history",
    "contact_counts": "discovery",
    "diff": "history",
    "discover": "discovery",
    "explain_plan": "pipeline",
    "key_stats": "keys",
    "match": "pipeline",
    "match_files": "files",
    "match_listener": "progress",
    "matches_of": "functions",
    "matching": "pipeline",
    "partition": "zones",
    "publish_to": "publish",
    "register": "sql",
    "session": "sessions",
    "summarize": "summaries",
    "validate": "pipeline",
    "workload": "workloads",
    "write_edits": "edits",
    "write_stream": "sinks",
    "zone_stats": "zones",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    need("pyspark", f"{__name__}.{name}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
