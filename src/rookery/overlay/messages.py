"""What peers of the overlay say to each other (spec 2.4 to 2.7). One struct for each message, tagged by a number.

Structs are encoded by `encode` as msgpack arrays; the simulator passes them by reference. Octets that are no message
make `decode` return None: a peer's mistake is counted, never raised.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from rookery.overlay.identity import Descriptor

__all__ = [
    "CellEvent",
    "Cluster",
    "ClusterJoin",
    "EventId",
    "Failed",
    "Find",
    "Found",
    "Handover",
    "Inject",
    "Injected",
    "Join",
    "JoinReply",
    "Leave",
    "LinkCorrection",
    "LinkHeartbeat",
    "LinkRequest",
    "Lookup",
    "LookupReply",
    "MemberAlive",
    "Message",
    "Ping",
    "Pong",
    "Primary",
    "Redirect",
    "Returned",
    "RingEvent",
    "Unlink",
    "decode",
    "encode",
]

#: Publisher and its sequence number.
EventId: TypeAlias = tuple[int, int]
Table: TypeAlias = tuple[Descriptor, ...]


class CellEvent(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """An event on its way through the audience of its cell.

    `multicast` forbids covering links to the receiver. `arc_end` (random ID, node) is set in `arc` mode: the receiver
    alone answers for the part of the circle from itself up to there.
    """

    event_id: EventId
    cell: int
    payload: Any
    hop: int
    multicast: bool = False
    arc_end: tuple[int, int] | None = None


class RingEvent(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """An event inside a cluster; the receiver passes it on to `targets`."""

    event_id: EventId
    cell: int
    payload: Any
    hop: int
    targets: tuple[int, ...]


class Inject(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """An event looking for the first peer that wants its cell; by metric it carries where it has been."""

    event_id: EventId
    cell: int
    payload: Any
    origin: int
    visited: tuple[int, ...] = ()
    path: tuple[int, ...] = ()


class Injected(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The event has been taken in by `member`."""

    event_id: EventId
    cell: int
    member: Descriptor


class Join(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """A new peer, on its way to its place: by position (`sound`), or down the metric to its residual (`paper`)."""

    origin: Descriptor
    residual: frozenset[int]
    hops_left: int
    request: int


class JoinReply(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """Who stands there, and whom it knows."""

    own: Descriptor
    table: Table
    request: int


class LinkRequest(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """I have chosen you; or (`chosen` false) you cover me, stand next to me, and should choose me."""

    own: Descriptor
    chosen: bool
    adjacent: frozenset[int]
    """The cells on whose rings the sender takes us to stand next to it."""
    parent_only: bool = False


class LinkCorrection(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """We are not adjacent on some ring you may think so of: these stand nearer to you."""

    near: Table


class Unlink(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """I no longer choose you; or (`stranger`) I did not know that there was a link."""

    stranger: bool = False


class Redirect(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """I have too many children: let this one, which covers you too, be your parent."""

    child: Descriptor


class LinkHeartbeat(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """I am alive, and choose you or not; my table, when it changed since the last one you were sent; my epoch."""

    chosen: bool
    table: Table | None
    epoch: int = 0


class Ping(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """Are you alive? Asked of fingers, which do not know that they are fingers."""


class Pong(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """I am, and this is me now."""

    own: Descriptor


class Failed(msgspec.Struct, frozen=True, array_like=True, tag=14):
    """A peer has been silent for too long."""

    node: int


class Leave(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """I go; these were my links."""

    table: Table


class Find(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """Walk the rings of these cells to the place of `origin`."""

    origin: Descriptor
    cells: frozenset[int]
    hops_left: int
    request: int


class Found(msgspec.Struct, frozen=True, array_like=True, tag=17):
    """For these cells, these stand around your place."""

    cells: frozenset[int]
    near: Table
    request: int


class Lookup(msgspec.Struct, frozen=True, array_like=True, tag=18):
    """On the shared ring, to the owner of a block of cells: who holds these?

    `register`: note me as a contact. `claim`: note me as the primary of my cells, unless there is one already (other
    than `replaces`, who is gone).
    """

    block: int
    cells: frozenset[int]
    origin: Descriptor
    register: bool
    claim: bool
    hops_left: int
    request: int
    replaces: int | None = None


class LookupReply(msgspec.Struct, frozen=True, array_like=True, tag=19):
    """Live holders of each cell, and who is primary of the asker's cells."""

    block: int
    owner: Descriptor
    contacts: dict[int, Table]
    primary: Descriptor | None
    request: int


class Handover(msgspec.Struct, frozen=True, array_like=True, tag=20):
    """Entries of the directory for who owns them now, or as a copy for who would own them next."""

    contacts: dict[int, Table]
    claims: Table
    is_copy: bool = False


class ClusterJoin(msgspec.Struct, frozen=True, array_like=True, tag=21):
    """I want the very cells you want: take me into your cluster."""

    origin: Descriptor


class Cluster(msgspec.Struct, frozen=True, array_like=True, tag=22):
    """From the primary to a member: the members in the order of joining, the outer links to copy, more ways out."""

    primary: Descriptor
    members: Table
    table: Table
    acquaintances: tuple[int, ...] = ()


class MemberAlive(msgspec.Struct, frozen=True, array_like=True, tag=23):
    """From a member to the primary."""

    own: Descriptor


class Primary(msgspec.Struct, frozen=True, array_like=True, tag=24):
    """The cluster at this place of the circle is now spoken for by `new`."""

    old: int
    new: Descriptor


class Returned(msgspec.Struct, frozen=True, array_like=True, tag=25):
    """I cannot answer for this arc, which began at `position`: I am no holder of the cell any more."""

    event_id: EventId
    cell: int
    payload: Any
    hop: int
    arc_end: tuple[int, int]
    random_id: int
    node: int

    @property
    def position(self) -> int:
        """Where on the circle the arc begins."""
        return self.random_id << 64 | self.node


Message: TypeAlias = (
    CellEvent
    | RingEvent
    | Inject
    | Injected
    | Join
    | JoinReply
    | LinkRequest
    | LinkCorrection
    | Unlink
    | Redirect
    | LinkHeartbeat
    | Ping
    | Pong
    | Failed
    | Leave
    | Find
    | Found
    | Lookup
    | LookupReply
    | Handover
    | ClusterJoin
    | Cluster
    | MemberAlive
    | Primary
    | Returned
)

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    """Return the octets of a message."""
    return _ENCODER.encode(message)


def decode(data: bytes) -> Message | None:
    """Return the message, or None where the octets are none."""
    try:
        message: Message = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError):
        return None
    return message
