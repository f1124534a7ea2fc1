"""What the gateways of islands say to each other.

Four messages travel between neighbors. A `Greeting` opens a link. A `SiteState` says what one site is: its neighbors
and a summary of what its readers want; it is passed on to everyone, once. An `Envelope` carries a body from one site to
others over as many sites as lie between, and an `Acknowledgment` says how far it has come.

Five bodies travel in envelopes, from one site to another. An `Offer` says that a site has writers of something that the
other seems to want, a `Want` answers, a `Ready` says that from here on nothing is missed, a `Forwarded` is a sample,
and a `Withdraw` ends it.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = [
    "BEGIN_ANEW",
    "MOST_HOPS",
    "Acknowledgment",
    "Body",
    "Envelope",
    "Forwarded",
    "Greeting",
    "Offer",
    "Ready",
    "Recipient",
    "SiteState",
    "Want",
    "Withdraw",
    "decode_body",
    "decode_message",
    "encode",
]

#: Sites that an envelope may pass: more than any sensible backbone has between two sites.
MOST_HOPS = 16
#: The number of an acknowledgment that says: this session is forgotten here, begin another.
BEGIN_ANEW = -1


class Greeting(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Who is at this end of the link."""

    site: str
    incarnation: int


class SiteState(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """What a site is, as it says itself; a higher (incarnation, version) replaces a lower one."""

    site: str
    incarnation: int
    version: int
    neighbors: list[str]
    #: The container of a filter over what its readers want (`rookery.filters`).
    summary: bytes


class Recipient(msgspec.Struct, frozen=True, array_like=True):
    """One receiver of an envelope, and the envelope's place in the stream to that receiver.

    The stream is for one incarnation of the site: the next one knows nothing of what came before.
    """

    site: str
    session: int
    number: int
    incarnation: int


class Envelope(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """A body on its way to some sites."""

    origin: str
    hops: int
    to: list[Recipient]
    body: bytes


class Acknowledgment(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """`origin` has of the stream of `to` everything before `number`; or has forgotten it (`BEGIN_ANEW`)."""

    origin: str
    to: str
    session: int
    number: int
    hops: int


Message: TypeAlias = Greeting | SiteState | Envelope | Acknowledgment


class Offer(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """There are writers here of this; `channel` names them in later messages."""

    channel: int
    topic: str
    type_name: str
    keyed: bool
    reliable: bool
    transient_local: bool
    partitions: list[str]
    depth: int | None
    #: The version of XCDR that the writers send, and what they announce of their type.
    representation: int = 0
    type_information: bytes = b""


class Withdraw(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """The writers of a channel are gone."""

    channel: int


class Want(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Whether the samples of a channel are wanted, and which: those that satisfy one of the conditions, or all."""

    channel: int
    wanted: bool
    conditions: list[str]
    #: The schema (as a dict) that the conditions are about; without conditions empty.
    schema: dict[str, object]
    #: Counts the wants of a channel; the `Ready` that answers this one has the same.
    turn: int


class Forwarded(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """A sample, with the writer it comes from and its number there, by which a repetition is known."""

    channel: int
    writer: bytes
    sequence: int
    kind: int
    key_hash: bytes
    payload: bytes


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """The writers of a channel know that it is wanted: what they write from now on is sent."""

    channel: int
    turn: int
    #: The objects of the type, for the proxy to explain it; none where the writers have not.
    type_objects: list[bytes] = []


Body: TypeAlias = Offer | Withdraw | Want | Forwarded | Ready

_messages: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_bodies: msgspec.msgpack.Decoder[Body] = msgspec.msgpack.Decoder(Body)
_encoder = msgspec.msgpack.Encoder()
#: What a decoder raises at bytes that are no message; text that is no UTF-8 is not an error of its own to msgspec.
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError)


def encode(message: Message | Body) -> bytes:
    """Return the bytes of a message or body."""
    return _encoder.encode(message)


def decode_message(data: bytes) -> Message | None:
    """Return the message of a frame, or None if it is none."""
    try:
        return _messages.decode(data)
    except _MALFORMED:
        return None


def decode_body(data: bytes) -> Body | None:
    """Return the body of an envelope, or None if it is none."""
    try:
        return _bodies.decode(data)
    except _MALFORMED:
        return None
