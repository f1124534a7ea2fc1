"""What a capture of a running system says: who is there, what they have, and what discovery really cost.

Every datagram that is an RTPS message is read with the codec of `rookery.rtps`. Announcements give the participants,
records the endpoints (by GUID, so a record that is repeated counts once; one that is disposed stays, since the plan is
for all that was there). Every octet of discovery is put down to one of the five parts of `traffic`: the header and the
INFO submessages of a message go with the first submessage that says something. What a writer and a reader say to each
other once samples flow (a HEARTBEAT that has a number, an ACKNACK beyond the first) is the price of the samples.

The first ten seconds from the first message are the start, as the plan counts it; what comes after is the steady state.
The stack is in every message's header, by its vendor; whether it multicasts its records, in where they were sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

from rookery.discovery.planning.captures import Capture
from rookery.discovery.planning.sizes import record_size
from rookery.discovery.planning.topology import PlannedEndpoint, PlannedParticipant, Topology
from rookery.discovery.planning.traffic import PARTS, Parts
from rookery.errors import TopologyError, WireFormatError
from rookery.rtps.announcements import decode_endpoint, decode_participant
from rookery.rtps.identity import (
    SEDP_PUBLICATIONS_WRITER,
    SEDP_SUBSCRIPTIONS_WRITER,
    SPDP_WRITER,
    UNKNOWN_PREFIX,
    Guid,
    is_builtin,
    is_writer,
)
from rookery.rtps.messages import HEADER_LENGTH
from rookery.rtps.octets import Cursor
from rookery.rtps.submessages import (
    DECODERS,
    AckNack,
    Data,
    DataFragment,
    Gap,
    Heartbeat,
    InfoTimestamp,
    Submessage,
    ToParticipant,
)

__all__ = ["START", "Observation", "observe", "read_capture"]

#: Microseconds that count as the start of a system; the runs behind the multipliers last as long.
START = 10_000_000

_RECORD_WRITERS = (SEDP_PUBLICATIONS_WRITER, SEDP_SUBSCRIPTIONS_WRITER)
#: Seconds after the start from which a rate is worth telling.
_SHORTEST = 5.0
_TIMESTAMP = 12


def _nothing() -> dict[str, int]:
    return dict.fromkeys((*PARTS, "samples"), 0)


@dataclass
class Observation:
    """Participants and endpoints that were heard, and the octets and datagrams of each part."""

    participants: dict[bytes, str] = field(default_factory=dict)
    endpoints: dict[Guid, PlannedEndpoint] = field(default_factory=dict)
    octets: dict[str, int] = field(default_factory=_nothing)
    datagrams: dict[str, int] = field(default_factory=_nothing)
    start_octets: dict[str, int] = field(default_factory=_nothing)
    start_datagrams: dict[str, int] = field(default_factory=_nothing)
    vendors: dict[bytes, bytes] = field(default_factory=dict)
    """The vendor of each participant that sent anything, by its prefix."""
    multicast_records: int = 0
    """Octets of records that went to a group."""
    messages: int = 0
    foreign: int = 0
    """Datagrams that are no RTPS message."""
    _first: int | None = None
    _last: int = 0
    _surplus: dict[Guid, int] = field(default_factory=dict)

    def take(self, payload: bytes, *, time: int = 0, multicast: bool = False) -> None:
        """Take in one datagram, sent at a time in microseconds to one or to a group; anything may be in it."""
        if len(payload) < HEADER_LENGTH or payload[:4] != b"RTPS":
            self.foreign += 1
            return
        self.messages += 1
        self._first = time if self._first is None else self._first
        self._last = max(self._last, time)
        starting = time - self._first < START
        source, directed = payload[8:HEADER_LENGTH], False
        self.vendors.setdefault(source, payload[6:8])
        pending, first = HEADER_LENGTH, ""
        for submessage, size in _submessages(payload):
            if isinstance(submessage, ToParticipant):
                directed = submessage.prefix != UNKNOWN_PREFIX
            if submessage is None or isinstance(submessage, ToParticipant | InfoTimestamp):
                pending += size
                continue
            part = self._part(submessage, source, directed, size)
            self._count(part, pending + size, starting, multicast)
            pending, first = 0, first or part
        if pending and first:
            self._count(first, pending, starting, multicast)
        if first:
            self.datagrams[first] += 1
            self.start_datagrams[first] += starting

    def _count(self, part: str, octets: int, starting: bool, multicast: bool) -> None:
        self.octets[part] += octets
        self.start_octets[part] += octets * starting
        if multicast and part == "records":
            self.multicast_records += octets

    def _part(self, submessage: Submessage, source: bytes, directed: bool, size: int) -> str:
        entity = getattr(submessage, "writer", 0)
        if isinstance(submessage, Data) and entity == SPDP_WRITER:
            self._participant(submessage, source)
            return "answers" if directed else "announcements"
        if isinstance(submessage, Data) and entity in _RECORD_WRITERS:
            self._endpoint(submessage, source, size)
            return "records"
        if isinstance(submessage, Data | DataFragment) and not is_builtin(entity):
            return "samples"
        if isinstance(submessage, Heartbeat | AckNack | Gap) and not is_builtin(entity):
            return "samples" if _of_samples(submessage) else "matches"
        return "contacts"

    def _participant(self, message: Data, source: bytes) -> None:
        try:
            announced = decode_participant(message.payload or b"")
        except WireFormatError:
            return  # a goodbye, or a fault: it names nobody new
        self.participants.setdefault(announced.prefix, announced.name or source.hex())

    def _endpoint(self, message: Data, source: bytes, size: int) -> None:
        try:
            announced = decode_endpoint(message.payload or b"")
        except WireFormatError:
            return
        kind = "W" if is_writer(announced.guid.entity) else "R"
        endpoint = PlannedEndpoint(kind, announced.topic, announced.type_name)
        self.endpoints.setdefault(announced.guid, endpoint)
        self._surplus.setdefault(announced.guid, size + _TIMESTAMP - record_size(endpoint))
        self.participants.setdefault(source, source.hex())

    def parts(self, *, datagrams: bool = False, start: bool = False) -> Parts:
        """Return what was measured of each part, in all or in the first ten seconds."""
        if start:
            found = self.start_datagrams if datagrams else self.start_octets
        else:
            found = self.datagrams if datagrams else self.octets
        return Parts(**{name: float(found[name]) for name in PARTS})

    @property
    def start_bytes(self) -> int:
        """Octets of discovery in the first ten seconds."""
        return round(sum(self.parts(start=True).row()))

    @property
    def seconds(self) -> float:
        """From the first RTPS message to the last."""
        return 0.0 if self._first is None else (self._last - self._first) / 1e6

    @property
    def per_minute(self) -> float | None:
        """Octets of discovery in a minute after the start; None where the capture ends too soon to say."""
        after = self.seconds - START / 1e6
        if after < _SHORTEST:
            return None
        return (sum(self.parts().row()) - self.start_bytes) * 60 / after

    @property
    def record_surplus(self) -> float:
        """How many octets a record has beyond Rookery's of the same endpoint, on average."""
        return sum(self._surplus.values()) / len(self._surplus) if self._surplus else 0.0

    @property
    def vendor(self) -> bytes | None:
        """The vendor of most participants."""
        counted = Counter(self.vendors.get(prefix) for prefix in self.participants)
        return counted.most_common(1)[0][0] if counted else None

    @property
    def by_multicast(self) -> bool:
        """Whether most of the records went to a group."""
        return 2 * self.multicast_records > self.octets["records"]

    def topology(self, name: str, notes: Iterable[str] = ()) -> Topology:
        """Return the system that was heard."""
        if not self.participants:
            raise TopologyError(
                f"{name} holds no RTPS discovery ({self.messages} RTPS messages, {self.foreign} other datagrams): "
                "capture the UDP ports from 7400 up while the system starts"
            )
        members: dict[bytes, list[PlannedEndpoint]] = {prefix: [] for prefix in self.participants}
        for guid, endpoint in self.endpoints.items():
            members.setdefault(guid.prefix, []).append(endpoint)
        participants = tuple(
            PlannedParticipant(self.participants.get(prefix, prefix.hex()), tuple(found))
            for prefix, found in members.items()
        )
        return Topology(name, participants, tuple(notes))


def _of_samples(submessage: Heartbeat | AckNack | Gap) -> bool:
    """Say whether two user endpoints talk of samples, rather than find out that they can."""
    if isinstance(submessage, Heartbeat):
        return submessage.last >= 1
    return isinstance(submessage, Gap) or submessage.missing.base > 1


def observe(payloads: Iterable[bytes]) -> Observation:
    """Take datagrams in, one after the other."""
    observation = Observation()
    for payload in payloads:
        observation.take(payload)
    return observation


def read_capture(data: bytes, *, name: str = "capture") -> tuple[Topology, Observation]:
    """Read a pcap or pcapng file; raise `TopologyError` where there is no discovery in it."""
    capture = Capture(data)
    observation = Observation()
    for datagram in capture.datagrams():
        group = ip_address(datagram.destination).is_multicast
        observation.take(datagram.payload, time=datagram.time, multicast=group)
    notes = [f"{count} frames skipped: {reason}" for reason, count in sorted(capture.skipped.items())]
    if observation.foreign:
        notes.append(f"{observation.foreign} datagrams are not RTPS")
    return observation.topology(name, notes), observation


def _submessages(payload: bytes) -> Iterable[tuple[Submessage | None, int]]:
    """Yield each submessage with its octets; None for one that is not known, and stop where the rest is malformed."""
    position, end = HEADER_LENGTH, len(payload)
    while position + 4 <= end:
        identity, flags = payload[position], payload[position + 1]
        little = bool(flags & 1)
        length = int.from_bytes(payload[position + 2 : position + 4], "little" if little else "big")
        after = position + 4 + length
        if length == 0 and identity not in (0x01, 0x09):  # to the end of the message, except PAD and INFO_TS
            after = end
        if after > end:
            return
        decoder = DECODERS.get(identity)
        submessage: Submessage | None = None
        if decoder is not None:
            try:
                submessage = decoder(Cursor(payload, little=little, start=position + 4, end=after), flags)
            except WireFormatError:
                return
        yield submessage, after - position
        position = after
