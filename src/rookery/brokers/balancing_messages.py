"""What brokers say to each other so that the load of zones stays even (`balancing.py`)."""

from __future__ import annotations

import msgspec

from rookery.space.zones import AxisCut, Path, Point

__all__ = ["GiveZone", "LoadReport", "MeasuredLoad", "TakeZone"]


class MeasuredLoad(msgspec.Struct, frozen=True, array_like=True):
    """What a zone has carried in the last period, -1 where that is not known, and where some of it lay."""

    path: Path
    events: int
    sample: tuple[Point, ...] = ()


class LoadReport(msgspec.Struct, frozen=True, array_like=True, tag=26):
    """What the zones of a broker have carried, for whoever is in charge; none where it waits for a zone."""

    broker: int
    zones: tuple[MeasuredLoad, ...]
    #: Whether an operator has given orders there lately.
    is_ordered: bool = False


class GiveZone(msgspec.Struct, frozen=True, array_like=True, tag=17):
    """Give this zone to the owner of its sibling, and wait; or go on waiting; with `back`, take a part of both back."""

    path: Path
    back: AxisCut | None


class TakeZone(msgspec.Struct, frozen=True, array_like=True, tag=18):
    """Take the upper half of this zone, cut here, or at its owner's median."""

    path: Path
    cut: AxisCut | None
