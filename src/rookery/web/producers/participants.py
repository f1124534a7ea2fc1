"""DDS participants in the simulator, recorded: who is there, who is paired with whom, and what finding out has cost.

A contact is a participant of which one has been told an endpoint; a false contact is one of them with which nothing is
shared. Plain discovery (SPDP and SEDP) makes everybody a contact of everybody: that is its cost.
"""

from __future__ import annotations

import msgspec

from rookery.rtps.events import EndpointMatched, EndpointUnmatched, Event
from rookery.rtps.identity import Guid, is_writer
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant
from rookery.web import records
from rookery.web.recorder import Recorder
from rookery.web.records import name

__all__ = ["RecordedParticipants"]


class RecordedParticipants:
    """The participants of one simulated network, which is one island."""

    def __init__(self, network: SimulatedNetwork, recorder: Recorder, *, island: str) -> None:
        self.network = network
        self.recorder = recorder
        self.island = island
        self._members: dict[str, SimulatedParticipant] = {}
        self._partners: dict[str, set[str]] = {}
        self._topics: dict[Guid, str] = {}
        self._before: dict[str, records.ParticipantRecord] = {}
        recorder.write(records.IslandRecord(at=recorder.clock(), id=island))

    def watch(self, member: SimulatedParticipant) -> None:
        """Record a participant and its endpoints, and its pairs as they come."""
        identity = member.participant.prefix.hex()
        self._members[identity] = member
        self._partners[identity] = set()
        at = self.recorder.clock()
        for announcement in member.participant.local_endpoints:
            self._topics[announcement.guid] = announcement.topic
            self.recorder.write(
                records.EndpointRecord(
                    at=at,
                    id=str(announcement.guid),
                    participant=identity,
                    role="writer" if is_writer(announcement.guid.entity) else "reader",
                    topic=name(announcement.topic),
                    type_name=name(announcement.type_name),
                )
            )
        early = list(member.events)
        member.on_event = self._on_event
        for event in early:
            self._on_event(event)

    def report(self) -> tuple[int, int, int, int]:
        """Record the participants that changed; return octets, datagrams, contacts and false contacts so far."""
        at = self.recorder.clock()
        contacts = false_contacts = 0
        for identity, member in self._members.items():
            told = {one.announcement.guid.prefix.hex() for one in member.participant.remote_endpoints}
            roles = [is_writer(one.guid.entity) for one in member.participant.local_endpoints]
            now = records.ParticipantRecord(
                at=0,
                id=identity,
                name=name(member.participant.configuration.name),
                vendor="Rookery",
                island=self.island,
                writers=sum(roles),
                readers=len(roles) - sum(roles),
                contacts=len(told),
                false_contacts=len(told - self._partners[identity]),
                gone=member.crashed,
            )
            contacts, false_contacts = contacts + now.contacts, false_contacts + now.false_contacts
            if self._before.get(identity) != now:
                self._before[identity] = now
                self.recorder.write(msgspec.structs.replace(now, at=at))
        return self.network.bytes_sent, self.network.datagrams, contacts, false_contacts

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, EndpointMatched | EndpointUnmatched):
            return
        local, remote = event.local.prefix.hex(), event.remote.prefix.hex()
        gone = isinstance(event, EndpointUnmatched)
        if not gone:
            self._partners.setdefault(local, set()).add(remote)
        if is_writer(event.local.entity):  # its reader tells the same story
            self.recorder.write(
                records.EdgeRecord(
                    at=self.recorder.clock(),
                    writer=str(event.local),
                    reader=str(event.remote),
                    source=local,
                    target=remote,
                    topic=name(self._topics.get(event.local, "")),
                    gone=gone,
                )
            )
