"""A participant on real UDP sockets, driven by asyncio.

Two sockets: one of its own, for everything that is sent and everything that is addressed to this participant; and one
on the domain's multicast port, shared with every other participant of the machine and heard once for all of this
process (`groups`), for announcements. They are the transport of a `Driver`. Loopback is the default: to speak on
another interface is a decision.

The port of its own is the first free one of those at which participants of the domain are looked for, so that whoever
names this host in a list of peers finds it, without multicast and whatever stack it runs.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import time
from collections.abc import Callable
from ipaddress import IPv4Network
from typing import Any, Protocol

from rookery.errors import JoinError
from rookery.live.datagrams import DatagramSocket
from rookery.live.driver import Driver, Transport
from rookery.live.groups import GroupListener, listen_to_group
from rookery.live.interfaces import Interface, find_interface
from rookery.machine import Machine, Multicast
from rookery.participant import Participant, ParticipantConfiguration, multicast_address, new_prefix
from rookery.participant.configuration import PARTICIPANT_INDICES, peer_addresses, well_known_port
from rookery.rtps.limits import LEAVES_OUT, Limits
from rookery.rtps.locators import LOOPBACK, Address, AllowedNetworks
from rookery.rtps.parameters import Parameter

__all__ = [
    "RAISE",
    "ParticipantOwner",
    "SocketTransport",
    "UdpParticipant",
    "UdpTransport",
    "open_participant",
    "warning_of",
]

#: Datagrams read in one go before sending and before the loop's other tasks get their turn.
_BATCH = 64
_LOG = logging.getLogger("rookery.live")
#: How to raise a limit.
RAISE = "raise it with --limit NAME=NUMBER, or in Python with DdsOptions(limits=Limits(…))"
#: Senders whose addresses are remembered.
_SENDERS = 1_024
_RECEIVE_BUFFER = 4 << 20


def warning_of(limit: str, limits: Limits) -> str:
    """Return what is left out at a limit."""
    return f"{limit} = {getattr(limits, limit):,} is reached, {LEAVES_OUT[limit]}"


def _bind(own: socket.socket, host: str, domain_id: int) -> None:
    """Take the first free port at which participants of the domain are looked for, or any."""
    ports = [well_known_port(domain_id, index) for index in range(PARTICIPANT_INDICES)]
    for port in (*(port for port in ports if port), 0):
        try:
            own.bind((host, port))
            return
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES) or not port:
                raise


def _own_socket(interface: Interface, multicast_hops: int, domain_id: int) -> socket.socket:
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        own.setblocking(False)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface.host))
        own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, multicast_hops)
        own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        _bind(own, interface.host, domain_id)
    except OSError as error:
        own.close()
        raise JoinError(f"no socket on {interface.name} ({interface.host}): {error.strerror}") from error
    return own


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


class UdpTransport:
    """The datagrams of one participant: through a socket of its own, and from the group of its domain."""

    def __init__(self, own: socket.socket, group: GroupListener | None, participant: Participant) -> None:
        counters = participant.counters
        self._limits = participant.configuration.limits
        self._unwarned = set(LEAVES_OUT)
        self._own = DatagramSocket(own, counters)
        self._group = group
        self._counters = counters
        self._driver: Driver | None = None
        #: Of what the socket calls a sender, its address: the same few all the time.
        self._senders: dict[tuple[str, int], Address] = {}

    def start(self, driver: Driver) -> None:
        """Begin to read, for a driver."""
        self._driver = driver
        asyncio.get_running_loop().add_reader(self._own, self._read, driver)
        if self._group is not None:
            self._group.join(self._hear)

    def stop(self) -> None:
        """Read no more, and close the sockets."""
        if self._group is not None:
            self._group.leave(self._hear)
        asyncio.get_running_loop().remove_reader(self._own)
        self._own.close()

    def send(self, receiver: Address, messages: list[bytes]) -> None:
        """Send datagrams to an address."""
        self._own.send(receiver, messages)

    def disconnect(self, node: Address, reason: str) -> None:
        """Do nothing: UDP has no connections."""

    def _hear(self, heard: tuple[bytes, Address] | None) -> None:
        """Take a datagram of the group in; None ends a batch of them."""
        driver = self._driver
        if driver is None or driver.is_closed:
            return
        if heard is None:
            driver.flush()
            self._warn_of_limits()
        else:
            datagram, sender = heard
            driver.machine.receive_many((Multicast(datagram),), sender, driver.now())

    def _read(self, driver: Driver) -> None:
        now, receive, receive_many = driver.now(), self._own.receive, driver.machine.receive_many
        for _ in range(_BATCH):
            try:
                datagrams, sender = receive()
            except (BlockingIOError, InterruptedError):
                break
            except OSError:  # an ICMP error about something sent earlier
                self._counters["receive_failed"] += 1
                continue
            receive_many(datagrams, self._senders.get(sender) or self._address(sender), now)
            if len(datagrams) > 1:
                break  # a buffer full: the loop's other tasks have their turn
        driver.flush()  # once for the batch: answers to one peer share datagrams
        self._warn_of_limits()

    def _warn_of_limits(self) -> None:
        """Say of each limit that leaves something out, once, that it is reached."""
        for name in self._counters.keys() & self._unwarned:
            self._unwarned.discard(name)
            _LOG.warning("%s; %s", warning_of(name, self._limits), RAISE)

    def _address(self, sender: tuple[str, int]) -> Address:
        if len(self._senders) >= _SENDERS:
            self._senders.clear()
        address = self._senders[sender] = Address(*sender)
        return address


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
    lease: int = 10_000_000,
    period: int | None = None,
    networks: tuple[IPv4Network, ...] | None = None,
    initial_peers: tuple[Address | str, ...] = (),
    multicast: bool = True,
    multicast_hops: int = 1,
    limits: Limits | None = None,
    discovery: str = "simple",
    observer: bool = False,
    pre_shared_key: bytes | None = None,
    vendor_parameters: tuple[Parameter, ...] = (),
) -> UdpParticipant:
    """Join a domain on an interface of this machine; needs a running event loop.

    Announcements go to `initial_peers` too, and without `multicast` to them alone; a peer is a host (the first ten
    participants there are looked for), `host:port` or an `Address`. Who names none can still be found by others.
    `networks` is where peers may live: by default the network behind the interface, for loopback 127.0.0.0/8, and the
    hosts that are named. `lease` and `period` are microseconds. `discovery` names
    the protocol (see `rookery.discovery.protocols`), an `observer` hears of everything, a `pre_shared_key` seals
    announcements. `within` gives the machine that owns the participant, and its transport, where the participant is not
    driven alone.
    """
    group = multicast_address(domain_id)
    found = find_interface(interface)
    named = tuple(address for peer in initial_peers for address in _addresses(peer, domain_id))
    own = _own_socket(found, multicast_hops, domain_id)
    try:
        behind = LOOPBACK if found.host.startswith("127.") else (found.network,)
        allowed = networks or (*behind, *(IPv4Network(address.host) for address in named))
        participant = Participant(
            ParticipantConfiguration(
                prefix=new_prefix(os.urandom(10)),
                unicast=Address(*own.getsockname()),
                domain_id=domain_id,
                announce_to=((group,) if multicast else ()) + named,
                epoch=time.time_ns() // 1_000 - time.monotonic_ns() // 1_000,
                lease=lease,
                period=period or lease * 3 // 10,
                name=name,
                networks=AllowedNetworks(allowed),
                limits=limits or Limits(),
                discovery=discovery,
                observer=observer,
                pre_shared_key=pre_shared_key,
                vendor_parameters=vendor_parameters,
            )
        )
        listener = listen_to_group(found, group) if multicast else None
        udp = UdpTransport(own, listener, participant)
        machine, transport = (participant, udp) if within is None else within(participant, udp)
        return UdpParticipant(participant, machine=machine, transport=transport, on_event=on_event)
    except BaseException:
        own.close()
        raise
