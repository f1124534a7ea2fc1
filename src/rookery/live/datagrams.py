"""Many datagrams in one system call, where the platform has it: Linux can cut a buffer into datagrams and join them.

To one address the kernel takes one buffer and the size of its parts (UDP_SEGMENT): all parts have that size, the last
may be shorter. A socket that asks for it (UDP_GRO) is given what came so in one buffer, with the size of the parts.
What is on the wire is the same datagrams. Where either is refused, each datagram is a call of its own from then on.
"""

from __future__ import annotations

import errno
import socket
import struct
import sys
from collections.abc import Sequence
from typing import Any

from rookery.rtps.limits import Counters

__all__ = ["DatagramSocket"]

_SOL_UDP = 17
_UDP_SEGMENT = 103
_UDP_GRO = 104
_LARGEST_DATAGRAM = 65_535
#: What one call takes: as many parts, and as many bytes of payload.
_MOST_PARTS = 64
_MOST_BYTES = 65_000
#: A part has to fit a frame of the interface; what is larger goes alone, and is cut by IP if need be.
_LARGEST_PART = 1_400
_REFUSED = frozenset({errno.EINVAL, errno.EIO, errno.EMSGSIZE, errno.ENOPROTOOPT, errno.EOPNOTSUPP})
_PART = struct.Struct("=i")
_PART_TO_SEND = struct.Struct("=H")
_ANCILLARY = socket.CMSG_SPACE(_PART.size) if hasattr(socket, "CMSG_SPACE") else 0


class DatagramSocket:
    """A bound, non-blocking UDP socket."""

    def __init__(self, own: socket.socket, counters: Counters, *, batches: bool = sys.platform == "linux") -> None:
        self._own = own
        self._counters = counters
        self._cuts = self._joins = batches
        if batches:
            try:
                own.setsockopt(_SOL_UDP, _UDP_GRO, 1)
            except OSError:
                self._joins = False

    def fileno(self) -> int:
        """Return what the event loop waits for."""
        return self._own.fileno()

    def close(self) -> None:
        """Close the socket."""
        self._own.close()

    def receive(self) -> tuple[list[bytes], Any]:
        """Return the datagrams of one call and their sender; raise `OSError` as a socket does."""
        if not self._joins:
            data, sender = self._own.recvfrom(_LARGEST_DATAGRAM)
            return [data], sender
        data, ancillary, _, sender = self._own.recvmsg(_LARGEST_DATAGRAM, _ANCILLARY)
        for level, kind, value in ancillary:
            if level == _SOL_UDP and kind == _UDP_GRO and len(value) >= _PART.size:
                size = _PART.unpack_from(value)[0]
                return [data[at : at + size] for at in range(0, len(data), size)], sender
        return [data], sender

    def send(self, receiver: tuple[str, int], datagrams: Sequence[bytes]) -> None:
        """Send datagrams to an address, in order; what cannot be sent is lost, and counted."""
        at, count = 0, len(datagrams)
        while at < count:
            end = self._end_of_run(datagrams, at) if self._cuts and at + 1 < count else at + 1
            if end == at + 1 or not self._send_run(receiver, datagrams[at:end]):
                for datagram in datagrams[at:end]:
                    self._send_one(receiver, datagram)
            at = end

    def _end_of_run(self, datagrams: Sequence[bytes], at: int) -> int:
        """Return where datagrams of one size end, from a place on; the last may be shorter."""
        size = total = len(datagrams[at])
        end = at + 1
        if size > _LARGEST_PART:
            return end
        while end < len(datagrams) and end - at < _MOST_PARTS:
            this = len(datagrams[end])
            total += this
            if this > size or total > _MOST_BYTES:
                break
            end += 1
            if this < size:
                break
        return end

    def _send_run(self, receiver: tuple[str, int], run: Sequence[bytes]) -> bool:
        """Send datagrams of one size in one call; say whether that could be done, or was tried and is lost."""
        try:
            self._own.sendmsg(run, [(_SOL_UDP, _UDP_SEGMENT, _PART_TO_SEND.pack(len(run[0])))], 0, receiver)
        except OSError as error:
            if error.errno in _REFUSED:
                self._cuts = False
                return False
            self._counters["send_failed"] += len(run)
        return True

    def _send_one(self, receiver: tuple[str, int], datagram: bytes) -> None:
        try:
            self._own.sendto(datagram, receiver)
        except OSError:
            # A full buffer, a port that nobody listens to any more: for UDP that is loss, and loss is repaired.
            self._counters["send_failed"] += 1
