"""A participant on real UDP sockets, driven by asyncio.

Two sockets on each interface: one of its own, for everything that is sent there and everything that is addressed to
this participant (`udp_transport`); and one on the domain's multicast port, shared with every other participant of the
machine and heard once for all of this process (`groups`), for announcements. They are the transport of a `Driver`.
Loopback is the default: to speak on another interface, or on several, is a decision.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from ipaddress import IPv4Network
from itertools import chain
from typing import Any, Protocol

from rookery.errors import JoinError
from rookery.live.driver import Driver, Transport
from rookery.live.groups import listen_to_group
from rookery.live.interfaces import Interface, find_interfaces
from rookery.live.udp_transport import UdpTransport, own_socket
from rookery.machine import Machine
from rookery.participant import Participant, ParticipantConfiguration, multicast_address, new_prefix
from rookery.participant.configuration import data_group, peer_addresses
from rookery.rtps.limits import Limits
from rookery.rtps.locators import LOOPBACK, Address, AllowedNetworks
from rookery.rtps.parameters import Parameter

__all__ = [
    "ParticipantOwner",
    "SocketTransport",
    "UdpParticipant",
    "open_participant",
]


def _addresses(peer: Address | str, domain_id: int) -> tuple[Address, ...]:
    """Return the addresses of a peer as people write it; names are looked up."""
    if isinstance(peer, Address):
        return (peer,)
    host, colon, port = peer.partition(":")
    if colon and not (port.isdecimal() and 0 < int(port) < 65_536):
        raise JoinError(f"a peer {peer!r}: write a host, as 10.0.0.7, or a host and a port, as 10.0.0.7:7410")
    try:
        found = socket.gethostbyname(host)
    except OSError as error:
        raise JoinError(f"no peer {peer!r}: {error.strerror or error}") from error
    return (Address(found, int(port)),) if colon else peer_addresses(found, domain_id)


class ParticipantOwner(Machine, Protocol):
    """A participant, or a machine that owns one."""

    def start(self, now: int) -> None:
        """Announce the participant."""

    def stop(self, now: int) -> None:
        """Say goodbye."""


class SocketTransport(Transport, Protocol):
    """A transport with sockets of its own."""

    def start(self, driver: Driver) -> None:
        """Begin to read, for a driver."""

    def stop(self) -> None:
        """Read no more, and close the sockets."""


class UdpParticipant:
    """A `Participant` with sockets and a clock; `on_event` is called with everything that happens."""

    def __init__(
        self,
        participant: Participant,
        *,
        machine: ParticipantOwner,
        transport: SocketTransport,
        on_event: Callable[[Any], None],
    ) -> None:
        """`machine` is what is driven: the participant, or the machine that owns it (a gateway)."""
        self.participant = participant
        self._machine = machine
        self._transport = transport
        self._driver = Driver(machine, transport=transport, on_event=on_event)
        transport.start(self._driver)
        machine.start(self.now())
        self.flush()

    def now(self) -> int:
        """Return the time of this participant: monotonic microseconds."""
        return self._driver.now()

    def flush(self) -> None:
        """Do what the participant wants done; to be called after every command to it."""
        self._driver.flush()

    def flush_soon(self) -> int:
        """Do it in the next turn of the loop, with what is commanded until then; return the time for these commands."""
        return self._driver.flush_soon()

    async def close(self) -> None:
        """Say goodbye and close the sockets."""
        if self._driver.is_closed:
            return
        self._machine.stop(self.now())
        self.flush()
        self._driver.close()
        self._transport.stop()


def open_participant(
    *,
    on_event: Callable[[Any], None],
    within: Callable[[Participant, UdpTransport], tuple[ParticipantOwner, SocketTransport]] | None = None,
    domain_id: int = 0,
    interface: str = "lo",
    name: str = "",
    user_data: bytes = b"",
    lease: int = 10_000_000,
    period: int | None = None,
    networks: tuple[IPv4Network, ...] | None = None,
    initial_peers: tuple[Address | str, ...] = (),
    multicast: bool = True,
    multicast_data: bool = False,
    multicast_hops: int = 1,
    limits: Limits | None = None,
    discovery: str = "simple",
    observer: bool = False,
    pre_shared_key: bytes | None = None,
    vendor_parameters: tuple[Parameter, ...] = (),
) -> UdpParticipant:
    """Join a domain on an interface of this machine, or several with commas between them; needs a running event loop.

    Announcements go to `initial_peers` too, and without `multicast` to them alone; a peer is a host (the first ten
    participants there are looked for), `host:port` or an `Address`. Who names none can still be found by others.
    `networks` is where peers may live: by default the network behind each interface, for loopback 127.0.0.0/8, and the
    hosts that are named. `lease` and `period` are microseconds. `discovery` names
    the protocol (see `rookery.discovery.protocols`), an `observer` hears of everything, a `pre_shared_key` seals
    announcements. With `multicast_data` samples for several participants that listen to the domain's group go there,
    once. `within` gives the machine that owns the participant, and its transport, where the participant is not
    driven alone.
    """
    group = multicast_address(domain_id)
    if multicast_data and not multicast:
        raise JoinError("data by multicast, and no multicast: leave one of both out")
    interfaces = find_interfaces(interface)
    named = tuple(address for peer in initial_peers for address in _addresses(peer, domain_id))
    own: list[tuple[Interface, socket.socket]] = []
    try:
        for found in interfaces:
            own.append((found, own_socket(found, multicast_hops, domain_id)))
        behind = (LOOPBACK if found.host.startswith("127.") else (found.network,) for found in interfaces)
        allowed = networks or (*chain(*behind), *(IPv4Network(address.host) for address in named))
        first, *further = (Address(*one.getsockname()) for _, one in own)
        participant = Participant(
            ParticipantConfiguration(
                prefix=new_prefix(os.urandom(10)),
                unicast=first,
                further_unicast=tuple(further),
                domain_id=domain_id,
                announce_to=((group,) if multicast else ()) + named,
                epoch=time.time_ns() // 1_000 - time.monotonic_ns() // 1_000,
                multicast_data=multicast_data,
                lease=lease,
                period=period or lease * 3 // 10,
                name=name,
                user_data=user_data,
                networks=AllowedNetworks(allowed),
                limits=limits or Limits(),
                discovery=discovery,
                observer=observer,
                pre_shared_key=pre_shared_key,
                vendor_parameters=vendor_parameters,
            )
        )
        heard = (*((group,) if multicast else ()), *((data_group(domain_id),) if multicast_data else ()))
        groups = tuple(listen_to_group(found, one) for found in interfaces for one in heard)
        udp = UdpTransport(tuple(own), groups, participant)
        machine, transport = (participant, udp) if within is None else within(participant, udp)
        return UdpParticipant(participant, machine=machine, transport=transport, on_event=on_event)
    except BaseException:
        for _, one in own:
            one.close()
        raise
