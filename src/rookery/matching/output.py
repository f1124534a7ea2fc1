"""The result of a match, in the one schema that every mode has: event_id, subscription_id, version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from rookery.errors import EventError
from rookery.matching.view import View
from rookery.model.batches import Batch, Events, batch_of, event_ids
from rookery.model.events import check_on_error

__all__ = ["check_request", "match_numbers", "match_table"]

Array = np.ndarray[Any, Any]


def check_request(batch: Batch, *, event_id: str, missing: str, on_error: str) -> None:
    """Refuse a batch without the column of its ids, and an unknown way to treat what is missing or does not fit."""
    if missing not in ("error", "null"):
        raise ValueError(f"missing is 'error' or 'null', got {missing!r}")
    check_on_error(on_error)
    if event_id not in batch and (batch.names or batch.num_rows):
        raise EventError(
            f"the events have no column {event_id!r} for their id; they have {batch.shown_names()}: say event_id="
        )


def match_table(
    view: View,
    events: Events,
    *,
    event_id: str,
    time: str | None,
    topic: str | None,
    as_of: object,
    missing: str,
    on_error: str,
    now: object = None,
) -> pa.Table:
    """Match a batch and name the pairs."""
    batch = batch_of(events)
    check_request(batch, event_id=event_id, missing=missing, on_error=on_error)
    pieces = view.match_pieces(batch, time=time, topic=topic, as_of=as_of, missing=missing, on_error=on_error, now=now)
    named = [(event_ids(batch, event_id, pa.array(found)), *view.records.named(slots)) for found, slots in pieces]
    columns = [pa.chunked_array(_chunks(column)) for column in zip(*named, strict=True)]
    return pa.table(columns, names=["event_id", "subscription_id", "version"])


def match_numbers(view: View, events: Events, *, missing: str) -> tuple[Array, Array]:
    """Match a batch and return the pairs in the same order, by the rows of events and the ids, which are numbers."""
    rows, slots = view.match_batch(events, time=None, topic=None, as_of=None, missing=missing)
    return rows, view.records.numbers(slots)


def _chunks(parts: Iterable[pa.Array | pa.ChunkedArray]) -> list[pa.Array]:
    """Return the arrays of a column's parts; of a part in several chunks, all of them."""
    return [chunk for part in parts for chunk in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
