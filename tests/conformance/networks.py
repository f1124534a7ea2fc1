"""What the conformance suite asks of a network, live or in a world, and what all of them carry.

To add one, write a class with these verbs and name it in `live.py` or `worlds.py`. Clients are known by numbers; those
of different numbers attach to different nodes where there are several.
"""

from __future__ import annotations

from typing import Any, Protocol

from rookery import Schema
from rookery.space.grid import CategoricalAxis, Grid, NumericAxis

__all__ = ["CLIENTS", "GRID", "SCHEMA", "SPACE", "TOPIC", "Event", "Network"]

SCHEMA = Schema(symbol=str, price=float, number=int)
TOPIC = "quotes"
CLIENTS = 3
#: How the brokers and the overlay cut the space.
SPACE = "price:0:1000,symbol"
GRID = Grid([CategoricalAxis("symbol", ("ACME", "BOLT", "ZULU")), NumericAxis("price", tuple(range(0, 1001, 125)))])

Event = dict[str, Any]


class Network(Protocol):
    """A network with three clients."""

    #: Whether events can have NULLs; where not, they are refused.
    has_null: bool
    #: Whether conditions can have parameters.
    has_parameters: bool

    async def subscribe(self, client: int, where: str | None, parameters: tuple[object, ...] = ()) -> Any:
        """Subscribe a client to a condition; return a name for that. Raise where it cannot be."""

    async def unsubscribe(self, subscription: Any) -> None:
        """End a subscription."""

    async def settle(self) -> None:
        """Return when every event that any client publishes from now on reaches every subscription."""

    async def publish(self, client: int, *events: Event) -> None:
        """Publish events; return when all are accepted."""

    async def received(self, subscription: Any, count: int) -> list[Event]:
        """Return all that a subscription has been given: so many at least, and what comes for a while after that."""
