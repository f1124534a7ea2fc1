"""The local endpoints of a participant, and their pairing with remote ones.

A writer and a reader are a pair when topic and type have the same names, both are keyed or both are not, and every
policy that is offered meets the one requested. The tables are by topic, so a new endpoint is compared with those of its
own topic only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rookery.participant.content_filters import WriterFilters
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import Guid, is_keyed
from rookery.rtps.qos import incompatible_policies
from rookery.rtps.reader import Reader
from rookery.rtps.sedp import RemoteEndpoint
from rookery.rtps.writer import Writer

__all__ = ["ByTopic", "LocalReader", "LocalWriter", "obstacles"]


@dataclass(slots=True)
class LocalWriter:
    """A writer of this participant; `local` are the readers of this same participant that it feeds directly."""

    announcement: EndpointAnnouncement
    writer: Writer
    #: What its remote readers want, where their type is known.
    filters: WriterFilters | None = None
    local: dict[Guid, None] = field(default_factory=dict)


@dataclass(slots=True)
class LocalReader:
    """A reader of this participant."""

    announcement: EndpointAnnouncement
    reader: Reader


_Endpoint = TypeVar("_Endpoint", bound=LocalWriter | LocalReader | RemoteEndpoint)


class ByTopic(Generic[_Endpoint]):
    """Endpoints of one kind, by GUID and by topic, in order of arrival."""

    def __init__(self) -> None:
        self._all: dict[Guid, _Endpoint] = {}
        self._topics: dict[str, dict[Guid, _Endpoint]] = {}

    def __iter__(self) -> Iterator[_Endpoint]:
        return iter(tuple(self._all.values()))

    def get(self, guid: Guid) -> _Endpoint | None:
        """Return the endpoint of that name."""
        return self._all.get(guid)

    def add(self, endpoint: _Endpoint) -> None:
        """Take an endpoint in."""
        announcement = endpoint.announcement
        self._all[announcement.guid] = endpoint
        self._topics.setdefault(announcement.topic, {})[announcement.guid] = endpoint

    def remove(self, guid: Guid) -> _Endpoint | None:
        """Take an endpoint out."""
        endpoint = self._all.pop(guid, None)
        if endpoint is not None:
            topic = endpoint.announcement.topic
            del self._topics[topic][guid]
            if not self._topics[topic]:
                del self._topics[topic]
        return endpoint

    def of_topic(self, topic: str) -> tuple[_Endpoint, ...]:
        """Return the endpoints of a topic."""
        return tuple(self._topics.get(topic, {}).values())


def obstacles(*, writer: EndpointAnnouncement, reader: EndpointAnnouncement) -> tuple[str, ...]:
    """Return what keeps a writer and a reader of one topic apart; empty means that they are a pair."""
    if writer.type_name != reader.type_name:
        return ("type_name",)
    if is_keyed(writer.guid.entity) != is_keyed(reader.guid.entity):
        return ("keyed",)
    return incompatible_policies(offered=writer.qos, requested=reader.qos)
