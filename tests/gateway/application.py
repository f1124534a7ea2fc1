"""Sites in a row or a ring, and plain participants there that write and read quotes, for the tests of gateways."""

from __future__ import annotations

import itertools

from rookery.model import Schema
from rookery.participant.event_types import event_type
from rookery.rtps.events import EndpointMatched, SampleKind, SampleReceived
from rookery.rtps.identity import Guid
from rookery.rtps.qos import Durability, QualityOfService, Reliability
from rookery.simulated.gateways import SimulatedIslands, SimulatedSite

__all__ = ["BEST_EFFORT", "DURABLE", "QUOTES", "TYPE", "VOLATILE", "Application", "chain", "ring"]

QUOTES = Schema(symbol=str, price=float)
TYPE = event_type(QUOTES, type_name="Quote")
VOLATILE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
BEST_EFFORT = QualityOfService(reliability=Reliability.BEST_EFFORT, history_depth=None)
DURABLE = QualityOfService(reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=None)


class Application:
    """One participant; prices tell its samples apart."""

    def __init__(self, site: SimulatedSite) -> None:
        self.member = site.member()
        self.writers: dict[str, Guid] = {}
        self.readers: dict[str, Guid] = {}

    def read(self, topic: str, qos: QualityOfService = VOLATILE) -> None:
        """Make a reader."""
        participant = self.member.participant
        self.readers[topic] = participant.create_reader(topic, "Quote", qos, keyed=False, now=self.member.now)
        self.member.flush()

    def advertise(self, topic: str, qos: QualityOfService = VOLATILE) -> None:
        """Make a writer."""
        participant = self.member.participant
        self.writers[topic] = participant.create_writer(topic, "Quote", qos, keyed=False, now=self.member.now)
        self.member.flush()

    def write(self, topic: str, *prices: float, symbol: str = "ACME") -> None:
        """Write quotes of these prices."""
        for price in prices:
            payload = TYPE.encode({"symbol": symbol, "price": price})
            self.member.participant.write(self.writers[topic], payload, now=self.member.now)
        self.member.flush()

    @property
    def samples(self) -> list[SampleReceived]:
        """What has come."""
        return [event for event in self.member.events if isinstance(event, SampleReceived)]

    @property
    def prices(self) -> list[float]:
        """The prices of what has come, in its order."""
        return [TYPE.decode(one.payload)["price"] for one in self.samples if one.kind is SampleKind.ALIVE]

    @property
    def is_matched(self) -> bool:
        """Whether anything here was ever matched."""
        return any(isinstance(event, EndpointMatched) for event in self.member.events)


def ring(names: str = "abc") -> SimulatedIslands:
    """Join sites in a ring."""
    world = chain(names)
    world.join(names[-1], names[0])
    return world


def chain(names: str, world: SimulatedIslands | None = None) -> SimulatedIslands:
    """Join sites in a row."""
    world = world or SimulatedIslands()
    for name in names:
        world.site(name)
    for one, other in itertools.pairwise(names):
        world.join(one, other)
    return world
