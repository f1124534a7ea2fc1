"""Exact routing tables made from a list of all zones: the slow, obvious answer that everything else is compared with.

A broker never has such a list. Tests do, and so do the small static runs that need whole tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rookery.brokers.ownership import ZoneOwnership
from rookery.space.zones import Path, box_of, inside, touching

__all__ = ["ExactTable", "exact_tables", "face_neighbors"]


@dataclass(frozen=True, slots=True)
class ExactTable:
    """A routing table of one zone; see `spanhop.ZoneRoutes`."""

    path: Path
    dimensions: int
    bits: int
    levels: list[dict[Path, list[ZoneOwnership]]]
    neighbors: list[ZoneOwnership]


def face_neighbors(path: Path, paths: Sequence[Path], dimensions: int) -> list[Path]:
    """Return the zones that share a face with one, by looking at all of them."""
    box = box_of(path, dimensions)
    return [other for other in paths if touching(box, box_of(other, dimensions))]


def exact_tables(
    paths: Sequence[Path],
    *,
    dimensions: int,
    bits: int,
    resident: Callable[[int, Path, list[int]], int],
    in_domain: bool = True,
) -> list[ExactTable]:
    """Make everybody's table; `resident(broker, zone, inside)` chooses among the brokers inside a zone."""
    ownerships = [ZoneOwnership(path, 0, number) for number, path in enumerate(paths)]
    #: By depth, the zones of that level and the brokers inside each.
    by_depth: dict[int, dict[Path, list[int]]] = {}
    for depth in range(bits, max(map(len, paths)) + bits, bits):
        zones = by_depth.setdefault(depth, {})
        for number, path in enumerate(paths):
            zones.setdefault(path[:depth], []).append(number)
    tables = []
    for number, path in enumerate(paths):
        levels: list[dict[Path, list[ZoneOwnership]]] = [{}]
        for level in range(1, len(path) // bits + 1):
            domain = path[: (level - 1) * bits]
            entries: dict[Path, list[ZoneOwnership]] = {}
            within = by_depth[level * bits]
            candidates = [zone for zone in within if not in_domain or inside(zone, domain)]
            for zone in face_neighbors(path[: level * bits], candidates, dimensions):
                entries[zone] = [ownerships[resident(number, zone, within[zone])]]
            levels.append(entries)
        beside = set(face_neighbors(path, paths, dimensions))
        neighbors = [ownership for ownership in ownerships if ownership.path in beside]
        tables.append(ExactTable(path, dimensions, bits, levels, neighbors))
    return tables
