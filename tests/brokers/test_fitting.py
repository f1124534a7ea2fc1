"""The check of events against a schema: what is said to fit can be read, attribute by attribute."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery import Schema
from rookery.brokers.fitting import EventCheck
from rookery.errors import EventError
from rookery.model.events import comparable, step_into

SCHEMA = Schema.from_dict(
    {"text": "string", "share": "float64", "small": "int8", "large": "uint64", "is": "bool", "cost": "decimal(9,2)"}
    | {"deep": {"x": "float64"}}
)
CHECK = EventCheck(SCHEMA)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(max_size=2),
    st.just({"x": 1.0}),
    st.just({"x": "one"}),
)
PATHS: list[tuple[str, ...]] = [("text",), ("share",), ("small",), ("large",), ("is",), ("cost",), ("deep", "x")]


@example({"share": 2**53 + 1})
@given(st.dictionaries(st.sampled_from([*(path[0] for path in PATHS), "more"]), VALUES, max_size=4))
def test_what_fits_can_be_read_and_what_does_not_cannot(event: dict[str, Any]) -> None:
    def read() -> None:
        for path in PATHS:
            comparable(SCHEMA.attribute(path), step_into(event, path))

    encoded = msgspec.msgpack.encode(event)
    try:
        read()
    except EventError:
        with pytest.raises(EventError):
            CHECK(event, encoded)
    else:
        CHECK(event, encoded)


def test_the_attribute_is_named() -> None:
    for wrong in ({"share": "dear"}, {"small": 300}, {"deep": {"x": "one"}}, {"cost": "cheap"}):
        with pytest.raises(EventError, match=next(iter(wrong))):
            CHECK(wrong, msgspec.msgpack.encode(wrong))
    CHECK({"cost": Decimal("1.50"), "small": 3.0}, msgspec.msgpack.encode({"cost": Decimal("1.50"), "small": 3.0}))
