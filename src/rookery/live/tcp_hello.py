"""What the two ends of a link say to each other before and beside the frames (`tcp.py`).

A hello says who an end is and what network it belongs to. With a pre-shared key both prove that they have it: a digest
with the key over both challenges, both identities and the side, so that no proof can be sent back or used twice.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

__all__ = ["MAGIC", "Beat", "Control", "Goodbye", "Hello", "KeyProof", "LinkLimits", "LinkSettings", "proof"]

MAGIC = "rookery/1"


@dataclass(frozen=True, slots=True)
class LinkLimits:
    """What a link will bear; octets and seconds."""

    #: One frame. A zone handed over with its subscriptions is one frame, so this is generous.
    frame: int = 32 << 20
    #: Everything before the hello (and the proof of the key) is complete.
    unauthenticated: int = 4096
    handshake: float = 5.0
    #: Links that a listener accepts, and how many of them may be without a complete hello.
    links: int = 1024
    strangers: int = 64
    #: Octets waiting to be written above which a link is congested, and above which it is given up.
    congested: int = 1 << 20
    hopeless: int = 256 << 20


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """What one end is and wants; the same object serves all links of a process."""

    #: Who this end is: any number below 2**63.
    identity: int
    #: What kind of node this end is; told to the other one.
    role: str = "peer"
    #: What both ends must agree on, "" for whatever the other end has.
    network: str = ""
    key: bytes | None = None
    #: Seconds between signs of life, and of silence after which the other end is taken for dead.
    heartbeat: float = 2.0
    silence: float = 6.0
    limits: LinkLimits = field(default_factory=LinkLimits)
    #: For TLS: the context of the dialing and of the listening side.
    tls_dial: ssl.SSLContext | None = None
    tls_listen: ssl.SSLContext | None = None
    #: Of the process: why links were closed, and how often.
    faults: Counter[str] = field(default_factory=Counter)


class Hello(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Who I am, and a challenge."""

    magic: str
    identity: int
    role: str
    network: str
    nonce: bytes
    keyed: bool


class KeyProof(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """I have the key."""

    digest: bytes


class Beat(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """I am here, and have so many frames of yours."""

    received: int


class Goodbye(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """I close, and why."""

    reason: str


Control: TypeAlias = Hello | KeyProof | Beat | Goodbye


def proof(key: bytes, *, side: str, dialing: Hello, listening: Hello) -> bytes:
    """Return what one side shows to prove that it has the key."""
    ends = (dialing.nonce, listening.nonce, dialing.identity, listening.identity, listening.network)
    return hmac.new(key, msgspec.msgpack.encode((side, *ends)), hashlib.sha256).digest()
