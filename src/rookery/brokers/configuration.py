"""What a broker is told at its birth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rookery.space.axes import EventSpace

__all__ = ["BALANCE_EVENTS", "BrokerConfiguration", "BrokerDurability", "BrokerProximity"]

SECOND = 1_000_000
#: Events for each zone between two looks from which on loads say anything, unless a network has it otherwise.
BALANCE_EVENTS = 32


class BrokerDurability(Enum):
    """When a batch is accepted. Whatever is weaker than two disks has to be asked for."""

    #: On the owner's disk and on its backup's.
    TWO_DISKS = "two-disks"
    #: On the owner's disk: lost with it, and unavailable until the owner is back.
    ONE_DISK = "one-disk"
    #: Taken by the owner: lost if it crashes.
    MEMORY = "memory"


class BrokerProximity(Enum):
    """How a broker chooses among the residents of a zone."""

    #: By coordinates on the network, then by measured round trips among those that seem closest.
    COORDINATES = "coordinates"
    #: By measured round trips, among the residents that it happens to know.
    MEASURED = "measured"
    #: Not at all: whoever was heard of last.
    NONE = "none"


@dataclass(frozen=True, slots=True)
class BrokerConfiguration:
    """The space is the topic's; the times (microseconds) must be the same at every broker."""

    space: EventSpace
    #: The topic whose events these are, as clients are told it.
    topic: str = ""
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

    #: The engine that matches events in a zone, as `rookery.matcher` takes it; brokers of one network may differ in it.
    engine: str = "bitmap"

    #: How often brokers say what their zones carry, so that the load is shared anew where it has become uneven; 0 for
    #: never.
    balance: int = 0
    #: Events for each zone in that time from which on loads say anything.
    balance_events: int = BALANCE_EVENTS
    #: How residents are chosen.
    proximity: BrokerProximity = BrokerProximity.NONE
    #: Random points whose owners are looked up at each refresh of the residents, to see how long the way there takes.
    stretch_probes: int = 0
    #: The box of network coordinates of brokers that are told theirs; None where they find them, or have none.
    extent: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    #: When a batch is accepted.
    durability: BrokerDurability = BrokerDurability.TWO_DISKS
    #: Events that an owner keeps for a subscription whose client is slow or away; the oldest go first.
    backlog: int = 100_000
    #: How long an access broker keeps the subscriptions of a client that is away.
    detached: int = 3600 * SECOND
    #: Events that may be in flight to a client.
    window: int = 16_384
    #: Batches that an owner has in flight before it refuses more.
    most_in_flight: int = 1 << 18

    #: Bytes of events that a broker holds in memory; what is above half of that goes to the log (`spilling.py`).
    memory: int = 512 << 20
    #: Beats after which a client that has taken nothing is let go, where others wait for its share of that.
    slow: int = 5
    #: Subscriptions of one client.
    most_subscriptions: int = 100_000

    #: A matching of so many events, or of fewer where conditions have to be compiled, is done by a `Compute`: about ten
    #: milliseconds.
    compute_from: int = 8192

    @property
    def level_bits(self) -> int:
        """Cuts per level."""
        return self.space.dimensions if self.bits is None else self.bits

    @property
    def lease(self) -> int:
        """How long a subscription lives without being sent again."""
        return 3 * self.refresh

    @property
    def grace_period(self) -> int:
        """How long after a takeover every living access broker has sent its subscriptions to the zone again."""
        return 2 * self.refresh + 4 * self.beat
