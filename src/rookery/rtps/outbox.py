"""What waits to be sent: submessages gather here and leave as few datagrams as they fit into.

State machines say "this submessage, to that participant at that address"; the outbox puts everything for one address
into shared messages, with INFO_DST where the participant changes and INFO_TS where the time does. Nothing is ever
larger than `datagram_bytes` except a single submessage that is larger by itself (a big announcement).

What is for an address that a participant is not reached at takes a detour (`rookery.rtps.detours`).

Who has something to say about all that it sent in one go (a writer its HEARTBEAT) says it once, last: `follow`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rookery.machine import Send
from rookery.rtps.identity import UNKNOWN_PREFIX
from rookery.rtps.locators import Address
from rookery.rtps.messages import encode_header
from rookery.rtps.peers import Destination
from rookery.rtps.submessages import InfoTimestamp, Submessage, ToParticipant

__all__ = ["Outbox"]

_Entry = tuple[Destination, int | None, bytes]
#: What INFO_TS takes.
_TIME_BYTES = 12


class Outbox:
    """Submessages by address, in order."""

    def __init__(
        self,
        prefix: bytes,
        *,
        datagram_bytes: int,
        permit: Callable[[Destination, int], bool],
        detours: Mapping[Destination, Destination] | None = None,
    ) -> None:
        self._header = encode_header(prefix)
        self._datagram_bytes = datagram_bytes
        self._permit = permit
        self._detours = {} if detours is None else detours
        self._waiting: dict[Address, list[_Entry]] = {}
        self._followers: list[Callable[[], None]] = []

    def add(self, destination: Destination, submessage: Submessage, *, timestamp: int | None = None) -> None:
        """Queue one submessage; `timestamp` is the source time of data."""
        self.add_octets(destination, submessage.encode(), timestamp)

    def add_octets(self, destination: Destination, octets: bytes, timestamp: int | None) -> None:
        """Queue one submessage that is encoded already."""
        if self._detours:
            destination = self._detours.get(destination, destination)
        waiting = self._waiting.get(destination.address)
        if waiting is None:
            self._waiting[destination.address] = [(destination, timestamp, octets)]
        else:
            waiting.append((destination, timestamp, octets))

    def follow(self, say: Callable[[], None]) -> None:
        """Call `say` before what waits is sent; what it adds goes with it."""
        self._followers.append(say)

    def sends(self) -> list[Send]:
        """Return everything that waits, as datagrams to send, and forget it."""
        while self._followers:  # a follower may send, and then there is something to say about that
            followers, self._followers = self._followers, []
            for say in followers:
                say()
        if not self._waiting:
            return []
        waiting, self._waiting = self._waiting, {}
        sent: list[Send] = []
        for address, entries in waiting.items():
            self._pack(address, entries, sent)
        return sent

    def _pack(self, address: Address, entries: list[_Entry], sent: list[Send]) -> None:
        parts: list[bytes] = []
        size = 0
        current: Destination | None = None
        time: int | None = None
        limit, written, at = self._datagram_bytes - _TIME_BYTES, b"", None
        for destination, timestamp, octets in entries:
            # A message is for one participant alone, so that its credit can be charged to that one.
            is_other = destination is not current and destination != current
            if is_other or size + len(octets) > limit:
                self._close(current, address, parts, sent)
                parts, size, time, current = [self._header], len(self._header), None, destination
                if destination.prefix != UNKNOWN_PREFIX:
                    prelude = ToParticipant(destination.prefix).encode()
                    parts.append(prelude)
                    size += len(prelude)
            if timestamp is not None and timestamp != time:
                if timestamp != at:
                    written, at = InfoTimestamp(timestamp).encode(), timestamp
                parts.append(written)
                size += _TIME_BYTES
                time = timestamp
            parts.append(octets)
            size += len(octets)
        self._close(current, address, parts, sent)

    def _close(self, destination: Destination | None, address: Address, parts: list[bytes], sent: list[Send]) -> None:
        if destination is None:
            return
        datagram = b"".join(parts)
        if self._permit(destination, len(datagram)):
            sent.append(Send(address, datagram))
