"""Who may come in through a port, and as what.

Rule 1: a role is proven, not claimed. With certificates it is the one that the certificate bears; with keys there are
two, the clients' and the brokers', and who has only the first is a client. Where there is neither, everyone who can
reach the port may claim any role, and orders of an operator are taken from this machine alone.
Rule 2: equals say the name of their network, exactly. Guests (clients, operators) need not know it.
Rule 3: the number of a client is a digest of its session's secret. Whoever gets its events learns the number and not
the secret, so nobody else can publish under that number or take its session's place, at whatever broker.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rookery.errors import SettingsError

__all__ = [
    "PRIVILEGED",
    "ROLES",
    "Certificate",
    "certificate_of",
    "certified_role",
    "check_exposure",
    "is_loopback",
    "is_mutual",
    "may_claim",
    "new_secret",
    "session_number",
]

#: What a certificate can make of its holder.
ROLES = ("broker", "client", "operator")
#: Roles that the clients' key does not prove.
PRIVILEGED = frozenset({"broker", "operator"})
#: What the holder of a certificate may claim to be; gateways carry other people's events, as brokers do.
_CLAIMS: Mapping[str, frozenset[str]] = {
    "broker": frozenset({"broker", "client", "island", "overlay"}),
    "operator": frozenset({"operator", "client", "overlay"}),
    "client": frozenset({"client", "overlay"}),
}
_SECRET_BYTES = 32
#: Guessing a secret for a known number costs as many digests each time.
_ROUNDS = 1_000
_SALT = b"rookery session"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a verified certificate says of its holder."""

    name: str
    #: The organizational unit, where `rookery keys` writes the role; "" where there is none.
    unit: str = ""


class RoleSource(Protocol):
    """Says which role a certificate gives its holder."""

    def role_of(self, certificate: Certificate) -> str:
        """Return the role."""


def new_secret() -> bytes:
    """Return the secret of a new session."""
    return os.urandom(_SECRET_BYTES)


def session_number(secret: bytes) -> int:
    """Return the number of the client that has this secret: below 2**63."""
    digest = hashlib.pbkdf2_hmac("sha256", secret, _SALT, _ROUNDS, 8)
    return int.from_bytes(digest, "big") >> 1


def certificate_of(described: Mapping[str, Any] | None) -> Certificate | None:
    """Read what `ssl` says of the other end's certificate; None where it showed none, or none was asked for."""
    if not described:
        return None
    subject = {key: value for part in described.get("subject", ()) for key, value in part}
    return Certificate(str(subject.get("commonName", "")), str(subject.get("organizationalUnitName", "")))


def certified_role(certificate: Certificate) -> str:
    """Return the role that a certificate bears; one that bears none makes a client."""
    return certificate.unit if certificate.unit in ROLES else "client"


def may_claim(role: str, certified: str) -> bool:
    """Tell whether the holder of a certificate for one role may come in under another."""
    return role in _CLAIMS[certified]


def is_mutual(context: ssl.SSLContext | None) -> bool:
    """Tell whether both ends of a link show certificates."""
    return context is not None and context.verify_mode is ssl.CERT_REQUIRED


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_exposure(host: str, *, has_tls: bool, insecure: bool) -> None:
    """Raise `SettingsError` for a port that other machines would reach without TLS, unless that was asked for."""
    if not (has_tls or insecure or is_loopback(host)):
        raise SettingsError(
            f"{host} is reached from other machines: give --certificate, --private-key and --authority "
            "(`rookery keys` makes them), or say --insecure"
        )
