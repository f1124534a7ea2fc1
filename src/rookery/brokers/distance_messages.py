"""What brokers say to each other about distances on the network: round trips, and the landmarks that all go by.

They are messages about who is there, and pass those about events (`messages.py`): a round trip says how far a broker
is, not how much it has to do.
"""

from __future__ import annotations

from math import isfinite

import msgspec

from rookery.brokers.ownership import ZoneOwnership
from rookery.space.zones import Point

__all__ = [
    "AskRoundTrip",
    "DistanceMessage",
    "LandmarkMap",
    "MeasurePeers",
    "PeersMeasured",
    "RoundTripAnswer",
    "is_map_of",
]


class AskRoundTrip(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """Answer at once; the stamp is of the sender's own clock."""

    stamp: int


class RoundTripAnswer(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """The stamp that came, and the zones of the sender."""

    stamp: int
    ownerships: tuple[ZoneOwnership, ...]


class MeasurePeers(msgspec.Struct, frozen=True, array_like=True, tag=14):
    """Measure the round trips to these brokers, and tell me."""

    number: int
    peers: tuple[int, ...]


class PeersMeasured(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """The round trips that were asked for, as far as they are known: broker and microseconds."""

    number: int
    times: tuple[tuple[int, int], ...]


class LandmarkMap(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """The landmarks, their coordinates, and the box of these that is scaled into zones; the greatest number holds."""

    number: int
    owners: tuple[int, ...]
    positions: tuple[Point, ...]
    extent: tuple[Point, Point]


DistanceMessage = AskRoundTrip | RoundTripAnswer | MeasurePeers | PeersMeasured | LandmarkMap


def is_map_of(landmarks: LandmarkMap, dimensions: int) -> bool:
    """Tell whether coordinates have so many dimensions, and are numbers."""
    points = (*landmarks.positions, *landmarks.extent)
    return len(landmarks.owners) == len(landmarks.positions) and all(
        len(point) == dimensions and all(map(isfinite, point)) for point in points
    )
