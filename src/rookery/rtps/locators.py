"""Where a participant can be reached, and which of the addresses that it names are believed.

A locator is a kind, a port and sixteen octets; for UDP over IPv4 the last four are the address. A packet can name any
address as its sender's: whoever believes all of them is a tool for attacking third parties. So an address outside the
allowed networks is not kept, nor is a port that is 0 or too large, nor a multicast or unspecified address.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from typing import Final, NamedTuple

from rookery.rtps.limits import Counters
from rookery.rtps.octets import Cursor

__all__ = ["LOOPBACK", "Address", "AllowedNetworks", "Locator", "decode_locator"]

LOOPBACK: Final = (IPv4Network("127.0.0.0/8"),)
_UDP_V4: Final = 1
_INVALID: Final = -1


class Address(NamedTuple):
    """A UDP endpoint, as sockets have it."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Locator(NamedTuple):
    """The wire's form of an address."""

    kind: int
    port: int
    octets: bytes

    @classmethod
    def of(cls, address: Address) -> Locator:
        """Return the locator of a UDP address."""
        return cls(_UDP_V4, address.port, bytes(12) + IPv4Address(address.host).packed)

    def encode(self, *, little: bool = True) -> bytes:
        """Return the twenty-four octets of the wire."""
        return struct.pack("<iI" if little else ">iI", self.kind, self.port) + self.octets


def decode_locator(cursor: Cursor) -> Locator:
    """Read a locator of any kind."""
    return Locator(cursor.i32(), cursor.u32(), cursor.take(16))


@dataclass(frozen=True, slots=True)
class AllowedNetworks:
    """The networks in which peers may live."""

    networks: tuple[IPv4Network, ...] = LOOPBACK

    def allows(self, host: str) -> bool:
        """Say whether a host lies in one of the networks and is one host."""
        address = IPv4Address(host)
        if address.is_multicast or address.is_unspecified:
            return False
        return any(address in network for network in self.networks)

    def addresses(self, locators: Iterable[Locator], *, at_most: int, counters: Counters) -> tuple[Address, ...]:
        """Return the believable UDP addresses among the locators, each once; count the others."""
        given = tuple(locators)
        # A stranger's list may be long: what is kept for all is no longer than what is kept of one peer.
        found, faults = (_shared if len(given) <= at_most else _believed)(self, given, at_most)
        for fault in faults:
            counters[fault] += 1
        return found


def _believed(
    networks: AllowedNetworks, locators: tuple[Locator, ...], at_most: int
) -> tuple[tuple[Address, ...], tuple[str, ...]]:
    """Return the believable addresses, and what is wrong with the others."""
    found: dict[Address, None] = {}
    faults = []
    for locator in locators:
        if locator.kind != _UDP_V4:  # shared memory, TCP, IPv6: not for us, and no fault
            continue
        if not 1 <= locator.port <= 65_535:
            faults.append("locator_port")
            continue
        host, allowed = _judge(networks, locator.octets[12:])
        if not allowed:
            faults.append("locator_network")
            continue
        if len(found) >= at_most:
            faults.append("locators")
            break
        found[Address(host, locator.port)] = None
    return tuple(found), tuple(faults)


#: Participants of one process, as in a simulation, hear of the same addresses and share them.
_shared = lru_cache(maxsize=4_096)(_believed)


@lru_cache(maxsize=4_096)
def _judge(networks: AllowedNetworks, octets: bytes) -> tuple[str, bool]:
    """Return a host and whether it is allowed; the same few are asked for over and over."""
    host = str(IPv4Address(octets))
    return host, networks.allows(host)
