"""What an endpoint is in a summary, and what it looks for in the summaries of others.

A writer is interesting to whoever has a reader of the same topic and type, and the other way round; so an endpoint has
two keys: its *own*, which its participant's summary holds, and the one that it *seeks* in a peer's summary, the same
with the kind turned around. Quality of service is in neither: requested and offered are ordered, not equal, and what a
summary lets through in vain SEDP sorts out (filters, 1.6).

The request and the reply of a ROS 2 service are one interest. A client writes `rq/…Request` and reads `rr/…Reply`, a
server the reverse; if the first pair matched before the second, a reply could be lost. A reply endpoint therefore has
the key of the request endpoint beside it: both halves are told together, and a service takes one key in the summary.
"""

from __future__ import annotations

from typing import NamedTuple

from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import is_writer

__all__ = ["Interest", "interest_of", "interest_of_endpoint", "topic_of_key"]

_OPPOSITE = {"W": "R", "R": "W"}
_SEPARATOR = "\x1f"


class Interest(NamedTuple):
    """The key that an endpoint has, and the key that it looks for."""

    own: str
    sought: str


def interest_of(*, kind: str, topic: str, type_name: str) -> Interest:
    """Return the keys of a writer (`W`) or reader (`R`)."""
    if topic.startswith("rr/") and topic.endswith("Reply") and type_name.endswith("_Response_"):
        kind = _OPPOSITE[kind]
        topic = f"rq/{topic[len('rr/') : -len('Reply')]}Request"
        type_name = type_name.removesuffix("_Response_") + "_Request_"
    rest = f"{_SEPARATOR}{topic}{_SEPARATOR}{type_name}"
    return Interest(kind + rest, _OPPOSITE[kind] + rest)


def topic_of_key(key: str) -> tuple[str, str]:
    """Return the topic and the type that a key names."""
    _, topic, type_name = key.split(_SEPARATOR, 2)
    return topic, type_name


def interest_of_endpoint(announcement: EndpointAnnouncement) -> Interest:
    """Return the keys of an endpoint, local or remote."""
    kind = "W" if is_writer(announcement.guid.entity) else "R"
    return interest_of(kind=kind, topic=announcement.topic, type_name=announcement.type_name)
