"""The kernel of routing: where each event of a batch goes next. Its plain twin is `spanhop.next_hop`, for one event.

A zone and what is known of others arrive as arrays (`column_routes.py`): the cuts of the zone's path; by level of the
ancestor queue the zones beside the ancestor, from `level_starts[level]` on, each with the number of a broker that
resides there; the boxes of the ancestors; the face neighbors with the cuts that they share. Zones that nobody usable
resides in are not among them, and of two that are as near the first counts: they are sorted by the bits of their paths.
"""

from __future__ import annotations

from typing import Any

from rookery.kernels import short_kernel

__all__ = ["next_hops"]


@short_kernel
def _distances(points: Any, row: Any, lower: Any, upper: Any, box: Any) -> Any:
    """Return squared distance from a box, dimensions that are outside, squared distance from its middle."""
    total, outside, center = 0.0, 0, 0.0
    for axis in range(points.shape[1]):
        x, low, high = points[row, axis], lower[box, axis], upper[box, axis]
        if x < low:
            total += (low - x) * (low - x)
            outside += 1
        elif x >= high:
            total += (x - high) * (x - high)
            outside += 1
        middle = 0.5 * (low + high) - x
        center += middle * middle
    return total, outside, center


@short_kernel
def _is_nearer(total: Any, outside: Any, center: Any, best: Any, best_outside: Any, best_center: Any) -> bool:
    """Compare what `_distances` says of two boxes."""
    if total != best:
        return bool(total < best)
    return bool(outside < best_outside or (outside == best_outside and center < best_center))


@short_kernel
def next_hops(
    points: Any,
    bits: Any,
    cut_axis: Any,
    cut_bit: Any,
    cut_place: Any,
    level_starts: Any,
    zone_lower: Any,
    zone_upper: Any,
    zone_hop: Any,
    level_lower: Any,
    level_upper: Any,
    near_shared: Any,
    near_lower: Any,
    near_upper: Any,
    near_hop: Any,
    near_used: Any,
    came_back: Any,
    out: Any,
) -> None:
    """Write to `out` the number of the broker that each point goes to next: -1 for none, -2 for the zone itself."""
    depth = cut_axis.shape[0]
    for row in range(points.shape[0]):
        shared = 0
        while shared < depth and (points[row, cut_axis[shared]] >= cut_place[shared]) == cut_bit[shared]:
            shared += 1
        if shared == depth:
            out[row] = -2
            continue
        hop = -1
        if not came_back and bits > 0:
            for level in range(shared // bits + 1, depth // bits + 1):
                mine, mine_outside, _ = _distances(points, row, level_lower, level_upper, level)
                best, best_outside, best_center = mine, mine_outside, 0.0
                for zone in range(level_starts[level], level_starts[level + 1]):
                    total, outside, center = _distances(points, row, zone_lower, zone_upper, zone)
                    if not (total < mine or (total == mine and outside < mine_outside)):
                        continue
                    if (
                        hop < 0
                        or total < best
                        or (
                            total == best
                            and (outside < best_outside or (outside == best_outside and center < best_center))
                        )
                    ):
                        best, best_outside, best_center, hop = total, outside, center, zone_hop[zone]
                if hop >= 0:
                    break
        if hop < 0:
            domain = shared // bits * bits if bits > 0 else 0
            best, best_outside, best_center, best_rank = 0.0, 0, 0.0, 4
            for near in range(near_hop.shape[0]):
                # Outside the domain only where nobody inside is left; to who was visited only where nobody else is.
                rank = 2 * near_used[near] + (near_shared[near] < domain)
                if rank > best_rank:
                    continue
                total, outside, center = _distances(points, row, near_lower, near_upper, near)
                if (
                    rank < best_rank
                    or total < best
                    or (
                        total == best and (outside < best_outside or (outside == best_outside and center < best_center))
                    )
                ):
                    best, best_outside, best_center, best_rank = total, outside, center, rank
                    hop = near_hop[near] if near_used[near] == 0 else -1
        out[row] = hop
