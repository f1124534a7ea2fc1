"""What a live broker is told at its start, and what its peers must have been told as well."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from rookery.brokers.configuration import BrokerConfiguration, BrokerDurability, BrokerProximity
from rookery.errors import SettingsError
from rookery.live.admission import check_exposure, is_mutual
from rookery.live.credentials import Credentials
from rookery.live.rights import Rights
from rookery.live.tcp import Address, LinkLimits
from rookery.space.axes import EventSpace

__all__ = ["BrokerSettings", "parse_address"]

SECOND = 1_000_000
#: Ways over brokers of which each measures how long they take, at each refresh.
_STRETCH_PROBES = 4
#: A host's name or IPv4 address; what has a scheme, a path or a second port is none.
_HOST = re.compile(r"[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """One broker of one topic. Times are in seconds; they, the space and the topic must agree in a network."""

    topic: str
    space: EventSpace
    listen: Address
    #: Brokers to join through; the first broker of a network has none.
    join: tuple[Address, ...] = ()
    #: Seconds in which one of those has to answer: brokers that are started together, or are busy, need a while.
    patience: float = 60.0
    #: The folder of the log; none is needed where nothing is written.
    data: Path | None = None
    durability: BrokerDurability = BrokerDurability.TWO_DISKS
    beat: float = 1.0
    refresh: float = 60.0
    #: Events kept for a subscription whose client is slow or away.
    backlog: int = 100_000
    #: How long the subscriptions of a client that is away are kept.
    detached: float = 3600.0
    #: Events that may be in flight to a client.
    window: int = 16_384
    #: Bytes of events held in memory; what more there is goes to the log, or is refused where there is none.
    memory: int = 512 << 20
    #: Batches and events a second that one client may publish; what is above waits in its socket.
    batches_per_second: int = 20_000
    events_per_second: int = 2_000_000
    #: Subscriptions of one client.
    subscriptions: int = 100_000
    #: What matches events in a zone; brokers of one network may differ in it.
    engine: str = "bitmap"
    #: How often brokers say what their zones carry, and share them anew where that has become uneven; 0 for never. The
    #: same at every broker.
    balance: float = 5.0
    #: How the brokers that carry events to far zones are chosen.
    proximity: BrokerProximity = BrokerProximity.COORDINATES
    #: Into how many zones a level of Spanhop divides one (the seed's m, a power of two); by default as many as the
    #: space has corners, the best there is.
    span: int | None = None
    #: What this broker proves itself with; the key is what clients share.
    credentials: Credentials = field(default_factory=Credentials)
    #: The key that brokers and operators share, where they have no certificates.
    broker_key: bytes | None = None
    #: Who may publish and subscribe; everyone who is let in where nothing is said.
    rights: Rights | None = None
    #: Whether other machines may reach this broker without TLS.
    insecure: bool = False
    limits: LinkLimits = field(default_factory=LinkLimits)

    def __post_init__(self) -> None:
        from rookery.matching import ENGINES  # a client needs this module for addresses alone, and no engine

        if self.engine not in ENGINES:
            raise SettingsError(f"there is no engine {self.engine!r}: say {', '.join(ENGINES)}")
        if self.durability is not BrokerDurability.MEMORY and self.data is None:
            raise SettingsError("a log needs a folder: give --data, or ask for --durability memory")
        if self.span is not None and (self.span < 2 or self.span & (self.span - 1)):
            raise SettingsError(f"a span of {self.span}: say a power of two, from 2 up")
        check_exposure(self.listen[0], has_tls=self.credentials.listening is not None, insecure=self.insecure)
        if self.rights is not None and not is_mutual(self.credentials.listening):
            raise SettingsError(
                "rights go by the names in certificates: give --certificate, --private-key and --authority"
            )
        if not 0 <= self.balance < math.inf:
            raise SettingsError("--balance is a time in seconds, or 0 for brokers whose zones stay")
        if not self.beat > 0 or self.refresh < self.beat:
            raise SettingsError("the beat must be positive, and subscriptions not be sent again more often than that")

    def configuration(self) -> BrokerConfiguration:
        """Return what the machine is told."""
        return BrokerConfiguration(
            space=self.space,
            topic=self.topic,
            beat=round(self.beat * SECOND),
            refresh=round(self.refresh * SECOND),
            ancestors=round(self.refresh * SECOND),
            durability=self.durability,
            backlog=self.backlog,
            detached=round(self.detached * SECOND),
            window=self.window,
            memory=self.memory,
            most_subscriptions=self.subscriptions,
            engine=self.engine,
            bits=None if self.span is None else self.span.bit_length() - 1,
            balance=round(self.balance * SECOND),
            proximity=self.proximity,
            stretch_probes=_STRETCH_PROBES,
        )

    def network(self) -> str:
        """Return what all brokers of a network must have in common, as the links compare it."""
        axes = [axis.plain() for axis in self.space.axes]
        common = [self.topic, self.space.schema.to_dict(), axes, self.beat, self.refresh]
        if self.span is not None:
            common.append(self.span)
        return hashlib.sha256(json.dumps(common).encode()).hexdigest()[:32]


def parse_address(text: str) -> Address:
    """Read `host:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or not _HOST.fullmatch(host) or not (port.isascii() and port.isdigit()) or int(port) >= 1 << 16:
        raise SettingsError(f"{text!r} is no address: write host:port, for example 127.0.0.1:7401")
    return ("127.0.0.1" if host == "localhost" else host), int(port)
