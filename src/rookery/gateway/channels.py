"""Channels: what the writers of a site are to the other sites, and their stand-ins there.

All writers of a site that share topic, type and the policies that decide a match are one channel. At its own site a
channel that somebody wants has a *tap*: a reader of the gateway that hears the writers. At every site that wants it, it
has a *proxy*: a writer of the gateway with the same policies, which local readers match as they would the real ones.
It announces the type of the writers too, and explains it to who asks.

A reader that has found a proxy must miss nothing from then on, so the proxy is made last: when the source has said that
the writers there know the tap. Samples that come before, and until the readers here know the proxy, wait in a backlog.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from rookery.errors import WireFormatError
from rookery.gateway.messages import Forwarded, Offer
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import WRITER_KEYED, Guid
from rookery.rtps.qos import XCDR1, XCDR2, Durability, QualityOfService, Reliability
from rookery.rtps.xtypes.information import AnnouncedType, TypeInformation, read_information

__all__ = ["TYPE_BYTES", "Channel", "Proxy", "Tap", "channel_of", "channel_of_offer"]

#: Samples that a tap or proxy keeps for late ones where instances cannot be told apart.
KEPT = 1_000
#: Bytes that a proxy holds until its readers know it; beyond it the site of the writer has to wait.
BACKLOG_BYTES = 1 << 20
#: What another site may offer: names as long as discovery allows them (`rtps.limits`), and not too many.
NAME_BYTES = 1_024
MOST_PARTITIONS = 64
#: Bytes of what is said of a type, and of the objects that explain it.
TYPE_BYTES = 1 << 16


class Channel(NamedTuple):
    """What writers must share to be one channel."""

    topic: str
    type_name: str
    keyed: bool
    reliable: bool
    transient_local: bool
    partitions: tuple[str, ...]
    depth: int | None
    representation: int = XCDR1
    #: What the writers announce of their type, as it goes over the wire; empty for nothing.
    type_information: bytes = b""

    @property
    def kind(self) -> tuple[str, str]:
        """The topic and the name of its type."""
        return self.topic, self.type_name

    def quality(self, *, depth: int | None) -> QualityOfService:
        """Return the policies of a tap or proxy."""
        return QualityOfService(
            reliability=Reliability.RELIABLE if self.reliable else Reliability.BEST_EFFORT,
            durability=Durability.TRANSIENT_LOCAL if self.transient_local else Durability.VOLATILE,
            history_depth=depth,
            partitions=self.partitions,
            representations=(self.representation,),
        )

    def announced_type(self, objects: tuple[bytes, ...]) -> AnnouncedType | None:
        """Return the type as a proxy announces it; None if the writers announce none."""
        if not self.type_information:
            return None
        return AnnouncedType(read_information(self.type_information, little=True), objects)

    @property
    def kept(self) -> int:
        """How many samples are kept for late ones."""
        if not self.transient_local:
            return 0
        return KEPT if self.keyed or self.depth is None else min(self.depth, KEPT)

    def offer(self, number: int) -> Offer:
        """Return the channel as it is offered."""
        return Offer(number, *self[:5], list(self.partitions), *self[6:])


def channel_of(writer: EndpointAnnouncement) -> Channel:
    """Return the channel that a writer belongs to."""
    qos = writer.qos
    return Channel(
        writer.topic,
        writer.type_name,
        writer.guid.entity & 0xFF == WRITER_KEYED,
        qos.reliable,
        qos.reliable and qos.durability >= Durability.TRANSIENT_LOCAL,  # durable and best-effort crosses as volatile
        qos.partitions,
        qos.history_depth,
        qos.representations[0],
        _encoded(writer.type_information),
    )


@lru_cache(4_096)  # a site has few types, and is looked at whenever an endpoint comes or goes
def _encoded(information: TypeInformation | None) -> bytes:
    return b"" if information is None else information.encode()


def channel_of_offer(offer: Offer) -> Channel | None:
    """Return the channel that another site offers, or None if no writer can be like that."""
    names = (offer.topic, offer.type_name, *offer.partitions)
    if len(offer.partitions) > MOST_PARTITIONS or max(len(name.encode()) for name in names) > NAME_BYTES:
        return None
    if not offer.topic or not offer.type_name or (offer.depth is not None and offer.depth < 1):
        return None
    if offer.representation not in (XCDR1, XCDR2) or not _is_information(offer.type_information):
        return None
    return Channel(
        offer.topic,
        offer.type_name,
        offer.keyed,
        offer.reliable,
        offer.reliable and offer.transient_local,
        tuple(offer.partitions),
        offer.depth,
        offer.representation,
        offer.type_information,
    )


def _is_information(octets: bytes) -> bool:
    if len(octets) > TYPE_BYTES:
        return False
    try:
        return not octets or read_information(octets, little=True).minimal is not None
    except WireFormatError:
        return False


@dataclass(slots=True)
class Tap:
    """A channel of this site."""

    channel: Channel
    number: int
    reader: Guid | None = None
    #: Who was offered the channel, and who wants it, in the order in which they said so.
    offered: set[str] = field(default_factory=set)
    wanted: dict[str, None] = field(default_factory=dict)
    #: Who waits for word that the writers know the tap: the turn to answer, and when to say so in any case.
    unready: dict[str, tuple[int, int]] = field(default_factory=dict)
    history: deque[bytes] = field(default_factory=deque)


@dataclass(slots=True)
class Proxy:
    """A channel of another site."""

    channel: Channel
    number: int
    writer: Guid | None = None
    #: What the site was answered last: nothing yet, or (wanted, conditions).
    answered: tuple[bool, tuple[str, ...]] | None = None
    turn: int = 0
    #: The objects of the type, as its site has sent them.
    type_objects: tuple[bytes, ...] = ()
    #: Samples that wait for the readers to know the writer, and when they are written in any case.
    backlog: deque[Forwarded] = field(default_factory=deque)
    backlog_bytes: int = 0
    patience: int | None = None
    #: The last sample of each writer: a repetition is known by it.
    seen: dict[bytes, int] = field(default_factory=dict)
    #: Of an old session, and not offered again yet.
    stale: bool = False

    @property
    def is_wanted(self) -> bool:
        """Whether its site was answered that it is wanted."""
        return self.answered is not None and self.answered[0]

    def hold(self, sample: Forwarded) -> bool:
        """Let a sample wait; False if there is no room."""
        if self.backlog and self.backlog_bytes + len(sample.payload) > BACKLOG_BYTES:
            return False
        self.backlog.append(sample)
        self.backlog_bytes += len(sample.payload)
        return True

    def forget(self) -> None:
        """Begin anew, without a writer."""
        self.writer = self.patience = None
        self.backlog.clear()
        self.backlog_bytes = 0
        self.seen.clear()
