"""What a broker tells the program around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rookery.space.zones import Path

__all__ = [
    "BrokerEvent",
    "BrokerJoined",
    "BrokerLeft",
    "BrokerMessageRejected",
    "CoordinatesMissing",
    "EntryWanted",
    "Isolated",
    "JoinFailed",
    "StatusAsked",
]


@dataclass(frozen=True, slots=True)
class BrokerJoined:
    """The broker owns a zone now."""

    path: Path


@dataclass(frozen=True, slots=True)
class JoinFailed:
    """The broker asked for a zone is gone: `join` again through another one."""

    bootstrap: int


@dataclass(frozen=True, slots=True)
class Isolated:
    """Everyone the broker knew is gone. It may be the last one; if not, `introduce` it to another."""


@dataclass(frozen=True, slots=True)
class EntryWanted:
    """Now and then: `introduce` the broker to one that is found at an entry point of the network.

    Where most of the brokers died within seconds, those left may have made two networks that know nothing of each
    other: this is how they meet.
    """


@dataclass(frozen=True, slots=True)
class BrokerLeft:
    """The broker has handed over all it had; its process may end."""


@dataclass(frozen=True, slots=True)
class BrokerMessageRejected:
    """A peer sent what cannot be: points or boxes of another space."""

    sender: int
    kind: str


@dataclass(frozen=True, slots=True)
class CoordinatesMissing:
    """The broker has no coordinates on the network, and goes by measured round trips; said once."""

    reason: str


@dataclass(frozen=True, slots=True)
class StatusAsked:
    """A client asks how the broker is; whoever drives it knows more of that than the machine, and answers."""

    client: int
    #: Whether it wants a sample of the places of its events too.
    sample: bool = False


BrokerEvent: TypeAlias = (
    BrokerJoined
    | JoinFailed
    | Isolated
    | EntryWanted
    | BrokerLeft
    | BrokerMessageRejected
    | CoordinatesMissing
    | StatusAsked
)
