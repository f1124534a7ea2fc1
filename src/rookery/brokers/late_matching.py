"""Matching once more, when a grace period is over: who wants an event by now and has not had it.

Rule: batches whose zone is still the same are matched together, by column, as when they came (`batch_matching.py`): a
lease that was away for some seconds of load leaves very many of them. Of the others each event is looked at by itself,
since its batch may lie in several zones by now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rookery.brokers.batch_matches import BatchMatches, sorted_by_broker
from rookery.brokers.batch_matching import BatchMatching
from rookery.brokers.batches import events_of
from rookery.brokers.in_flight import InFlightBatch
from rookery.brokers.messages import PlacedSubscription

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["late_matches"]


def late_matches(
    broker: Broker, entries: Sequence[InFlightBatch]
) -> Iterator[tuple[InFlightBatch, dict[int, BatchMatches]]]:
    """Yield of each batch the matches that were not delivered, by access broker; conditions must not be lent."""
    same = [entry for entry in entries if not entry.gone and broker.owned.get(entry.zone.path) is entry.zone]
    matching = BatchMatching([(entry.zone, entry) for entry in same])
    for _, entry, by_broker in matching.matches(matching.run()):
        yield (
            entry,
            {
                access_broker: fresh
                for access_broker, matches in by_broker.items()
                if (fresh := matches.beside(entry.delivered, entry.batch.count))
            },
        )
    done = set(map(id, same))
    for entry in entries:
        if id(entry) not in done:
            yield entry, _one_by_one(broker, entry)


def _one_by_one(broker: Broker, entry: InFlightBatch) -> dict[int, BatchMatches]:
    rows: list[int] = []
    late: list[PlacedSubscription] = []
    points, _ = broker.publishing.points_in(entry.batch)
    for row, (event, point) in enumerate(zip(events_of(entry.batch), points.tolist(), strict=True)):
        owned = broker.owned_at(tuple(point))
        for one in owned.store.match(event) if owned is not None else ():
            if row not in entry.gone and (row, one.subscription_id) not in entry.delivered:
                rows.append(row)
                late.append(one)
    return sorted_by_broker(rows, late)
