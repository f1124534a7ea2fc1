"""The multicast group of a domain, heard once by a process however many of its participants listen.

Every socket in a group gets a copy of every announcement. Fifty participants in one process would wake fifty times for
each; instead they share one socket, which is there as long as one of them is.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable

from rookery.errors import JoinError
from rookery.live.interfaces import Interface
from rookery.rtps.locators import Address

__all__ = ["GroupListener", "group_socket", "listen_to_group"]

#: Datagrams read in one go before the loop's other tasks get their turn; each goes to every member.
_BATCH = 16
_LARGEST_DATAGRAM = 65_535
_RECEIVE_BUFFER = 4 << 20
#: On Linux a socket hears a group on every interface where anyone on the machine listens to it, unless this is off.
_IP_MULTICAST_ALL = 49

#: Takes a datagram in, or with None is told that the batch is over.
Member = Callable[[tuple[bytes, Address] | None], None]


def group_socket(interface: Interface, group: Address) -> socket.socket:
    """Open a socket that hears a group on an interface; raise `JoinError` where it cannot be had."""
    shared = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        shared.setblocking(False)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        if sys.platform == "linux":
            shared.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        # Bound to the group's own address, so that unicast to this port never lands here.
        shared.bind(group)
        membership = socket.inet_aton(group.host) + socket.inet_aton(interface.host)
        shared.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except OSError as error:
        shared.close()
        raise JoinError(f"cannot listen to {group} on {interface.name}: {error.strerror}") from error
    return shared


class GroupListener:
    """One socket in a group, and the participants that hear through it."""

    def __init__(self, interface: Interface, group: Address) -> None:
        self._name = (asyncio.get_running_loop(), interface, group)
        self._socket = group_socket(interface, group)
        self._members: dict[Member, None] = {}

    def join(self, member: Member) -> None:
        """Begin to hand everything to a member."""
        if not self._members:
            self._name[0].add_reader(self._socket, self._read)
        self._members[member] = None

    def leave(self, member: Member) -> None:
        """Stop handing anything to a member; the last one closes the socket."""
        if self._members.pop(member, member) is None and not self._members:
            self.close()

    def close(self) -> None:
        """Close the socket."""
        self._name[0].remove_reader(self._socket)
        self._socket.close()
        _listeners.pop(self._name, None)

    def _read(self) -> None:
        for _ in range(_BATCH):
            try:
                data, sender = self._socket.recvfrom(_LARGEST_DATAGRAM)
            except OSError:  # nothing more, for now
                break
            heard = (data, Address(*sender))
            for member in tuple(self._members):
                member(heard)
        for member in tuple(self._members):
            member(None)


_listeners: dict[tuple[asyncio.AbstractEventLoop, Interface, Address], GroupListener] = {}


def listen_to_group(interface: Interface, group: Address) -> GroupListener:
    """Return the listener of this process and event loop; open it if there is none."""
    name = (asyncio.get_running_loop(), interface, group)
    if name not in _listeners:
        _listeners[name] = GroupListener(interface, group)
    return _listeners[name]
