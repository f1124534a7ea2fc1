"""How a participant is set up: everything it needs to know before its first datagram.

Nothing here is read from the machine: the addresses are given by whoever owns the sockets, the epoch by whoever owns
the clock, the prefix by whoever has randomness.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rookery.discovery.protocols import require_protocol
from rookery.errors import TopicError
from rookery.rtps.identity import PREFIX_LENGTH, UNKNOWN_PREFIX, VENDOR
from rookery.rtps.limits import Limits
from rookery.rtps.locators import Address, AllowedNetworks
from rookery.rtps.parameters import Parameter
from rookery.rtps.qos import USER_DATA_BYTES

__all__ = [
    "MULTICAST_GROUP",
    "PARTICIPANT_INDICES",
    "ParticipantConfiguration",
    "data_group",
    "multicast_address",
    "new_prefix",
    "peer_addresses",
    "well_known_port",
]

#: The group in which participants announce themselves (RTPS 2.5, 9.6.2.3).
MULTICAST_GROUP = "239.255.0.1"
_LARGEST_DOMAIN = 232
_LARGEST_PORT = 65_535
#: Participants of one host that are looked for when it is named without a port; other stacks look for four to ten.
PEER_INDICES = 10
#: Participants of one host that have a port of their own; whoever comes later takes any, and is found by multicast.
PARTICIPANT_INDICES = 120
_SHORTEST_KEY = 16


def multicast_address(domain_id: int) -> Address:
    """Return where a domain's announcements go; raise for a domain whose port would not fit."""
    if not 0 <= domain_id <= _LARGEST_DOMAIN:
        raise TopicError(f"domain {domain_id}: choose one of 0 to {_LARGEST_DOMAIN}")
    return Address(MULTICAST_GROUP, 7_400 + 250 * domain_id)


def data_group(domain_id: int) -> Address:
    """Return where samples for many are sent in a domain (RTPS 2.5, 9.6.2.3)."""
    group = multicast_address(domain_id)
    return Address(group.host, group.port + 1)


def well_known_port(domain_id: int, index: int) -> int:
    """Return the port at which the participant of an index is looked for (RTPS 2.5, 9.6.2.3); 0 where there is none."""
    port = 7_410 + 250 * domain_id + 2 * index
    return port if port <= _LARGEST_PORT else 0


def peer_addresses(host: str, domain_id: int) -> tuple[Address, ...]:
    """Return where the participants of a host are looked for that are known by the host alone."""
    ports = (well_known_port(domain_id, index) for index in range(PEER_INDICES))
    return tuple(Address(host, port) for port in ports if port)


def new_prefix(random: bytes) -> bytes:
    """Return a participant's prefix from ten random octets: it begins with the vendor id (RTPS 2.5, 9.3.1.5)."""
    return VENDOR + random[: PREFIX_LENGTH - len(VENDOR)]


@dataclass(frozen=True, slots=True)
class ParticipantConfiguration:
    """The settings of one participant; durations are microseconds."""

    prefix: bytes
    """Twelve octets that no other participant has; see `new_prefix`."""
    unicast: Address
    """Where this participant is reached."""
    further_unicast: tuple[Address, ...] = ()
    """Where else it is reached, on further interfaces."""
    domain_id: int = 0
    announce_to: tuple[Address, ...] | None = None
    """Where announcements go; None means the multicast address of the domain, and who calls on us is told anyway."""
    multicast_data: bool = False
    """Whether samples that several want who hear the domain's group are sent there once, and are heard there."""
    epoch: int = 0
    """What to add to `now` to get microseconds since 1970, for the timestamps of samples."""
    lease: int = 10_000_000
    """How long the others believe in this participant without hearing from it."""
    period: int = 3_000_000
    """How often the announcement is repeated: three can be lost before the lease ends."""
    quick_repeats: tuple[int, ...] = (100_000, 500_000)
    """Extra announcements after the start, for those that lose the first."""
    name: str = ""
    user_data: bytes = b""
    """What the owner says of this participant, for others to see."""
    networks: AllowedNetworks = field(default_factory=AllowedNetworks)
    """Where peers may live; loopback unless said otherwise."""
    limits: Limits = field(default_factory=Limits)
    datagram_bytes: int = 1_400
    vendor_parameters: tuple[Parameter, ...] = ()
    discovery: str = "simple"
    """The discovery protocol: what is announced, and to whom; see `rookery.discovery.protocols`."""
    observer: bool = False
    """Whether this participant wants to hear of every endpoint, as tools that show the graph do."""
    pre_shared_key: bytes | None = field(default=None, repr=False)
    """Seals announcements and hides topic names in summaries; at least 16 octets, the same in the whole domain."""

    def __post_init__(self) -> None:
        if len(self.prefix) != PREFIX_LENGTH or self.prefix == UNKNOWN_PREFIX:
            raise TopicError(f"a prefix is {PREFIX_LENGTH} octets that are not all zero")
        multicast_address(self.domain_id)
        require_protocol(self.discovery)
        if len(self.user_data) > USER_DATA_BYTES:
            raise TopicError(f"user data of {len(self.user_data)} bytes; give at most {USER_DATA_BYTES}")
        if self.pre_shared_key is not None and len(self.pre_shared_key) < _SHORTEST_KEY:
            raise TopicError(f"a pre-shared key has at least {_SHORTEST_KEY} octets; give a random one")
