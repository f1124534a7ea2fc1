"""Values of events: the golden table, NULLs of every library, values that would take forever."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.model.event_values import CASES, arrow_type, attribute_of, raw_of

from rookery.errors import EventError
from rookery.model.events import check_on_error, comparable, read_value, step_into

NULLS = [
    None,
    float("nan"),
    np.float64("nan"),
    np.float32("nan"),
    np.longdouble("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    pd.NaT,
    pd.NA,
    np.datetime64("NaT"),
    np.datetime64("NaT", "ns"),
    np.timedelta64("NaT"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_value_is_read_exactly_or_not_at_all(case: Any) -> None:
    name, arrow, value, read = case
    attribute = attribute_of(name)
    raw = raw_of(arrow_type(arrow), value)
    if read == "error":
        with pytest.raises(EventError, match=r"^x\b"):
            comparable(attribute, raw)
        assert read_value({"x": raw}, attribute, "null") is None
        return
    found = comparable(attribute, raw)
    assert found == (type(found)(read) if found is not None and read is not None else read)
    assert found is None or type(found) in (int, float, str, bool, Decimal)
    assert read_value({"x": raw}, attribute) == found


@pytest.mark.parametrize(
    "name", ["int64", "float64", "float32", "decimal(5,2)", "bool", "string", "enum", "timestamp[us]"]
)
@pytest.mark.parametrize("null", NULLS, ids=repr)
def test_every_library_has_its_null(name: str, null: Any) -> None:
    assert comparable(attribute_of(name), null) is None


MOMENT = datetime(2026, 5, 1, 12, 0, 0, 250_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        MOMENT,
        MOMENT.replace(tzinfo=None),
        MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30))),
        pd.Timestamp(MOMENT),
        pd.Timestamp(MOMENT).tz_convert("America/New_York"),
        pd.Timestamp(MOMENT).as_unit("ms"),
        np.datetime64("2026-05-01T12:00:00.250"),
        np.datetime64("2026-05-01T12:00:00.250000000"),
        "2026-05-01T14:00:00.25+02:00",
    ],
    ids=repr,
)
def test_one_instant_however_it_is_written(value: Any) -> None:
    assert comparable(attribute_of("timestamp[ms]"), value) == 1_777_636_800_250_000_000


@pytest.mark.parametrize(
    ("value", "days"),
    [
        (date(1970, 2, 1), 31),
        (np.datetime64("1970-02-01"), 31),
        (np.datetime64("1971"), 365),
        (np.datetime64(1, "W"), 7),
    ],
    ids=repr,
)
def test_a_date_is_its_midnight(value: Any, days: int) -> None:
    assert comparable(attribute_of("timestamp[s]"), value) == days * 86_400 * 10**9


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("int64", 3.5, "x: 3.5 does not fit int64"),
        ("int64", True, "x is an int64, and the event has True"),
        ("int64", Decimal("1e999999999"), "x: 1E+999999999 does not fit int64"),
        ("int64", Decimal("1e-999999999"), "x: 1E-999999999 does not fit int64"),
        ("int64", 10**10_000, "x: an integer of 33,220 bits does not fit int64"),
        ("int64", np.timedelta64(5, "ns"), r"x is an int64, and the event has .*timedelta64"),
        ("int64", pd.Period("2026-05"), "x is an int64, and the event has Period"),
        ("int64", 1 + 0j, "x is an int64"),
        ("float64", Decimal("1e999999999"), "x: 1E+999999999 does not fit float64"),
        ("float64", Decimal("1e-999999999"), "does not fit float64"),
        ("float64", 10**10_000, "an integer of 33,220 bits"),
        ("decimal(5,2)", Decimal("1e999999999"), "x: 1E+999999999 does not fit decimal"),
        ("decimal(5,2)", Decimal("1e-999999999"), "does not fit"),
        ("string", "\ud800", "does not fit string"),
        ("string", np.bytes_(b"a"), "x is a string"),
        ("string", ["b"] * 1000, "x is a string, and the event has .{80}…$"),
        ("timestamp[us]", time(12), "x is a timestamp"),
        ("timestamp[us]", timedelta(1), "x is a timestamp"),
        ("timestamp[us]", pd.Timestamp(1, unit="ns"), "x: 1970-01-01T00:00:00.000000001Z is finer than"),
        ("timestamp[us]", np.datetime64(1, "as"), "finer than a nanosecond"),
        ("timestamp[ns]", np.datetime64(10**15, "s"), "ns since 1970 does not fit"),
        ("timestamp[us]", 10**18, "x is a timestamp"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_a_value_that_does_not_fit_is_named(name: str, value: Any, message: str) -> None:
    with pytest.raises(EventError, match=message.replace("+", r"\+")):
        comparable(attribute_of(name), value)


def test_units_finer_than_a_nanosecond_are_read_where_they_are_whole() -> None:
    assert comparable(attribute_of("timestamp[ns]"), np.datetime64(5_000, "ps")) == 5
    assert comparable(attribute_of("timestamp[ns]"), np.datetime64(-(10**9), "as")) == -1


def test_zeros_and_trailing_zeros_fit() -> None:
    assert comparable(attribute_of("decimal(5,2)"), Decimal("0e-999999999")) == 0
    assert comparable(attribute_of("decimal(5,2)"), Decimal("1.50000000")) == Decimal("1.5")
    assert comparable(attribute_of("decimal(5,2)"), Decimal("9e2")) == 900
    assert comparable(attribute_of("int64"), Decimal("3.000")) == 3


def test_steps_pass_null_of_any_kind_and_numpy_lists() -> None:
    for null in NULLS:
        assert step_into({"a": null}, ("a", "b")) is None
        assert step_into({"a": null}, ("a", 0)) is None
    assert step_into({"a": np.array([1, 2])}, ("a", 1)) == 2
    assert step_into({"a": np.array([1, 2])}, ("a", 2)) is None
    with pytest.raises(EventError, match="a is a list"):
        step_into({"a": np.float64(2.0)}, ("a", 0))


def test_an_unknown_on_error_is_refused() -> None:
    with pytest.raises(ValueError, match="'raise' or 'null'"):
        check_on_error("quarantine")
