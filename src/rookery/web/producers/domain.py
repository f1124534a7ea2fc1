"""A live DDS domain, recorded: an observer joins without endpoints, so that everyone tells it everything.

Who is paired with whom is not on the wire. It follows from the announcements by the rule that the participants
themselves apply (`participant.endpoints.obstacles`), and is worked out again when the endpoints change.
"""

from __future__ import annotations

import asyncio
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from rookery.live.survey import Survey, read_survey
from rookery.live.udp import open_participant
from rookery.participant import Participant
from rookery.participant.endpoints import obstacles
from rookery.rtps.identity import is_writer
from rookery.web import records
from rookery.web.recorder import Recorder
from rookery.web.records import Record, name

__all__ = ["RecordedDomain", "record_domain", "watch_domain"]

#: Seconds between two looks.
PERIOD = 0.5
PREFIX = 24


class RecordedDomain:
    """What was recorded of a domain, so that only changes are."""

    def __init__(self, recorder: Recorder, *, island: str) -> None:
        self._recorder = recorder
        self._island = island
        self._before: dict[tuple[type, str], Record] = {}
        self._octets = -1

    def report(self, participant: Participant) -> None:
        """Record what changed since the last time."""
        found = read_survey(participant)
        at = self._recorder.clock()
        now: dict[tuple[type, str], Record] = {}
        edges = self._edges(participant)
        partners: dict[str, set[str]] = {}
        for edge in edges:
            partners.setdefault(edge.source, set()).add(edge.target)
            partners.setdefault(edge.target, set()).add(edge.source)
        for one in self._participants(found, partners):
            now[records.ParticipantRecord, one.id] = one
        for endpoint in found.endpoints:
            now[records.EndpointRecord, endpoint.guid] = records.EndpointRecord(
                at=0,
                id=endpoint.guid,
                participant=endpoint.guid[:PREFIX],
                role=endpoint.kind,
                topic=name(endpoint.topic),
                type_name=name(endpoint.type_name),
            )
        for edge in edges:
            now[records.EdgeRecord, f"{edge.writer}>{edge.reader}"] = edge
        for key in self._before.keys() - now.keys():
            gone: Any = self._before[key]
            self._recorder.write(msgspec.structs.replace(gone, at=at, gone=True))
        for key, record in now.items():
            if self._before.get(key) != record:
                self._recorder.write(msgspec.structs.replace(record, at=at))
        self._before = now
        counters = participant.counters
        octets = counters["bytes_in"] + counters["bytes_out"]
        if octets == self._octets:
            return
        self._octets = octets
        self._recorder.write(records.TrafficRecord(at=at, protocol=name(f"seen in {self._island}"), octets=octets))

    def _participants(self, found: Survey, partners: dict[str, set[str]]) -> list[records.ParticipantRecord]:
        known = [one.prefix for one in found.participants]
        return [
            records.ParticipantRecord(
                at=0,
                id=one.prefix,
                name=name(one.name or one.properties.get("__ProcessName", "")),
                vendor=one.vendor,
                island=self._island,
                summary=one.summary or "",
                writers=one.writers,
                readers=one.readers,
                # Who sends a summary is told by the others what it may want, and nobody but they know what that was.
                contacts=0 if one.summary else len(known) - 1,
                false_contacts=0 if one.summary else len(set(known) - partners.get(one.prefix, set()) - {one.prefix}),
            )
            for one in found.participants
        ]

    def _edges(self, participant: Participant) -> list[records.EdgeRecord]:
        announced = sorted((each.announcement for each in participant.remote_endpoints), key=lambda one: one.topic)
        edges = []
        for topic, group in groupby(announced, key=lambda one: one.topic):
            members = list(group)
            writers = [one for one in members if is_writer(one.guid.entity)]
            readers = [one for one in members if not is_writer(one.guid.entity)]
            edges += [
                records.EdgeRecord(
                    at=0,
                    writer=str(writer.guid),
                    reader=str(reader.guid),
                    source=writer.guid.prefix.hex(),
                    target=reader.guid.prefix.hex(),
                    topic=name(topic),
                )
                for writer in writers
                for reader in readers
                if not obstacles(writer=writer, reader=reader)
            ]
        return edges


async def record_domain(file: Path, participant: Participant) -> None:
    """Record into a file what an observing participant knows, until cancelled."""
    domain_id = participant.configuration.domain_id
    with Recorder(file, title=f"domain {domain_id}") as recorder:
        await _follow(RecordedDomain(recorder, island=f"domain {domain_id}"), participant)


async def watch_domain(recorder: Recorder, *, domain_id: int, interface: str) -> None:
    """Join a domain and record what is there, until cancelled."""
    udp = open_participant(
        on_event=lambda event: None, domain_id=domain_id, interface=interface, name="rookery page", observer=True
    )
    try:
        await _follow(RecordedDomain(recorder, island=f"domain {domain_id}"), udp.participant)
    finally:
        await udp.close()


async def _follow(domain: RecordedDomain, participant: Participant) -> None:
    while True:
        domain.report(participant)
        await asyncio.sleep(PERIOD)
