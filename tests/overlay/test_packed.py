"""Events as bytes: what is unpacked is what was packed, what is no event is an error, and one is read once."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery import Schema
from rookery.errors import EventError
from rookery.overlay.interests import WhereInterests
from rookery.overlay.packed import PackedInterests, pack, unpack
from rookery.space.grid import Grid, NumericAxis

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abcdef"), values))
def test_what_is_unpacked_is_what_was_packed(event: dict[str, Any]) -> None:
    found = unpack(pack(event))
    assert found == event
    assert all(type(found[name]) is type(event[name]) for name in event)


@given(st.binary(max_size=60))
def test_octets_that_are_no_event_are_an_event_error(octets: bytes) -> None:
    try:
        event = unpack(octets)
    except EventError:
        return
    assert all(isinstance(name, str) for name in event)


def test_numbers_of_numpy_travel_and_others_do_not() -> None:
    assert unpack(pack({"n": np.int32(3), "d": Decimal("1.20"), "t": date(2020, 1, 2)})) == {
        "n": 3,
        "d": Decimal("1.20"),
        "t": date(2020, 1, 2),
    }
    assert unpack(pack({"t": datetime(2020, 1, 2, 3)}))["t"] == datetime(2020, 1, 2, 3)
    with pytest.raises(EventError):
        pack({"x": object()})


def test_packed_interests_are_those_inside() -> None:
    schema, grid = Schema(symbol=str, price=float), Grid([NumericAxis("price", (0.0, 10.0, 20.0))])
    where = WhereInterests(schema, grid, {"a": "price < 5", "b": "symbol = 'ACME'", "c": "price > 15"})
    packed = PackedInterests(where)
    assert packed.cells == where.cells
    for event in ({"symbol": "ACME", "price": 3.0}, {"symbol": "EMCA", "price": 17.0}, {"price": 7.0}):
        payload = pack(event)
        assert packed.matching(payload) == where.matching(event)
        assert packed.cell(payload) == where.cell(event)
    for wrong in (b"\xc1", b"\x93\x01\x02\x03", None, "text"):
        with pytest.raises(EventError, match="no event"):
            packed.matching(wrong)  # type: ignore[arg-type]
