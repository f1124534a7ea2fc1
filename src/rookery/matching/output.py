"""The result of a match, in the one schema that every mode has: event_id, subscription_id, version."""

from __future__ import annotations

import pyarrow as pa

from rookery.errors import EventError
from rookery.matching.view import View

__all__ = ["check_request", "match_table"]


def check_request(events: pa.Table | pa.RecordBatch, *, event_id: str, missing: str) -> None:
    """Refuse a batch without the column of its ids, and an unknown way to treat missing columns."""
    if missing not in ("error", "null"):
        raise ValueError(f"missing is 'error' or 'null', got {missing!r}")
    if event_id not in events.schema.names:
        shown = ", ".join(events.schema.names[:12])
        raise EventError(f"the events have no column {event_id!r} for their id; they have {shown}: say event_id=")


def match_table(
    view: View,
    events: pa.Table | pa.RecordBatch,
    *,
    event_id: str,
    time: str | None,
    topic: str | None,
    as_of: object,
    missing: str,
) -> pa.Table:
    """Match a batch and name the pairs."""
    check_request(events, event_id=event_id, missing=missing)
    found, slots = view.match_batch(events, time=time, topic=topic, as_of=as_of, missing=missing)
    ids = events.column(event_id)
    names = ids.take(pa.array(found))
    return pa.table([names, *view.records.names(slots)], names=["event_id", "subscription_id", "version"])
