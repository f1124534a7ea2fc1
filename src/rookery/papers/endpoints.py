"""Endpoints for the claims about discovery: names as robots and aircraft have them, and what they weigh on the wire.

Sizes are those of the product's own messages: DATA(w) and DATA(r) as `rookery.rtps` writes them, without the headers of
RTPS and UDP, which are the same for every protocol.
"""

from __future__ import annotations

import functools

from rookery.filters import endpoint_key
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import Guid

__all__ = ["absent_keys", "announcement", "endpoint_keys", "endpoint_names", "record_bytes", "topic"]


def topic(number: int, *, owner: str = "fleet") -> str:
    """Return the name of a topic."""
    return f"rt/{owner}/unit/topic_{number}"


def endpoint_names(count: int, *, seed: int, owner: str = "fleet") -> list[tuple[str, str]]:
    """Return topic and type of `count` endpoints; another seed gives other names."""
    return [(topic(number, owner=f"{owner}{seed}"), f"robot_msgs::Type{number % 40}_") for number in range(count)]


def endpoint_keys(count: int, *, seed: int, owner: str = "fleet") -> list[str]:
    """Return the keys of `count` writers; another seed gives other names."""
    names = endpoint_names(count, seed=seed, owner=owner)
    return [endpoint_key(kind="W", topic=name, type_name=type_name) for name, type_name in names]


def absent_keys(count: int, *, seed: int) -> list[str]:
    """Return keys that `endpoint_keys` never makes."""
    return endpoint_keys(count, seed=seed, owner="nobody")


def announcement(number: int, *, owner: str = "fleet") -> bytes:
    """Return the endpoint's own announcement, as SEDP sends it."""
    guid = Guid(bytes(12), (number & 0xFFFFFF) << 8 | 0x03)
    return EndpointAnnouncement(guid, topic(number, owner=owner), f"robot_msgs::Type{number % 40}_").encode()


@functools.cache
def record_bytes() -> int:
    """Return the bytes of one endpoint announcement: a typical one, number 100."""
    return len(announcement(100))
