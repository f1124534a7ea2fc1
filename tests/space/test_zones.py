"""Zones, one at a time: splits, siblings, overlaps, and what is left when a zone is cut out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.space.zones import (
    ROOT,
    Cut,
    Path,
    bits_of,
    box_of,
    contains,
    depth_of,
    gap,
    median_of,
    meets,
    overlap,
    parent,
    sibling,
    split,
    subtract,
    touching,
    turn,
    volume,
)

UNIT = st.floats(0, 1, exclude_max=True)


@st.composite
def paths(draw: st.DrawFn, dimensions: int = 2, longest: int = 8) -> Path:
    path: Path = ROOT
    for _ in range(draw(st.integers(0, longest))):
        box = box_of(path, dimensions)
        axis = draw(st.integers(0, dimensions - 1))
        share = draw(st.sampled_from([0.25, 0.5, 0.75]))
        cut = box.lower[axis] + share * (box.upper[axis] - box.lower[axis])
        path = split(path, axis, cut)[draw(st.integers(0, 1))]
    return path


@given(path=paths(), point=st.tuples(UNIT, UNIT))
def test_merge_undoes_split(path: Path, point: tuple[float, float]) -> None:
    """K9, and a point of a zone lies in exactly one of its halves."""
    box = box_of(path, 2)
    axis = len(path) % 2
    low, high = split(path, axis, (box.lower[axis] + box.upper[axis]) / 2)
    assert parent(low) == parent(high) == path
    assert (sibling(low), sibling(high)) == (high, low)
    assert volume(box_of(low, 2)) + volume(box_of(high, 2)) == pytest.approx(volume(box))
    assert touching(box_of(low, 2), box_of(high, 2))
    inside_halves = [contains(box_of(half, 2), point) for half in (low, high)]
    assert sum(inside_halves) == contains(box, point)
    assert contains(box, point) == (gap(box, point) == (0.0, 0)) == (depth_of(path, point, 2) == len(path))


@given(one=paths(), other=paths())
def test_zones_overlap_or_are_apart(one: Path, other: Path) -> None:
    mine, theirs = box_of(one, 2), box_of(other, 2)
    shared = all(
        max(a, c) < min(b, d) for a, b, c, d in zip(mine.lower, mine.upper, theirs.lower, theirs.upper, strict=True)
    )
    assert overlap(one, other) == shared
    assert not (touching(mine, theirs) and shared)


@given(whole=paths(longest=3), parts=st.lists(paths(), max_size=6), point=st.tuples(UNIT, UNIT))
def test_what_is_left_after_cutting_out(whole: Path, parts: list[Path], point: tuple[float, float]) -> None:
    left = [box_of(whole, 2)]
    for part in parts:
        left = subtract(left, box_of(part, 2))
    wanted = contains(box_of(whole, 2), point) and not any(contains(box_of(part, 2), point) for part in parts)
    assert sum(contains(box, point) for box in left) == wanted


@given(path=paths(), a=st.tuples(UNIT, UNIT), b=st.tuples(UNIT, UNIT))
def test_a_zone_meets_a_box_where_the_corner_is_shared(
    path: Path, a: tuple[float, float], b: tuple[float, float]
) -> None:
    lower, upper = tuple(map(min, a, b)), tuple(map(max, a, b))
    box = box_of(path, 2)
    corner = tuple(map(max, lower, box.lower))
    assert meets(box, lower, upper) == (contains(box, corner) and all(map(float.__le__, corner, upper)))


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75]), min_size=1, max_size=20))
def test_a_median_leaves_values_on_both_sides(values: list[float]) -> None:
    cut = median_of(values, 0.0, 1.0)
    if cut is None:
        assert len(set(values)) == 1
    else:
        below = sum(value < cut for value in values)
        assert 0 < below < len(values)
        assert below <= len(values) // 2 or cut == min(value for value in values if value > min(values))


def test_a_path_is_read_and_an_axis_of_another_space_does_no_harm() -> None:
    low, high = split(split(ROOT, turn(ROOT, 2), 0.5)[1], 1, 0.25)
    assert (bits_of(ROOT), bits_of(low), bits_of(high)) == ("", "10", "11")
    assert turn(low, 2) == 0
    assert box_of((Cut(7, 1, 0.5),), 2) == box_of((Cut(1, 1, 0.5),), 2) == box_of((Cut(-1, 1, 0.5),), 2)
    assert depth_of((Cut(7, 1, 0.5),), (0.0, 0.75), 2) == 1
