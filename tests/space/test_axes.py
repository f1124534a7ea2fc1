"""The event space: a box holds every event that its condition accepts."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery import Schema, matcher
from rookery.errors import SpaceError
from rookery.space.axes import Axis, EventSpace

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


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


NUMBERS = st.integers(-20, 20)
PREDICATES = st.one_of(
    st.builds("number {} {}".format, st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), NUMBERS),
    st.builds("count {} {}".format, st.sampled_from(["<", ">=", "="]), st.integers(0, 2**64 - 1)),
    st.builds(lambda sign, text: f"text {sign} {quoted(text)}", st.sampled_from(["<", ">", "=", "<>"]), TEXTS),
    st.builds(lambda text: f"text LIKE {quoted(text + '%')}", st.text("abcé", max_size=3)),
    st.builds("price BETWEEN {} AND {}".format, NUMBERS, NUMBERS),
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


@given(event=EVENTS, where=CONDITIONS)
def test_a_box_holds_every_event_that_its_condition_accepts(event: dict[str, Any], where: str) -> None:
    point = SPACE.point(event)
    assert all(0 <= x < 1 for x in point)
    rules = matcher(SCHEMA, engine="scan")
    rules.add("one", where)
    if rules.match(event):
        box = SPACE.box(where)
        assert box is not None
        assert all(low <= x <= high for low, x, high in zip(box[0], point, box[1], strict=True))


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


@pytest.mark.parametrize("axes", [[], [Axis("number", 5, 5)]])
def test_a_space_that_cannot_be_is_refused(axes: list[Axis]) -> None:
    with pytest.raises(SpaceError):
        EventSpace(SCHEMA, axes)
