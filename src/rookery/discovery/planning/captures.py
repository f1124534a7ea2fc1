"""From a capture file to UDP datagrams: classic pcap and pcapng, read by hand.

A capture is a list of frames, each with the length that was kept and the length that it had. Around an RTPS message lie
a link header (Ethernet, the BSD and OpenBSD loopbacks, both of Linux's cooked forms, or none), IPv4 or IPv6, and UDP.
Nothing is reassembled: an IP fragment is counted and skipped (discovery fits an Ethernet frame; large user data do
not), and so is a frame that the capture cut short. A file that ends in the middle of a frame, as one does whose writer
was killed, gives what it has.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from rookery.errors import TopologyError

__all__ = ["Capture", "Datagram", "is_capture"]

_CLASSIC = {
    b"\xa1\xb2\xc3\xd4": (">", 1_000_000),
    b"\xd4\xc3\xb2\xa1": ("<", 1_000_000),
    b"\xa1\xb2\x3c\x4d": (">", 1_000_000_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1_000_000_000),
}
_SECTION = b"\x0a\x0d\x0d\x0a"
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _ENHANCED_PACKET = 1, 2, 3, 6
_NULL, _ETHERNET, _LOOP, _COOKED, _COOKED_2 = 0, 1, 108, 113, 276
_RAW = frozenset((12, 14, 101, 228, 229))
_IPV4, _IPV6 = 0x0800, 0x86DD
_TAGS = frozenset((0x8100, 0x88A8, 0x9100))
_LOOPBACK_HARDWARE, _OUTGOING = 772, 4
_UDP, _FRAGMENT = 17, 44
_EXTENSIONS = frozenset((0, 43, 60))


@dataclass(frozen=True, slots=True)
class Datagram:
    """One UDP payload, when it was seen (in microseconds) and between whom."""

    time: int
    source: str
    destination: str
    port: int
    payload: bytes


def is_capture(head: bytes) -> bool:
    """Say whether a file's first four octets are those of a capture."""
    return head[:4] in _CLASSIC or head[:4] == _SECTION


@dataclass
class Capture:
    """The datagrams of a capture; `skipped` counts, after reading, what was left out and why."""

    data: bytes
    skipped: Counter[str] = field(default_factory=Counter)

    def datagrams(self) -> Iterator[Datagram]:
        """Yield each whole UDP datagram in the order of the file."""
        for time, link, frame, length in self._frames():
            if len(frame) < length:
                self.skipped["cut short by the capture"] += 1
                continue
            packet = self._packet(link, frame)
            if packet is not None:
                datagram = self._datagram(time, packet)
                if datagram is not None:
                    yield datagram

    def _frames(self) -> Iterator[tuple[int, int, bytes, int]]:
        """Yield (microseconds, link type, octets kept, octets that there were)."""
        head = self.data[:4]
        if head in _CLASSIC:
            return self._classic(*_CLASSIC[head])
        if head == _SECTION:
            return self._blocks()
        raise TopologyError("no capture begins like this; give a pcap or pcapng file")

    def _classic(self, order: str, ticks: int) -> Iterator[tuple[int, int, bytes, int]]:
        if len(self.data) < 24:
            raise TopologyError("a capture of less than its own header")
        (link,) = struct.unpack_from(order + "I", self.data, 20)
        record, position = struct.Struct(order + "IIII"), 24
        while position + record.size <= len(self.data):
            seconds, fraction, kept, length = record.unpack_from(self.data, position)
            position += record.size
            if position + kept > len(self.data):
                break
            # The upper bits of the link type say how long the frame's check sequence is.
            yield (
                seconds * 1_000_000 + fraction * 1_000_000 // ticks,
                link & 0xFFFF,
                self.data[position : position + kept],
                length,
            )
            position += kept
        else:
            if position == len(self.data):
                return
        self.skipped["at the end of a file that stops in its middle"] += 1

    def _blocks(self) -> Iterator[tuple[int, int, bytes, int]]:
        data, position, order = self.data, 0, "<"
        links: list[tuple[int, float]] = []
        while position + 12 <= len(data):
            if data[position : position + 4] == _SECTION:
                order = "<" if data[position + 8 : position + 12] == b"\x4d\x3c\x2b\x1a" else ">"
                links = []
            kind, length = struct.unpack_from(order + "II", data, position)
            if length < 12 or position + length > len(data):
                break
            body = data[position + 8 : position + length - 4]
            position += length
            if kind == _INTERFACE and len(body) >= 8:
                links.append((struct.unpack_from(order + "H", body)[0], _resolution(body, order)))
            elif kind == _ENHANCED_PACKET and len(body) >= 20:
                number, high, low, kept, whole = struct.unpack_from(order + "IIIII", body)
                yield from self._block_frame(links, number, high << 32 | low, body[20 : 20 + kept], whole)
            elif kind == _OLD_PACKET and len(body) >= 20:
                number, _, high, low, kept, whole = struct.unpack_from(order + "HHIIII", body)
                yield from self._block_frame(links, number, high << 32 | low, body[20 : 20 + kept], whole)
            elif kind == _SIMPLE_PACKET and len(body) >= 4:
                (whole,) = struct.unpack_from(order + "I", body)
                yield from self._block_frame(links, 0, 0, body[4 : 4 + whole], whole)
        if position < len(data):
            self.skipped["at the end of a file that stops in its middle"] += 1

    def _block_frame(
        self, links: list[tuple[int, float]], number: int, ticks: int, kept: bytes, whole: int
    ) -> Iterator[tuple[int, int, bytes, int]]:
        if number >= len(links):
            self.skipped["of an interface that the capture does not describe"] += 1
            return
        link, microseconds = links[number]
        yield int(ticks * microseconds), link, kept, whole

    def _packet(self, link: int, frame: bytes) -> bytes | None:
        """Return the IP packet in a frame."""
        if link in _RAW:
            return frame
        if link in (_NULL, _LOOP):
            # The family is in the byte order of the machine that captured, but IP says its version itself.
            return frame[4:]
        if link == _COOKED and len(frame) >= 16:
            direction, hardware = struct.unpack_from(">HH", frame)
            return self._cooked(direction, hardware, struct.unpack_from(">H", frame, 14)[0], frame[16:])
        if link == _COOKED_2 and len(frame) >= 20:
            protocol, _, _, hardware, direction = struct.unpack_from(">HHIHB", frame)
            return self._cooked(direction, hardware, protocol, frame[20:])
        if link == _ETHERNET and len(frame) >= 14:
            position = 12
            (protocol,) = struct.unpack_from(">H", frame, position)
            while protocol in _TAGS and len(frame) >= position + 6:
                position += 4
                (protocol,) = struct.unpack_from(">H", frame, position)
            if protocol in (_IPV4, _IPV6):
                return frame[position + 2 :]
            self.skipped["not IP"] += 1
            return None
        self.skipped["not IP" if link in (_ETHERNET, _COOKED, _COOKED_2) else f"of link type {link}"] += 1
        return None

    def _cooked(self, direction: int, hardware: int, protocol: int, packet: bytes) -> bytes | None:
        if hardware == _LOOPBACK_HARDWARE and direction == _OUTGOING:
            self.skipped["seen twice on the loopback"] += 1  # once as it leaves, once as it arrives
            return None
        if protocol not in (_IPV4, _IPV6):
            self.skipped["not IP"] += 1
            return None
        return packet

    def _datagram(self, time: int, packet: bytes) -> Datagram | None:
        version = packet[0] >> 4 if packet else 0
        if version == 4 and len(packet) >= 20:
            start, end = 4 * (packet[0] & 15), struct.unpack_from(">H", packet, 2)[0]
            (fragment,) = struct.unpack_from(">H", packet, 6)
            protocol, is_fragment = packet[9], bool(fragment & 0x3FFF)
            source, destination = str(IPv4Address(packet[12:16])), str(IPv4Address(packet[16:20]))
        elif version == 6 and len(packet) >= 40:
            start, end = 40, 40 + struct.unpack_from(">H", packet, 4)[0]
            protocol, is_fragment = packet[6], packet[6] == _FRAGMENT
            source, destination = str(IPv6Address(packet[8:24])), str(IPv6Address(packet[24:40]))
            while protocol in _EXTENSIONS and len(packet) >= start + 8:
                protocol, start = packet[start], start + 8 * (1 + packet[start + 1])
                is_fragment = is_fragment or protocol == _FRAGMENT
        else:
            self.skipped["not IP"] += 1
            return None
        if is_fragment:
            self.skipped["IP fragments"] += 1
            return None
        if protocol != _UDP:
            self.skipped["not UDP"] += 1
            return None
        if len(packet) < max(end, start + 8):
            self.skipped["malformed"] += 1
            return None
        _, port, length = struct.unpack_from(">HHH", packet, start)
        if length < 8 or start + length > len(packet):
            self.skipped["malformed"] += 1
            return None
        return Datagram(time, source, destination, port, packet[start + 8 : start + length])


def _resolution(body: bytes, order: str) -> float:
    """Return the microseconds of one tick: option 9 of an interface, else one."""
    position = 8
    while position + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, position)
        if code == 9 and length >= 1 and position + 5 <= len(body):
            value = body[position + 4]
            return 1e6 / float(2 ** (value & 127) if value & 128 else 10 ** min(value, 30))
        if code == 0:
            break
        position += 4 + length + -length % 4
    return 1.0
