"""Publish and subscribe: the one client interface of every router between nodes.

    async with client.subscribe("quotes", "price < 10") as events:
        async for event in events:
            ...
    client.publish("quotes", {"symbol": "ACME", "price": 9.5})
    await client.flush("quotes")

`publish` does not wait: what cannot be sent on waits in the client, and when too much waits `publish` raises
`HistoryFullError`; `flush` waits until every event is acknowledged. To enter a subscription's `async with` waits until
it is in force: every event published from then on is delivered. What an acknowledgment is worth is the router's to say.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Protocol

__all__ = ["Events", "PublishSubscribe"]


class Events(Protocol):
    """The events of one subscription, as they come, each once."""

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """Iterate over the events."""
        ...

    async def __anext__(self) -> dict[str, Any]:
        """Return the next event; end when the subscription is over."""
        ...

    async def __aenter__(self) -> Events:
        """Wait until the subscription is in force."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the subscription."""
        ...


class PublishSubscribe(Protocol):
    """A client of some router: flooding, the K-D brokers, the overlay."""

    def subscribe(self, topic: str, where: str | None = None) -> Events:
        """Subscribe to the events of a topic that satisfy a WHERE clause; all of them without one."""
        ...

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event to everyone who wants it."""
        ...

    async def flush(self, topic: str, *, seconds: float = 10.0) -> None:
        """Wait until all that was published is acknowledged; raise `TimeoutError` if that takes longer."""
        ...

    async def close(self) -> None:
        """Leave."""
        ...
