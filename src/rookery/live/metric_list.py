"""Every metric that a process of Rookery serves: what `/metrics` is made from, and the dashboard of an operator.

Rule: a name that is not in `METRICS` cannot be served (`metrics.measured`), and one that is in it has its panel
(`dashboard.py`). The machines' own counters come as one metric with a label; `troubles` names those of them that grow
where something goes wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["METRICS", "PREFIX", "DescribedMetric"]

#: What every name begins with on the wire.
PREFIX = "rookery_"


@dataclass(frozen=True, slots=True)
class DescribedMetric:
    """One metric: which part serves it, what it says, by which label, in which unit."""

    name: str
    part: str
    kind: Literal["counter", "gauge"]
    help: str
    label: str | None = None
    unit: str = "short"
    troubles: tuple[str, ...] = ()


_ALL = (
    DescribedMetric(
        "dds_total",
        "DDS participant",
        "counter",
        "What the DDS participant has counted.",
        label="counter",
        troubles=("rejected", "unauthentic", "other_domain", "lost", "send_failed", "unreadable_sample"),
    ),
    DescribedMetric(
        "dds_known", "DDS participant", "gauge", "Remote participants and endpoints that are known.", label="what"
    ),
    DescribedMetric(
        "dds_held_bytes", "DDS participant", "gauge", "Bytes of samples that are not delivered yet.", unit="bytes"
    ),
    DescribedMetric(
        "island_total",
        "Gateway",
        "counter",
        "What the gateway of this site has counted.",
        label="counter",
        troubles=("overflow", "unknown site", "too many hops", "malformed body", "offers refused"),
    ),
    DescribedMetric("island_sites_reached", "Gateway", "gauge", "Sites that can be reached."),
    DescribedMetric(
        "broker_total",
        "Broker",
        "counter",
        "What the broker has counted.",
        label="counter",
        troubles=("refused", "rejected", "malformed", "throttled", "over budget", "without right", "too slow"),
    ),
    DescribedMetric("broker_events", "Broker", "gauge", "Events seen, by zone.", label="zone"),
    DescribedMetric("broker_subscriptions", "Broker", "gauge", "Subscriptions held, by zone.", label="zone"),
    DescribedMetric("broker_clients", "Broker", "gauge", "Clients that are attached."),
    DescribedMetric("broker_events_in_flight", "Broker", "gauge", "Events not yet acknowledged by their clients."),
    DescribedMetric(
        "page_records_total",
        "Page",
        "counter",
        "What the page has taken in, and what it could not.",
        label="kind",
        troubles=("refused", "rejected"),
    ),
    DescribedMetric("page_entries", "Page", "gauge", "What the page holds, by table.", label="table"),
    DescribedMetric("page_readers", "Page", "gauge", "Pages that are open."),
)
#: All of them, by name.
METRICS = {metric.name: metric for metric in _ALL}
