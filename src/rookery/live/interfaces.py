"""Which addresses interfaces have, and which networks lie behind them (Linux).

The kernel is asked with two `ioctl`s; an interface can also be given by its IPv4 address, as containers often know it.
"""

from __future__ import annotations

import fcntl
import socket
import struct
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from rookery.errors import JoinError

__all__ = ["Interface", "find_interface", "find_interfaces"]

_SIOCGIFADDR = 0x8915
_SIOCGIFNETMASK = 0x891B


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface: its name, its address, its network."""

    name: str
    host: str
    network: IPv4Network


def find_interfaces(names: str) -> tuple[Interface, ...]:
    """Return the interfaces of names or IPv4 addresses with commas between them, each once."""
    found = dict.fromkeys(find_interface(name.strip()) for name in names.split(","))
    return tuple(found)


def find_interface(name_or_address: str) -> Interface:
    """Return the interface of that name or IPv4 address; raise `JoinError` with the names that there are."""
    known = [name for _, name in socket.if_nameindex()]
    found: list[Interface] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for name in known:
            request = struct.pack("256s", name.encode()[:15])
            try:
                host = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)[20:24]
                mask = fcntl.ioctl(probe.fileno(), _SIOCGIFNETMASK, request)[20:24]
            except OSError:  # no IPv4 address
                continue
            network = IPv4Network((host, str(IPv4Address(mask))), strict=False)
            found.append(Interface(name, str(IPv4Address(host)), network))
    for interface in found:
        if name_or_address in (interface.name, interface.host):
            return interface
    names = ", ".join(f"{interface.name} ({interface.host})" for interface in found) or "none"
    raise JoinError(f"no interface {name_or_address!r} with an IPv4 address; there are {names}")
