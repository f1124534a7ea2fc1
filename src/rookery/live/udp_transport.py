"""The datagrams of one participant, on real UDP sockets: one of its own on each interface, and the groups' (`groups`).

What is for a group goes out on every interface, and what is for one host on the one whose network it is in, or else
where the machine has a way to it. Each socket of its own has the first free one of the ports at which participants of
the domain are looked for, so that whoever names this host in a list of peers finds it, without multicast and whatever
stack it runs.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from ipaddress import IPv4Address

from rookery.errors import JoinError
from rookery.live.datagrams import DatagramSocket
from rookery.live.driver import Driver
from rookery.live.groups import GroupListener
from rookery.live.interfaces import Interface
from rookery.machine import Multicast
from rookery.participant import Participant
from rookery.participant.configuration import PARTICIPANT_INDICES, well_known_port
from rookery.rtps.limits import LEAVES_OUT, Limits
from rookery.rtps.locators import Address

__all__ = ["UdpTransport", "own_socket", "warning_of"]

#: Datagrams read in one go before sending and before the loop's other tasks get their turn.
_BATCH = 64
_LOG = logging.getLogger("rookery.live")
#: How to raise a limit.
_RAISE = "raise it with --limit NAME=NUMBER, or in Python with DdsOptions(limits=Limits(…))"
#: Senders whose addresses are remembered, and receivers whose sockets are.
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


def own_socket(interface: Interface, multicast_hops: int, domain_id: int) -> socket.socket:
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


def _source_for(host: str) -> str:
    """Return the address that the machine would send from to a host; nothing where it knows no way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))
        except OSError:
            return ""
        source: str = probe.getsockname()[0]
        return source


class UdpTransport:
    """The datagrams of one participant: through sockets of its own, and from the groups of its domain."""

    def __init__(
        self,
        own: tuple[tuple[Interface, socket.socket], ...],
        groups: tuple[GroupListener, ...],
        participant: Participant,
    ) -> None:
        counters = participant.counters
        self._limits = participant.configuration.limits
        self._unwarned = set(LEAVES_OUT)
        self._own = tuple((interface, DatagramSocket(one, counters)) for interface, one in own)
        #: By host, the sockets through which it is sent to.
        self._ways: dict[str, tuple[DatagramSocket, ...]] = {}
        self._groups = groups
        self._counters = counters
        self._driver: Driver | None = None
        #: Of what the socket calls a sender, its address: the same few all the time.
        self._senders: dict[tuple[str, int], Address] = {}

    def start(self, driver: Driver) -> None:
        """Begin to read, for a driver."""
        self._driver = driver
        for _, own in self._own:
            asyncio.get_running_loop().add_reader(own, self._read, driver, own)
        for group in self._groups:
            group.join(self._hear)

    def stop(self) -> None:
        """Read no more, and close the sockets."""
        for group in self._groups:
            group.leave(self._hear)
        for _, own in self._own:
            asyncio.get_running_loop().remove_reader(own)
            own.close()

    def send(self, receiver: Address, messages: list[bytes]) -> None:
        """Send datagrams to an address."""
        for own in self._ways.get(receiver.host) or self._way(receiver.host):
            own.send(receiver, messages)

    def disconnect(self, node: Address, reason: str) -> None:
        """Do nothing: UDP has no connections."""

    def _way(self, host: str) -> tuple[DatagramSocket, ...]:
        """Return the sockets through which a host, or a group, is sent to."""
        address, sockets = IPv4Address(host), tuple(own for _, own in self._own)
        if address.is_multicast or len(sockets) == 1:
            way = sockets
        else:
            source = _source_for(host)
            behind = (own for interface, own in self._own if address in interface.network)
            routed = (own for interface, own in self._own if interface.host == source)
            way = (next(behind, None) or next(routed, sockets[0]),)
        if len(self._ways) >= _SENDERS:
            self._ways.clear()
        self._ways[host] = way
        return way

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

    def _read(self, driver: Driver, own: DatagramSocket) -> None:
        now, receive, receive_many = driver.now(), own.receive, driver.machine.receive_many
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
            _LOG.warning("%s; %s", warning_of(name, self._limits), _RAISE)

    def _address(self, sender: tuple[str, int]) -> Address:
        if len(self._senders) >= _SENDERS:
            self._senders.clear()
        address = self._senders[sender] = Address(*sender)
        return address
