"""Kernels of the broker network: Algorithm 1 over a whole tree at once, for static runs to 2^20 brokers.

The tree arrives as arrays, one entry per node: `low` and `high` child (-1 at a leaf), depth, box, and the leaves below
it as a range, since leaves are numbered from left to right. A leaf is a broker. Nothing else is stored: who is in an
ancestor's neighbour table follows from the tree, and which resident of a neighbouring domain a broker has recorded is a
hash of the two (`residents = 1`, random) or the domain's first leaf (`residents = 0`, inherited: the owner of a zone
keeps the lower half, so everyone below inherits the broker in the lower corner).

The plain twin is `rookery.brokers.spanhop`, the router of the live broker, over tables made from the same tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.kernels import kernel

__all__ = ["mix", "route_many"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@kernel
def mix(one: int, other: int, seed: int) -> np.uint64:
    """Return a well mixed 64-bit hash of two numbers and a seed (the finalizer of splitmix64)."""
    state = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other) * np.uint64(0xD1B54A32D192ED03)
    state += np.uint64(seed) * np.uint64(0x8CB92BA72F3D8DD7) + np.uint64(0x2545F4914F6CDD1D)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@kernel
def _holds(lower: Floats, upper: Floats, node: int, point: Floats) -> bool:
    for axis in range(point.shape[0]):  # noqa: SIM110 - Numba compiles the loop, not a generator
        if not (lower[node, axis] <= point[axis] < upper[node, axis]):
            return False
    return True


@kernel
def _gap(lower: Floats, upper: Floats, node: int, point: Floats) -> tuple[float, int]:
    total = 0.0
    outside = 0
    for axis in range(point.shape[0]):
        if point[axis] < lower[node, axis]:
            total += (lower[node, axis] - point[axis]) * (lower[node, axis] - point[axis])
            outside += 1
        elif point[axis] >= upper[node, axis]:
            total += (point[axis] - upper[node, axis]) * (point[axis] - upper[node, axis])
            outside += 1
    return total, outside


@kernel
def _center(lower: Floats, upper: Floats, node: int, point: Floats) -> float:
    total = 0.0
    for axis in range(point.shape[0]):
        middle = 0.5 * (lower[node, axis] + upper[node, axis]) - point[axis]
        total += middle * middle
    return total


@kernel
def _faces(lower: Floats, upper: Floats, one: int, other: int) -> int:
    """Return in how many dimensions two boxes touch, or -1 if they are apart in some."""
    faces = 0
    for axis in range(lower.shape[1]):
        if upper[one, axis] == lower[other, axis] or upper[other, axis] == lower[one, axis]:
            faces += 1
        elif upper[one, axis] < lower[other, axis] or upper[other, axis] < lower[one, axis]:
            return -1
    return faces


@kernel
def _closest(
    low: Ints,
    high: Ints,
    depth: Ints,
    lower: Floats,
    upper: Floats,
    top: int,
    zone: int,
    level: int,
    point: Floats,
    stack: Ints,
) -> int:
    """Return the face neighbour of `zone` closest to a point among the nodes of a level (or leaves above it)."""
    best = -1
    best_gap, best_outside, best_center = 0.0, 0, 0.0
    stack[0] = top
    size = 1
    while size:
        size -= 1
        node = stack[size]
        faces = _faces(lower, upper, zone, node)
        if low[node] >= 0 and depth[node] < level:
            # A parent of a neighbour touches the zone or contains it; anything apart has no neighbour below.
            if faces >= 0:
                stack[size] = low[node]
                stack[size + 1] = high[node]
                size += 2
            continue
        if faces != 1 or node == zone:
            continue
        gap, outside = _gap(lower, upper, node, point)
        center = _center(lower, upper, node, point)
        if (
            best < 0
            or gap < best_gap
            or (gap == best_gap and outside < best_outside)
            or (gap == best_gap and outside == best_outside and center < best_center)
            or (gap == best_gap and outside == best_outside and center == best_center and node < best)
        ):
            best, best_gap, best_outside, best_center = node, gap, outside, center
    return best


@kernel
def route_many(
    low: Ints,
    high: Ints,
    depth: Ints,
    first: Ints,
    count: Ints,
    lower: Floats,
    upper: Floats,
    leaf: Ints,
    sources: Ints,
    points: Floats,
    bits: int,
    in_domain: bool,
    residents: int,
    seed: int,
    limit: int,
    hops: Ints,
    forwarded: NDArray[np.int64],
) -> None:
    """Route each point from its source; `hops` is -1 where the limit was reached (a loop).

    `bits` is log2 m, 0 for greedy routing; `in_domain` is the repair that keeps a hop at level i inside AQ[i-1].cz;
    `forwarded` counts, per broker, the messages of others that it passed on.
    """
    stack = np.empty(4096, dtype=np.int32)
    ancestors = np.empty(256, dtype=np.int32)
    for row in range(points.shape[0]):
        point = points[row]
        broker = sources[row]
        steps = 0
        while True:
            zone = leaf[broker]
            if _holds(lower, upper, zone, point):
                hops[row] = steps
                break
            if steps >= limit:
                hops[row] = -1
                break
            if steps:
                forwarded[broker] += 1
            target = -1
            shared = -1
            if bits:
                # Down from the root along the broker's own path; note where the point leaves it.
                node = 0
                ancestors[0] = 0
                while low[node] >= 0:
                    below = low[node] if broker < first[high[node]] else high[node]
                    if shared < 0 and not _holds(lower, upper, below, point):
                        shared = depth[node]
                    node = below
                    ancestors[depth[node]] = node
                for level in range(shared // bits + 1, depth[zone] // bits + 1):
                    box = ancestors[level * bits]
                    top = ancestors[(level - 1) * bits] if in_domain else 0
                    best = _closest(low, high, depth, lower, upper, top, box, level * bits, point, stack)
                    if best < 0:
                        continue
                    gap, outside = _gap(lower, upper, best, point)
                    mine, mine_outside = _gap(lower, upper, box, point)
                    if gap < mine or (gap == mine and outside < mine_outside):
                        target = first[best]
                        if residents and count[best] > 1:
                            target += np.int32(mix(broker, best, seed) % np.uint64(count[best]))
                        break
            if target < 0:
                # A leaf above the level steps to a face neighbor, and that too must not leave the domain of both.
                top = ancestors[shared // bits * bits] if bits and in_domain else 0
                best = _closest(low, high, depth, lower, upper, top, zone, 1 << 30, point, stack)
                target = first[best]
            broker = target
            steps += 1
