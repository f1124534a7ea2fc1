"""The K-D tree: zones tile the space, a rule and an event that match always meet, and the serial form is one."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins.zones import zone_of_points_plain

from rookery.errors import SpaceError
from rookery.model.schema import Schema
from rookery.space import Axis, Boxes, EventSpace, KdTree
from rookery.space.axes import FIRST, LAST
from rookery.space.kernels import zone_of_points
from rookery.space.zones import ROOT, box_of, contains, meets, split

#: Places as axes make them: NULL's, the edges, ties, and between.
PLACES = st.floats(0, 1, width=16, exclude_max=True) | st.sampled_from([0.0, FIRST, LAST, 0.5])


def axes_of(*names: str) -> list[Axis]:
    return [Axis(name) for name in names]


@st.composite
def spaces(draw: st.DrawFn) -> tuple[np.ndarray, Boxes, KdTree]:
    dimensions = draw(st.integers(1, 3))
    row = st.lists(PLACES, min_size=dimensions, max_size=dimensions)
    points = np.array(draw(st.lists(row, min_size=1, max_size=60)), dtype=np.float64)
    pair = st.tuples(PLACES, PLACES).map(sorted)
    corners = draw(st.lists(st.lists(pair, min_size=dimensions, max_size=dimensions), max_size=20))
    array = np.array(corners, dtype=np.float64).reshape(len(corners), dimensions, 2)
    boxes = Boxes(array[:, :, 0], array[:, :, 1])
    tree = KdTree.fit(
        points,
        axes=axes_of(*(f"a{index}" for index in range(dimensions))),
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
        holders = [number for number, box in enumerate(tree.boxes()) if contains(box, tuple(point))]
        assert holders == [zone]


@given(spaces())
@settings(max_examples=150, deadline=None)
def test_a_box_is_sent_to_exactly_the_zones_it_meets(space: tuple[np.ndarray, Boxes, KdTree]) -> None:
    _, boxes, tree = space
    rows, zones = tree.zones_met(boxes)
    corners = list(zip(boxes.lower.tolist(), boxes.upper.tolist(), strict=True))
    expected = {
        (row, zone) for zone, box in enumerate(tree.boxes()) for row, (low, high) in enumerate(corners)
        if meets(box, tuple(low), tuple(high))
    }  # fmt: skip
    pairs = list(zip(rows.tolist(), zones.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected


@given(spaces())
@settings(max_examples=150, deadline=None)
def test_an_event_and_a_box_around_it_always_meet(space: tuple[np.ndarray, Boxes, KdTree]) -> None:
    points, boxes, tree = space
    met = set(zip(*(part.tolist() for part in tree.zones_met(boxes)), strict=True))
    for point, zone in zip(points, tree.zones_of(points), strict=True):
        inside = (boxes.lower <= point) & (point <= boxes.upper)
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
    again = KdTree.of_paths(tree.paths(), tree.axes)
    for copy in (KdTree.from_json(tree.to_json()), pickle.loads(pickle.dumps(tree)), again):
        assert copy == tree
        assert copy.zones_of(points).tolist() == tree.zones_of(points).tolist()
        assert copy.boxes() == tree.boxes()


def test_skewed_events_are_shared_among_the_zones() -> None:
    generator = np.random.default_rng(3)
    points = np.minimum(generator.pareto(1.5, size=(8192, 2)) / 100, LAST)
    tree = KdTree.fit(points, axes=axes_of("x", "y"), zones=16)
    counts = np.bincount(tree.zones_of(points), minlength=16)
    assert tree.zone_count == 16
    assert counts.max() <= 2 * counts.mean()
    cyclic = KdTree.fit(points, axes=axes_of("x", "y"), zones=16, dimension="cyclic", load="sum")
    assert np.bincount(cyclic.zones_of(points), minlength=16).max() <= 2 * counts.mean()


def test_the_cut_falls_where_the_rules_are_bounded() -> None:
    generator = np.random.default_rng(4)
    points = generator.uniform(size=(1000, 2))
    lower = np.column_stack([np.zeros(100), generator.uniform(size=100)])
    boxes = Boxes(lower, np.column_stack([np.full(100, LAST), lower[:, 1] + 0.01]))
    tree = KdTree.fit(points, axes=axes_of("free", "bound"), zones=8, boxes=boxes)
    assert {axis for axis in tree.axis if axis >= 0} == {1}
    rows, _ = tree.zones_met(boxes)
    assert len(rows) < 2 * len(boxes)


def test_equal_events_cannot_be_cut() -> None:
    tree = KdTree.fit(np.full((100, 1), 0.5), axes=axes_of("x"), zones=4)
    assert tree.zone_count == 1
    assert tree.zones_of(np.array([[0.5], [0.0]])).tolist() == [0, 0]


def test_an_axis_that_the_events_do_not_differ_in_is_passed_over() -> None:
    points = np.column_stack([np.full(400, 0.5), np.arange(400) / 400])
    tree = KdTree.fit(points, axes=axes_of("same", "other"), zones=4, dimension="cyclic")
    assert {axis for axis in tree.axis if axis >= 0} == {1}
    assert np.bincount(tree.zones_of(points)).tolist() == [100] * 4


def test_the_zones_of_brokers_are_the_leaves_of_a_tree() -> None:
    low, high = split(ROOT, 1, 0.5)
    left, right = split(low, 0, 0.25)
    tree = KdTree.of_paths([left, high, right], axes_of("x", "y"))
    assert tree.zones_of(np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])).tolist() == [0, 2, 1]
    assert tree.paths() == [left, high, right]
    assert tree.boxes()[2] == ((0.25, 0.0), (1.0, 0.5))
    for wrong in ([left, high], [low], [left, right, high, high], [left, split(low, 0, 0.3)[1], high], []):
        with pytest.raises(SpaceError, match="do not tile"):
            KdTree.of_paths(wrong, axes_of("x", "y"))
    with pytest.raises(SpaceError, match="no cut of axis 1"):
        KdTree.of_paths([left, high, right], axes_of("x"))


def test_the_zones_of_events_are_those_of_their_points() -> None:
    schema = Schema(x=float, s=str)
    events = {"x": [1.0, 5.0, None, float("inf")], "s": ["a", "b", None, "é"]}
    space = EventSpace.learn(schema, ["s", "x"], events)
    paths = split(ROOT, 0, 0.5)
    tree = KdTree.from_json(KdTree.of_paths(paths, space.axes).to_json())
    assert tree.axes == space.axes
    rows = [dict(zip(events, row, strict=True)) for row in zip(*events.values(), strict=True)]
    expected = [int(contains(box_of(paths[1], 2), space.point(row))) for row in rows]
    assert tree.zones_of_events(space, events).tolist() == expected == [0, 0, 0, 1]
    with pytest.raises(SpaceError, match="different axes"):
        tree.zones_of_events(EventSpace(schema, [Axis("x"), Axis("s")]), events)


def test_loads_count_events_and_rules() -> None:
    tree = KdTree.of_paths(split(ROOT, 0, 0.5), axes_of("x"))
    loads = tree.loads(np.array([[0.1], [0.6], [0.7]]), Boxes(np.array([[0.2], [0.8]]), np.array([[0.6], [0.9]])))
    assert [tuple(load) for load in loads] == [(0, 1, 1), (1, 2, 2)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d | {"version": 9},
        lambda d: d | {"nodes": d["nodes"][:-1]},
        lambda d: d | {"nodes": [*d["nodes"], 7]},
        lambda d: d | {"nodes": [[5, 0.5], 0, 1]},
        lambda d: d | {"nodes": [[0, 1.0], 0, 1]},
        lambda d: d | {"nodes": [[0, float("nan")], 0, 1]},
        lambda d: d | {"nodes": [[0, 0.5], 0, 0]},
        lambda d: d | {"axes": [["x", 0.0]]},
        lambda d: d | {"axes": [[7, 0.0, 1.0]]},
        lambda d: d | {"axes": [["x", 0.0, 1.0, ["b", "a"], [0.1, 0.2]]]},
        lambda d: d | {"axes": []},
        lambda d: {"nodes": []},
    ],
)
def test_a_damaged_document_is_refused(damage: object) -> None:
    document = json.loads(KdTree.fit(np.arange(64.0)[:, None] / 64, axes=axes_of("x"), zones=4).to_json())
    with pytest.raises(SpaceError, match=r"rookery\.kdtree"):
        KdTree.from_json(json.dumps(damage(document)))  # type: ignore[operator]


def test_wrong_shapes_are_the_callers_mistake() -> None:
    with pytest.raises(SpaceError, match="shape"):
        KdTree.fit(np.ones((4, 2)), axes=axes_of("x"), zones=2)
    with pytest.raises(SpaceError, match="at least one zone"):
        KdTree.fit(np.ones((4, 1)), axes=axes_of("x"), zones=0)
    with pytest.raises(SpaceError, match="different axes"):
        KdTree(axes_of("x", "x"))
    with pytest.raises(ValueError, match="one shape"):
        Boxes(np.ones((2, 2)), np.ones((2, 1)))
