"""Who is apart in a domain though they share a topic, and why: seen from outside, by who only looks.

A writer and a reader of one topic that are no pair are a fault that nobody is told of who looks at one of them alone:
each announces what is right by itself. Here all remote endpoints that a participant knows are compared, as a pair of
its own would be: names of types, keys, policies, and the types themselves, which are asked for where their hashes
differ. Partitions that do not meet keep apart what is meant to be apart, and are no fault.

Endpoints that announce the same are compared once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from rookery.participant.endpoints import obstacles
from rookery.participant.participant import Participant
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import Guid, is_keyed, is_writer
from rookery.rtps.qos import INFINITE, XCDR1, QualityOfService
from rookery.rtps.types import CdrStruct
from rookery.rtps.xtypes.assignability import Mismatch, mismatch, undelimited
from rookery.rtps.xtypes.plain_objects import plain_mismatch

__all__ = ["Misfit", "misfits"]

_DURATIONS = ("deadline", "latency_budget")


@dataclass(frozen=True, slots=True)
class Misfit:
    """Writers and readers of a topic that are no pairs, each of them with each, and why."""

    topic: str
    writers: tuple[Guid, ...]
    readers: tuple[Guid, ...]
    reasons: tuple[str, ...]


class _Said(NamedTuple):
    """What endpoints that are alike announce."""

    topic: str
    type_name: str
    keyed: bool
    qos: QualityOfService
    type: object


def misfits(participant: Participant, now: int) -> list[Misfit]:
    """Return what is apart among the remote endpoints, as far as it is known; types that are not are asked for."""
    writers: dict[str, dict[_Said, list[EndpointAnnouncement]]] = defaultdict(lambda: defaultdict(list))
    readers: dict[str, dict[_Said, list[EndpointAnnouncement]]] = defaultdict(lambda: defaultdict(list))
    for remote in participant.remote_endpoints:
        said = remote.announcement
        keyed, kind = is_keyed(said.guid.entity), said.type_information
        what = said.type_object if kind is None else kind.minimal
        alike = _Said(said.topic, said.type_name, keyed, said.qos, what)
        (writers if is_writer(said.guid.entity) else readers)[said.topic][alike].append(said)
    found = []
    for topic in sorted(writers.keys() & readers.keys()):
        for those in writers[topic].values():
            for others in readers[topic].values():
                reasons = _reasons(participant, those[0], others[0], now)
                if reasons:
                    wrote, read = (tuple(sorted(one.guid for one in side)) for side in (those, others))
                    found.append(Misfit(topic, wrote, read, reasons))
    return found


def _reasons(
    participant: Participant, writer: EndpointAnnouncement, reader: EndpointAnnouncement, now: int
) -> tuple[str, ...]:
    faults = obstacles(writer=writer, reader=reader)
    if "partition" in faults:
        return ()
    if faults:
        return tuple(_told(fault, writer, reader) for fault in faults)
    apart = _between_types(participant, writer, reader, now)
    return () if apart is None else (f"{apart.path} is {apart.writer} at the writer, {apart.reader} at the reader",)


def _told(fault: str, writer: EndpointAnnouncement, reader: EndpointAnnouncement) -> str:
    if fault == "type_name":
        return f"the type is named {writer.type_name} at the writer, {reader.type_name} at the reader"
    if fault == "keyed":
        ends = ("the writer", "the reader") if is_keyed(writer.guid.entity) else ("the reader", "the writer")
        return "{} has a key, {} has none".format(*ends)
    offered, requested = (getattr(one.qos, fault, None) for one in (writer, reader))
    if isinstance(offered, IntEnum) and isinstance(requested, IntEnum) and offered != requested:
        offered, requested = (one.name.lower().replace("_", " ") for one in (offered, requested))
    elif fault in _DURATIONS:
        offered, requested = (_seconds(getattr(one.qos, fault)) for one in (writer, reader))
    else:
        return fault.replace("_", " ")
    return f"{fault.replace('_', ' ')} {offered} is offered, {requested} asked for"


def _seconds(microseconds: int) -> str:
    return "infinite" if microseconds >= INFINITE else f"{microseconds / 1_000_000:g} s"


def _between_types(
    participant: Participant, writer: EndpointAnnouncement, reader: EndpointAnnouncement, now: int
) -> Mismatch | None:
    """Return what keeps the types apart; None also where one of them is not known."""
    written, read = writer.type_information, reader.type_information
    if written is not None and read is not None and written.minimal == read.minimal:
        return None
    by = reader.qos.type_consistency
    if by.forces_validation and None in (written, read):
        words = ["there" if one is not None else "missing" for one in (read, written)]
        return Mismatch("type information that the reader insists on", *words)
    if (written is None and not writer.type_object) or (read is None and not reader.type_object):
        return None
    writes, reads = (participant.announced_type(one.guid, now) for one in (writer, reader))
    if writes is None or reads is None:
        return None
    if written is None and isinstance(writes, CdrStruct):
        return plain_mismatch(reads, writes, we_read=True, by=by)
    if read is None and isinstance(reads, CdrStruct):
        return plain_mismatch(writes, reads, we_read=False, by=by)
    apart = mismatch(reads, writes, by=by)
    if apart is None and writer.qos.representations[0] == XCDR1:
        apart = undelimited(reads, writes)
    return apart
