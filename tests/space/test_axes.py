"""The event space: a box holds every event that its condition accepts, and meets the zone that the event lies in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery import Schema, matcher
from rookery.errors import SpaceError
from rookery.model.events import comparable
from rookery.model.types import StringType
from rookery.space import Boxes, KdTree
from rookery.space.axes import Axis, EventSpace, _key
from rookery.space.texts import utf8_bytes

SCHEMA = Schema(
    number=float,
    count="uint64",
    text=str,
    flag=bool,
    color={"$enum": ["red", "green", "blue"]},
    price="decimal(6,2)",
    at="timestamp[ms]",
)
TEXTS = st.text(max_size=8)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": st.floats(allow_nan=True),
    "count": st.integers(0, 2**64 - 1),
    "text": TEXTS,
    "flag": st.booleans(),
    "color": st.sampled_from(["red", "green", "blue", "mauve"]),
    "price": st.decimals(-9999, 9999, places=2),
    "at": st.integers(0, 2_000_000_000_000).map(lambda ms: datetime.fromtimestamp(ms // 1000, UTC)),
}
EVENTS = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})
SPACE = EventSpace(
    SCHEMA,
    [Axis("number", -10, 10), Axis("count", 0, 1000), Axis("text"), Axis("flag"), Axis("color"), Axis("price", 0, 50)],
)
SPACES = st.just(SPACE) | st.lists(EVENTS, max_size=20).map(
    lambda sample: EventSpace.learn(SCHEMA, list(VALUES), sample)
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


NUMBERS = st.integers(-20, 20)
PREDICATES = st.one_of(
    st.builds("number {} {}".format, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), NUMBERS),
    st.builds("count {} {}".format, st.sampled_from(["<", ">=", "="]), st.integers(0, 2**64 - 1)),
    st.builds(lambda sign, text: f"text {sign} {quoted(text)}", st.sampled_from(["<", ">", "=", "<>"]), TEXTS),
    st.builds(lambda text: f"text LIKE {quoted(text + '%')}", st.text("abcé", max_size=3)),
    st.builds("price BETWEEN {} AND {}".format, NUMBERS, NUMBERS),
    st.builds("at {} TIMESTAMP '20{}-01-01'".format, st.sampled_from(["<", ">="]), st.integers(10, 50)),
    st.sampled_from(
        [
            "flag = TRUE",
            "flag <> TRUE",
            "color = 'green'",
            "color <> 'red'",
            "number IS NULL",
            "text IS NOT NULL",
            "TRUE",
        ]
    ),
)
CONDITIONS = st.recursive(
    PREDICATES,
    lambda inner: st.one_of(
        st.builds("({} AND {})".format, inner, inner),
        st.builds("({} OR {})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=5,
)


@given(space=SPACES, event=EVENTS, where=CONDITIONS)
def test_a_box_holds_every_event_that_its_condition_accepts(
    space: EventSpace, event: dict[str, Any], where: str
) -> None:
    point = space.point(event)
    assert all(0 <= x < 1 for x in point)
    rules = matcher(SCHEMA, engine="scan")
    rules.add("one", where)
    if rules.match(event):
        box = space.box(where)
        assert box is not None
        assert all(low <= x <= high for low, x, high in zip(box[0], point, box[1], strict=True))


@given(space=SPACES, events=st.lists(EVENTS, min_size=1, max_size=24), conditions=st.lists(CONDITIONS, min_size=1))
@settings(max_examples=60)
def test_an_event_lies_in_a_zone_that_its_subscription_meets(
    space: EventSpace, events: list[dict[str, Any]], conditions: list[str]
) -> None:
    points = space.points(events)
    tree = KdTree.fit(np.repeat(points, 8, axis=0), axes=space.axes, zones=16)
    rules = matcher(SCHEMA, engine="scan")
    for number, where in enumerate(conditions):
        rules.add(number, where)
    nowhere = (1.0,) * space.dimensions, (0.0,) * space.dimensions
    corners = np.array([space.box(where) or nowhere for where in conditions])
    met = set(zip(*(part.tolist() for part in tree.zones_met(Boxes(corners[:, 0], corners[:, 1]))), strict=True))
    for event, zone in zip(events, tree.zones_of(points).tolist(), strict=True):
        assert all((number, zone) in met for number in rules.match(event))


@given(space=SPACES, events=st.lists(EVENTS, max_size=20))
def test_a_batch_lies_where_its_events_do(space: EventSpace, events: list[dict[str, Any]]) -> None:
    one_by_one = [space.point(event) for event in events]
    assert list(map(tuple, space.points(events).tolist())) == one_by_one
    columns = {name: [event[name] for event in events] for name in VALUES}
    assert list(map(tuple, space.points(columns).tolist())) == one_by_one
    types = {"count": pa.uint64(), "price": pa.decimal128(6, 2), "at": pa.timestamp("ms", tz="UTC")}
    table = pa.table({name: pa.array(values, types.get(name)) for name, values in columns.items()})
    assert list(map(tuple, space.points(table).tolist())) == one_by_one
    assert list(map(tuple, space.points(table.slice(1)).tolist())) == one_by_one[1:]


@given(space=SPACES, event=EVENTS, share=st.floats(0, 1))
def test_a_cut_divides_values_as_it_divides_places(space: EventSpace, event: dict[str, Any], share: float) -> None:
    point = space.point(event)
    for number, attribute in enumerate(space.attributes):
        value = comparable(attribute, event[attribute.text])
        if value is None:
            assert point[number] == 0
            continue
        key = _key(attribute.type, value)
        if isinstance(attribute.type, StringType):
            key = utf8_bytes(key[0])
        for cut in (share, point[number], np.nextafter(point[number], 1)):
            least = space.least(number, float(cut))
            assert (point[number] >= cut) == (least is not None and key >= least)


def test_an_instant_lies_at_one_place_in_every_unit() -> None:
    moment = datetime(2026, 5, 1, 12, 30, 15, 125_000, UTC)
    places = {
        unit: EventSpace(Schema(at=f"timestamp[{unit}]"), [Axis("at", 1.7e9, 1.9e9)]).point({"at": moment})
        for unit in ("ms", "us", "ns")
    }
    assert len(set(places.values())) == 1
    assert 0 < places["ms"][0] < 1


def test_a_learned_range_holds_nearly_all_events_and_no_outlier() -> None:
    sample = {"number": [*map(float, range(1, 2001)), 1e300, float("inf"), float("nan"), None]}
    axis = EventSpace.learn(SCHEMA, ["number"], sample).axes[0]
    assert (axis.low, axis.high) == (3.0, 1999.0)
    for values in ([], [5.0], [5.0] * 9, [None], [float("inf")], [-1e308, 1e308]):
        axis = EventSpace.learn(SCHEMA, ["number"], {"number": values}).axes[0]
        assert axis.low < axis.high


@given(space=SPACES)
def test_axes_travel_with_their_codes(space: EventSpace) -> None:
    plain = json.loads(json.dumps([axis.plain() for axis in space.axes]))
    assert tuple(Axis.read(axis) for axis in plain) == space.axes


@pytest.mark.parametrize(
    "plain",
    [[], ["x"], ["x", "low", 1], [None, 0, 1], ["x", 0, 1, ["a"]], ["x", 0, 1, ["a"], []], ["x", 0, 1, [1], [0.5]]],
)
def test_what_is_no_axis_is_refused(plain: list[Any]) -> None:
    with pytest.raises(SpaceError):
        Axis.read(plain)


def test_a_box_is_no_larger_than_it_must_be() -> None:
    space = EventSpace(SCHEMA, [Axis("number", 0, 100), Axis("text")])
    box = space.box("number >= 25 AND number < 50 AND text = 'abc'")
    assert box is not None
    (low, text_low), (high, text_high) = box
    assert low == pytest.approx(0.25, abs=1e-5)
    assert high == pytest.approx(0.5, abs=1e-5)
    assert text_low == text_high
    assert space.box("number < 5 AND number > 6") is None
    assert space.point({"number": None, "text": None}) == (0.0, 0.0)
    assert space.point({"number": Decimal(10**6), "text": "\U0010ffff" * 9})[0] == pytest.approx(1)


@pytest.mark.parametrize(
    "axes", [[], [Axis("number", 5, 5)], [Axis("number", -1e308, 1e308)], [Axis("flag"), Axis("flag")]]
)
def test_a_space_that_cannot_be_is_refused(axes: list[Axis]) -> None:
    with pytest.raises(SpaceError):
        EventSpace(SCHEMA, axes)
