"""Algorithm 1 of seed 003 as it is printed; `brokers.spanhop` has it repaired, and says what the repairs are."""

from __future__ import annotations

from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.spanhop import ZoneRoutes, nearness
from rookery.space.zones import Point, box_of

__all__ = ["printed_hops"]


def printed_hops(table: ZoneRoutes, point: Point) -> tuple[bool, list[ZoneOwnership]]:
    """Do what Algorithm 1 prints: say whether the event is received here, and everyone it is sent to.

    Lines 1 to 7 receive if any coordinate is inside; lines 8 to 17 send once per level whose ancestor does not hold the
    event in some dimension; line 18 sends to a face neighbor in any case. The levels should hold copies of whole
    neighbor tables, inside and outside of the domain.
    """
    dimensions = table.dimensions
    box = box_of(table.path, dimensions)
    received = any(low < x < high for x, low, high in zip(point, box.lower, box.upper, strict=True))
    sent: list[ZoneOwnership] = []
    for level in range(1, len(table.levels)):
        ancestor = box_of(table.path[: level * table.bits], dimensions)
        if any(x < low or x > high for x, low, high in zip(point, ancestor.lower, ancestor.upper, strict=True)):
            zones = table.levels[level]
            if zones:
                nearest = min(zones, key=lambda zone: nearness(zone, box_of(zone, dimensions), point))
                sent.append(zones[nearest][0])
    nearest_neighbor = min(
        table.neighbors,
        key=lambda ownership: nearness(ownership.path, box_of(ownership.path, dimensions), point),
        default=None,
    )
    if nearest_neighbor is not None:
        sent.append(nearest_neighbor)
    return received, sent
