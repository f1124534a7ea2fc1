"""What a broker is told at its birth."""

from __future__ import annotations

from dataclasses import dataclass

from rookery.space.axes import EventSpace

__all__ = ["BrokerConfiguration"]

SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class BrokerConfiguration:
    """The space is the topic's; the times (microseconds) must be the same at every broker."""

    space: EventSpace
    #: Cuts per level of Spanhop, log2 of the seed's m; None means the dimensions of the space, the best there is.
    bits: int | None = None
    #: T of the specification: how often a broker says that it is there. All that is periodic happens at a beat.
    beat: int = 5 * SECOND
    #: Beats of silence after which a broker is taken for dead.
    silence: int = 3
    #: How often an access broker sends its clients' subscriptions again.
    refresh: int = 60 * SECOND
    #: How often the residents of the ancestors' neighbors are looked up again.
    ancestors: int = 60 * SECOND
    #: Residents kept per entry of the ancestor queue.
    residents: int = 4
    #: Points a newcomer looks at before it joins at the most loaded one.
    choices: int = 2

    #: The box of network coordinates that the landmarks published, as corners; None where brokers have no coordinates.
    extent: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @property
    def level_bits(self) -> int:
        """Cuts per level."""
        return self.space.dimensions if self.bits is None else self.bits

    @property
    def lease(self) -> int:
        """How long a subscription lives without being sent again."""
        return 3 * self.refresh
