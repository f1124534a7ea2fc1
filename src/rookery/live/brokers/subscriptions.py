"""Many subscriptions from a table, opened at a broker network: what can be opened, and what is wrong with the rest.

Rule: the table is read and checked as everywhere (`rookery.model.tables`), against the schema that the brokers give, so
a bad subscription is known here with its reason and the good ones are opened. Of several versions the highest counts.
What a broker cannot judge is not opened, and named: a subscription of another topic, and one with effective dates,
since an event has no time there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rookery.errors import SubscriptionError
from rookery.matching import matcher
from rookery.model import Schema
from rookery.model.tables import read_subscriptions

__all__ = ["Opening", "opening"]


@dataclass(frozen=True, slots=True)
class Opening:
    """What a table asks of the brokers of one topic."""

    #: By the id's text, as `Client.subscribe_many` takes it: condition and parameters.
    conditions: Mapping[str, tuple[str, tuple[object, ...]]]
    #: The ids themselves, by their texts.
    ids: Mapping[str, str | int]
    faults: tuple[SubscriptionError, ...]
    #: Good subscriptions that brokers of this topic do not take, and why.
    left_out: Mapping[str | int, str]


def opening(source: Any, schema: Schema, *, topic: str, id_type: str | None = None) -> Opening:
    """Read subscriptions and say which of them are opened at the brokers of a topic."""
    checked = matcher(schema, on_error="quarantine", wall_time=False)
    checked.add_many(read_subscriptions(source, id_type=id_type))
    rows: dict[str | int, dict[str, Any]] = {}
    left_out: dict[str | int, str] = {}
    for row in checked.compile().subscriptions.drop_columns(["subscriber"]).to_pylist():
        name = row["subscription_id"]
        if row["valid_from"] is not None or row["valid_to"] is not None:
            left_out[name] = "it has effective dates, and the events of brokers have no time"
        elif name not in rows or rows[name]["version"] < row["version"]:
            rows[name] = row
    conditions: dict[str, tuple[str, tuple[object, ...]]] = {}
    for name, row in rows.items():
        if row["topic"] not in (None, topic):
            left_out.setdefault(name, f"its topic is {row['topic']!r}")
        if name not in left_out:
            conditions[str(name)] = row["where"], tuple(row["parameters"] or ())
    ids = {str(name): name for name in rows if name not in left_out}
    return Opening(conditions, ids, tuple(checked.quarantined), left_out)
