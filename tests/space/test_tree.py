"""The K-D tree: zones tile the space, a rule and an event that match always meet, and the serial form is one."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import SpaceError
from rookery.space import Box, Boxes, KdTree
from rookery.space.kernels import zone_of_points, zone_of_points_plain

VALUES = st.floats(-10, 10, width=16) | st.sampled_from([float("nan"), float("-inf"), float("inf")])


@st.composite
def spaces(draw: st.DrawFn) -> tuple[np.ndarray, Boxes, KdTree]:
    dimensions = draw(st.integers(1, 3))
    row = st.lists(VALUES, min_size=dimensions, max_size=dimensions)
    points = np.array(draw(st.lists(row, min_size=1, max_size=60)), dtype=np.float64)
    bound = st.floats(-10, 10, width=16) | st.sampled_from([float("-inf"), float("inf")])
    pair = st.tuples(bound, bound).map(sorted)
    corners = draw(st.lists(st.lists(pair, min_size=dimensions, max_size=dimensions), max_size=20))
    array = np.array(corners, dtype=np.float64).reshape(len(corners), dimensions, 2)
    boxes = Boxes(array[:, :, 0], array[:, :, 1])
    tree = KdTree.fit(
        points,
        attributes=[f"a{index}" for index in range(dimensions)],
        zones=draw(st.integers(1, 12)),
        boxes=boxes,
        load=draw(st.sampled_from(["product", "sum"])),
        dimension=draw(st.sampled_from(["load", "cyclic"])),
    )
    return points, boxes, tree


@given(spaces())
@settings(max_examples=150, deadline=None)
def test_every_point_lies_in_the_one_zone_that_the_tree_names(space: tuple[np.ndarray, Boxes, KdTree]) -> None:
    points, _, tree = space
    zones = tree.zones_of(points)
    for point, zone in zip(points, zones, strict=True):
        holders = [number for number, box in enumerate(tree.boxes()) if box.contains(tuple(point))]
        assert holders == [zone]


@given(spaces())
@settings(max_examples=150, deadline=None)
def test_a_box_is_sent_to_exactly_the_zones_it_meets(space: tuple[np.ndarray, Boxes, KdTree]) -> None:
    _, boxes, tree = space
    rows, zones = tree.zones_met(boxes)
    expected = {(int(row), zone) for zone, box in enumerate(tree.boxes()) for row in np.flatnonzero(boxes.meet(box))}
    pairs = list(zip(rows.tolist(), zones.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


@given(spaces())
@settings(max_examples=150, deadline=None)
def test_an_event_and_a_box_around_it_always_meet(space: tuple[np.ndarray, Boxes, KdTree]) -> None:
    points, boxes, tree = space
    met = set(zip(*(part.tolist() for part in tree.zones_met(boxes)), strict=True))
    for point, zone in zip(points, tree.zones_of(points), strict=True):
        # An unbounded attribute admits an absent value too, so NaN is inside -inf .. +inf and nowhere else.
        inside = (boxes.lower <= point) & (point <= boxes.upper)
        inside |= np.isneginf(boxes.lower) & np.isposinf(boxes.upper)
        for row in np.flatnonzero(inside.all(axis=1)):
            assert (int(row), int(zone)) in met


@given(spaces())
@settings(max_examples=100, deadline=None)
def test_the_kernel_equals_its_plain_twin(space: tuple[np.ndarray, Boxes, KdTree]) -> None:
    points, _, tree = space
    fast, plain = np.empty(len(points), np.int32), np.empty(len(points), np.int32)
    zone_of_points(points, *tree.arrays(), fast)
    zone_of_points_plain(points, *tree.arrays(), plain)
    assert fast.tolist() == plain.tolist()


@given(spaces())
@settings(max_examples=100, deadline=None)
def test_the_serial_form_gives_the_same_tree(space: tuple[np.ndarray, Boxes, KdTree]) -> None:
    points, _, tree = space
    for copy in (KdTree.from_json(tree.to_json()), pickle.loads(pickle.dumps(tree))):
        assert copy == tree
        assert copy.zones_of(points).tolist() == tree.zones_of(points).tolist()
        assert copy.boxes() == tree.boxes()


def test_skewed_events_are_shared_among_the_zones() -> None:
    generator = np.random.default_rng(3)
    points = generator.pareto(1.5, size=(8192, 2))
    tree = KdTree.fit(points, attributes=["x", "y"], zones=16)
    counts = np.bincount(tree.zones_of(points), minlength=16)
    assert tree.zone_count == 16
    assert counts.max() <= 2 * counts.mean()
    cyclic = KdTree.fit(points, attributes=["x", "y"], zones=16, dimension="cyclic", load="sum")
    assert np.bincount(cyclic.zones_of(points), minlength=16).max() <= 2 * counts.mean()


def test_the_cut_falls_where_the_rules_are_bounded() -> None:
    generator = np.random.default_rng(4)
    points = generator.uniform(size=(1000, 2))
    lower = np.column_stack([np.full(100, -np.inf), generator.uniform(size=100)])
    boxes = Boxes(lower, np.column_stack([np.full(100, np.inf), lower[:, 1] + 0.01]))
    tree = KdTree.fit(points, attributes=["free", "bound"], zones=8, boxes=boxes)
    assert {axis for axis in tree.dimension if axis >= 0} == {1}
    rows, _ = tree.zones_met(boxes)
    assert len(rows) < 2 * len(boxes)


def test_equal_events_cannot_be_cut() -> None:
    tree = KdTree.fit(np.ones((100, 1)), attributes=["x"], zones=4)
    assert tree.zone_count == 1
    assert tree.zones_of(np.array([[1.0], [np.nan]])).tolist() == [0, 0]


def test_split_keeps_the_lower_half_and_numbers_the_upper() -> None:
    tree = KdTree(["x", "y"])
    assert tree.split(0, attribute="y", cut=5.0) == 1
    assert tree.split(0, attribute="x", cut=1.0) == 2
    assert tree.zones_of(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 5.0]])).tolist() == [0, 2, 1]
    assert tree.box(2) == Box((1.0, -np.inf), (np.inf, 5.0))
    with pytest.raises(SpaceError, match="outside"):
        tree.split(2, attribute="x", cut=0.5)
    with pytest.raises(SpaceError, match="zones are 0 to 2"):
        tree.split(9, attribute="x", cut=0.5)


def test_loads_count_events_and_rules() -> None:
    tree = KdTree(["x"])
    tree.split(0, attribute="x", cut=0.0)
    loads = tree.loads(np.array([[-1.0], [1.0], [2.0]]), Boxes(np.array([[-1.0], [3.0]]), np.array([[1.0], [4.0]])))
    assert [tuple(load) for load in loads] == [(0, 1, 1), (1, 2, 2)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d | {"version": 9},
        lambda d: d | {"nodes": d["nodes"][:-1]},
        lambda d: d | {"nodes": [*d["nodes"], 7]},
        lambda d: d | {"nodes": [[5, "0x1p+0"], 0, 1]},
        lambda d: d | {"nodes": [[0, "inf"], 0, 1]},
        lambda d: d | {"nodes": [[0, "0x1p+0"], 0, 0]},
        lambda d: {"nodes": []},
    ],
)
def test_a_damaged_document_is_refused(damage: object) -> None:
    document = json.loads(KdTree.fit(np.arange(64.0)[:, None], attributes=["x"], zones=4).to_json())
    with pytest.raises(SpaceError, match=r"rookery\.kdtree"):
        KdTree.from_json(json.dumps(damage(document)))  # type: ignore[operator]


def test_wrong_shapes_are_the_callers_mistake() -> None:
    with pytest.raises(SpaceError, match="shape"):
        KdTree.fit(np.ones((4, 2)), attributes=["x"], zones=2)
    with pytest.raises(SpaceError, match="at least one zone"):
        KdTree.fit(np.ones((4, 1)), attributes=["x"], zones=0)
    with pytest.raises(SpaceError, match="different attributes"):
        KdTree(["x", "x"])
    with pytest.raises(ValueError, match="one shape"):
        Boxes(np.ones((2, 2)), np.ones((2, 1)))
