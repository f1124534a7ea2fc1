"""The subscriptions of one zone, and which of them want an event.

The box of a subscription decided that it is stored here; the matcher of `rookery.matching` decides whether an event
satisfies it. It is made at the first event after a change of many, and edited where a single one changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rookery.errors import EventError, SubscriptionError
from rookery.matching import Matcher, ScanMatcher, matcher
from rookery.model.schema import Schema
from rookery.routing.brokers.messages import Subscription
from rookery.routing.brokers.zones import Cell, meets

__all__ = ["ZoneStore"]


class ZoneStore:
    """Subscriptions by id, each with the time at which its lease ends."""

    __slots__ = ("_held", "_matcher", "_schema")

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._held: dict[str, tuple[Subscription, int]] = {}
        self._matcher: Matcher | ScanMatcher | None = None

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[tuple[Subscription, int]]:
        return iter(self._held.values())

    def __contains__(self, subscription_id: str) -> bool:
        return subscription_id in self._held

    def add(self, subscription: Subscription, expires: int) -> bool:
        """Store a subscription, or prolong its lease; say whether it is new here."""
        known = self._held.get(subscription.subscription_id)
        if known is not None and known[0].version >= subscription.version:
            self._held[subscription.subscription_id] = (known[0], max(expires, known[1]))
            return False
        self._held[subscription.subscription_id] = (subscription, expires)
        if self._matcher is not None:
            if subscription.subscription_id in self._matcher:
                self._matcher.remove(subscription.subscription_id)
            _compile(self._matcher, subscription)
        return True

    def remove(self, subscription_id: str) -> bool:
        """Forget a subscription; say whether it was here."""
        if self._held.pop(subscription_id, None) is None:
            return False
        if self._matcher is not None and subscription_id in self._matcher:
            self._matcher.remove(subscription_id)
        return True

    def keep(self, cell: Cell) -> None:
        """Forget what does not meet a zone any more: it was split."""
        for subscription, _ in list(self._held.values()):
            if not meets(cell, subscription.lower, subscription.upper):
                self.remove(subscription.subscription_id)

    def part(self, cell: Cell) -> tuple[tuple[Subscription, int], ...]:
        """Return what meets a zone, in the order in which it came."""
        return tuple(entry for entry in self if meets(cell, entry[0].lower, entry[0].upper))

    def expire(self, now: int) -> list[str]:
        """Forget the subscriptions whose lease has ended; return their ids."""
        over = [name for name, (_, expires) in self._held.items() if expires <= now]
        for name in over:
            self.remove(name)
        return over

    def match(self, event: Mapping[str, Any]) -> list[Subscription]:
        """Return the subscriptions that an event satisfies; an event that the schema cannot read satisfies none."""
        if not self._held:
            return []
        if self._matcher is None:
            self._matcher = matcher(self._schema)
            for subscription, _ in self:
                _compile(self._matcher, subscription)
        try:
            found: Iterable[str | int] = self._matcher.match(event)
        except EventError:
            return []
        return [self._held[str(name)][0] for name in found]


def _compile(into: Matcher | ScanMatcher, subscription: Subscription) -> None:
    """Compile a subscription; a peer's that cannot be compiled matches nothing and harms nobody."""
    try:
        into.add(subscription.subscription_id, subscription.where, parameters=subscription.parameters or None)
    except SubscriptionError:
        return
