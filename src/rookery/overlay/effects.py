"""What a peer asks of the world: messages to send, timers to set, events to hand over, things to count (spec 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from rookery.overlay.messages import EventId, Message

__all__ = ["Deliver", "Effect", "Introduce", "Note", "Publish", "Send", "SetTimer", "Subscribe"]


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a node."""

    to: int
    message: Message


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `on_timer(timer)` at this time; a later one for the same timer replaces it."""

    timer: str
    at: int


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand an event to the application: its values satisfy a subscription of this peer."""

    event_id: EventId
    payload: Any
    hops: int


@dataclass(frozen=True, slots=True)
class Note:
    """Count something."""

    counter: str
    amount: int = 1


Effect: TypeAlias = Send | SetTimer | Deliver | Note


@dataclass(frozen=True, slots=True)
class Publish:
    """Command: publish an event."""

    payload: Any


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Command: want something else from now on; a set of interests as given at construction."""

    interests: Any


@dataclass(frozen=True, slots=True)
class Introduce:
    """Command: these peers are there too; used to join through, or to find back what a partition cut off."""

    nodes: tuple[int, ...]
