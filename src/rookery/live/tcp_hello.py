"""What the two ends of a link say to each other before and beside the frames (`tcp.py`).

A hello says who an end is and what network it belongs to; a client's has the secret that its number is made of. With
a pre-shared key both prove that they have it: a digest with the key over both challenges, both identities, the claimed
role and the side, so that no proof can be sent back, used twice or used for another role.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from rookery.live.admission import (
    PRIVILEGED,
    ROLES,
    Certificate,
    RoleSource,
    certified_role,
    is_loopback,
    is_mutual,
    may_claim,
    session_number,
)
from rookery.live.unfinished import UnfinishedFrames

__all__ = ["MAGIC", "Beat", "Control", "Goodbye", "Hello", "KeyProof", "LinkLimits", "LinkSettings", "proof", "refusal"]

MAGIC = "rookery/2"


@dataclass(frozen=True, slots=True)
class LinkLimits:
    """What a link will bear; bytes and seconds."""

    #: One frame. A zone handed over with its subscriptions is one frame, so this is generous.
    frame: int = 32 << 20
    #: Everything before the hello (and the proof of the key) is complete.
    unauthenticated: int = 4096
    handshake: float = 5.0
    #: Links that a listener accepts, and those of one address, or of one certificate's name.
    links: int = 4096
    links_each: int = 1024
    #: How many may be without a complete hello, in all and of one address; beyond that the oldest is let go.
    strangers: int = 256
    strangers_each: int = 32
    #: Bytes of frames that have begun and not ended, over all links; beyond that the largest is let go.
    unfinished: int = 64 << 20
    #: Bytes waiting to be written above which a link is congested, and above which it is given up.
    congested: int = 1 << 20
    hopeless: int = 256 << 20


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """What one end is and wants; the same object serves all links of a process."""

    #: Who this end is: any number below 2**63.
    identity: int
    #: What kind of node this end is; told to the other one.
    role: str = "peer"
    #: What both ends must agree on; a guest says "" and takes whatever the other end has.
    network: str = ""
    #: The roles that may come in beside this end's own, without knowing the network's name.
    guests: frozenset[str] = frozenset()
    #: What a guest's number is made of.
    secret: bytes = b""
    #: The key that clients and equals prove; brokers and operators prove the other one, if nothing better.
    key: bytes | None = None
    broker_key: bytes | None = None
    #: Which role a certificate gives; the one that it bears, if nothing is said.
    roles: RoleSource | None = None
    #: Seconds between signs of life, and of silence after which the other end is taken for dead.
    heartbeat: float = 2.0
    silence: float = 6.0
    limits: LinkLimits = field(default_factory=LinkLimits)
    #: For TLS: the context of the dialing and of the listening side.
    tls_dial: ssl.SSLContext | None = None
    tls_listen: ssl.SSLContext | None = None
    #: Of the process: why links were closed, and how often.
    faults: Counter[str] = field(default_factory=Counter)
    #: Of the process: frames that have begun, by their links.
    unfinished: UnfinishedFrames = field(default_factory=UnfinishedFrames)

    def key_for(self, role: str) -> bytes | None:
        """Return what the dialing end of a link must prove to have, where it claims a role."""
        return self.broker_key if role in PRIVILEGED else self.key

    def role_of(self, certificate: Certificate) -> str:
        """Return the role that a certificate gives its holder here."""
        return certified_role(certificate) if self.roles is None else self.roles.role_of(certificate)

    def hello(self, nonce: bytes, *, dialing: bool) -> Hello:
        """Return what this end says first."""
        roles = (self.role,) if dialing else (self.role, *sorted(self.guests))
        keyed = tuple(role for role in roles if self.key_for(role) is not None)
        return Hello(MAGIC, self.identity, self.role, self.network, nonce, keyed, self.secret if dialing else b"")


class Hello(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """Who I am, and a challenge."""

    magic: str
    identity: int
    role: str
    network: str
    nonce: bytes
    #: The roles that are proven by a key, as far as this end is concerned.
    keyed: tuple[str, ...]
    secret: bytes = b""


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


def refusal(
    settings: LinkSettings, hello: Hello, *, dialing: bool, certificate: Certificate | None, host: str
) -> str | None:
    """Return why the other end of a link is turned away, before any proof of a key; None where it is not."""
    if hello.magic != MAGIC or not 0 <= hello.identity < 1 << 63:
        return "malformed"
    is_guest = not dialing and hello.role in settings.guests
    if not dialing and not is_guest and hello.role != settings.role:
        return "unknown role"
    takes_any = (dialing and not settings.network) or (is_guest and not hello.network)
    if hello.network != settings.network and not takes_any:
        return "another network"
    if is_guest and hello.identity != session_number(hello.secret):
        return "another's number"
    if certificate is None and is_mutual(settings.tls_dial if dialing else settings.tls_listen):
        return "no certificate"
    # Who is dialed has shown a certificate for its address; one without any role is as good as the authority.
    bears_role = certificate is not None and (not dialing or certificate.unit in ROLES or settings.roles is not None)
    if certificate is not None and bears_role and not may_claim(hello.role, settings.role_of(certificate)):
        return "not certified for this role"
    claimed = settings.role if dialing else hello.role
    key = settings.key_for(claimed)
    if (claimed in hello.keyed) != (key is not None):
        return "key expected" if key is not None else "no key here"
    if not dialing and key is None and certificate is None and claimed in PRIVILEGED:
        if settings.key is not None:
            return "a client's key proves no other role"
        if claimed == "operator" and not is_loopback(host):
            return "orders are taken from this machine alone"
    return None


def proof(key: bytes, *, side: str, dialing: Hello, listening: Hello) -> bytes:
    """Return what one side shows to prove that it has the key."""
    ends = (dialing.nonce, listening.nonce, dialing.identity, listening.identity, dialing.role, listening.network)
    return hmac.new(key, msgspec.msgpack.encode((side, *ends)), hashlib.sha256).digest()
