"""What a capture of a running system says: who is there, what they have, and what discovery really cost.

Every datagram that is an RTPS message is read with the codec of `rookery.rtps`. Announcements give the participants,
records the endpoints (by GUID, so a record that is repeated counts once; one that is disposed stays, since the plan is
for all that was there). Every octet of discovery is put down to one of the five parts of `traffic`: the header and the
INFO submessages of a message go with the first submessage that says something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rookery.discovery.planning.captures import Capture
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

__all__ = ["Observation", "observe", "read_capture"]

_RECORD_WRITERS = (SEDP_PUBLICATIONS_WRITER, SEDP_SUBSCRIPTIONS_WRITER)


@dataclass
class Observation:
    """Participants and endpoints that were heard, and the octets and datagrams of each part."""

    participants: dict[bytes, str] = field(default_factory=dict)
    endpoints: dict[Guid, PlannedEndpoint] = field(default_factory=dict)
    octets: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*PARTS, "samples"), 0))
    datagrams: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*PARTS, "samples"), 0))
    messages: int = 0
    foreign: int = 0
    """Datagrams that are no RTPS message."""

    def take(self, payload: bytes) -> None:
        """Take one datagram into account; anything may be in it."""
        if len(payload) < HEADER_LENGTH or payload[:4] != b"RTPS":
            self.foreign += 1
            return
        self.messages += 1
        source, directed = payload[8:HEADER_LENGTH], False
        pending, first = HEADER_LENGTH, ""
        for submessage, size in _submessages(payload):
            if isinstance(submessage, ToParticipant):
                directed = submessage.prefix != UNKNOWN_PREFIX
            if submessage is None or isinstance(submessage, ToParticipant | InfoTimestamp):
                pending += size
                continue
            part = self._part(submessage, source, directed)
            self.octets[part] += pending + size
            pending, first = 0, first or part
        if pending and first:
            self.octets[first] += pending
        if first:
            self.datagrams[first] += 1

    def _part(self, submessage: Submessage, source: bytes, directed: bool) -> str:
        entity = getattr(submessage, "writer", 0)
        if isinstance(submessage, Data) and entity == SPDP_WRITER:
            self._participant(submessage, source)
            return "answers" if directed else "announcements"
        if isinstance(submessage, Data) and entity in _RECORD_WRITERS:
            self._endpoint(submessage, source)
            return "records"
        if isinstance(submessage, Data | DataFragment) and not is_builtin(entity):
            return "samples"
        if isinstance(submessage, Heartbeat | AckNack | Gap) and not is_builtin(entity):
            return "matches"
        return "contacts"

    def _participant(self, message: Data, source: bytes) -> None:
        try:
            announced = decode_participant(message.payload or b"")
        except WireFormatError:
            return  # a goodbye, or a fault: it names nobody new
        self.participants.setdefault(announced.prefix, announced.name or source.hex())

    def _endpoint(self, message: Data, source: bytes) -> None:
        try:
            announced = decode_endpoint(message.payload or b"")
        except WireFormatError:
            return
        kind = "W" if is_writer(announced.guid.entity) else "R"
        self.endpoints.setdefault(announced.guid, PlannedEndpoint(kind, announced.topic, announced.type_name))
        self.participants.setdefault(source, source.hex())

    def parts(self, *, datagrams: bool = False) -> Parts:
        """Return what was measured of each part."""
        found = self.datagrams if datagrams else self.octets
        return Parts(**{name: float(found[name]) for name in PARTS})

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


def observe(payloads: Iterable[bytes]) -> Observation:
    """Take datagrams in, one after the other."""
    observation = Observation()
    for payload in payloads:
        observation.take(payload)
    return observation


def read_capture(data: bytes, *, name: str = "capture") -> tuple[Topology, Observation]:
    """Read a pcap or pcapng file; raise `TopologyError` where there is no discovery in it."""
    capture = Capture(data)
    observation = observe(datagram.payload for datagram in capture.datagrams())
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
