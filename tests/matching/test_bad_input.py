"""Bad input, on every engine: a clear error that names the place, and a set that is as it was before."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import rookery
from rookery.errors import (
    DuplicateSubscriptionError,
    EventError,
    RookeryError,
    SubscriptionError,
    UnknownSubscriptionError,
)
from rookery.matching import ENGINES

SCHEMA = rookery.Schema.from_dict(
    {
        "symbol": "string",
        "price": "float64",
        "volume": "int64",
        "at": "timestamp[us]",
        "leg": {"strike": "float64"},
        "tags": ["string"],
    }
)
EVENT = {
    "symbol": "ACME",
    "price": 9.5,
    "volume": 100,
    "at": "2026-05-01T12:00:00Z",
    "leg": {"strike": 1.0},
    "tags": ["a"],
}
BATCH = pa.table({"event_id": [1, 2], "symbol": ["ACME", "X"], "price": [9.5, 20.0], "volume": [100, 7]})


@pytest.fixture(params=ENGINES)
def matcher(request: pytest.FixtureRequest) -> Any:
    made = rookery.matcher(SCHEMA, engine=request.param)
    made.add("cheap", "symbol = 'ACME' AND price < 10")
    made.add("all", "", topic="quotes")
    made.add("new", "volume > %0", parameters=["50"], version=2)
    return made


def content(matcher: Any) -> Any:
    """Return what the set says: its length, its matches, and that it asks for no further column."""
    rows = matcher.match_many(BATCH).to_pylist()
    return len(matcher), matcher.match(EVENT), rows, len(matcher.quarantined)


BAD_FILTERS = {
    "malformed": ("price >", "found the end"),
    "unknown field": ("prise > 1", "did you mean 'price'"),
    "wrong type": ("price = 'ten'", "price is a number"),
    "one megabyte": ("price > 1 OR " * 80_000 + "price > 1", "more than the 262,144 allowed"),
    "ten thousand parentheses": ("(" * 10_000 + "price > 1" + ")" * 10_000, "nested deeper than 100 levels"),
    "ten thousand opening parentheses": ("(" * 10_000, "nested deeper than 100 levels"),
    "ten thousand NOTs": ("NOT " * 10_000 + "price > 1", "nested deeper than 100 levels"),
    "parameter without a value": ("price > %3", "parameter %3 has no value"),
    "no closing quote": ("symbol = 'ACME", "no closing quote"),
    "half a surrogate pair": ("symbol = '\ud800'", "surrogate"),
}


@pytest.mark.parametrize("name", BAD_FILTERS)
def test_a_bad_filter_is_refused_by_id_and_place(matcher: Any, name: str) -> None:
    text, fragment = BAD_FILTERS[name]
    before = content(matcher)
    with pytest.raises(SubscriptionError) as caught:
        matcher.add("bad", text)
    assert fragment in str(caught.value)
    assert str(caught.value).startswith("'bad': ")
    assert "^" in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert content(matcher) == before
    with pytest.raises(SubscriptionError, match="'cheap'"):
        matcher.replace("cheap", text)
    assert content(matcher) == before


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"subscription_id": 5, "where": ""}, "ids"),
        ({"subscription_id": None, "where": ""}, "string or an integer"),
        ({"subscription_id": 1.5, "where": ""}, "string or an integer"),
        ({"subscription_id": True, "where": ""}, "string or an integer"),
        ({"subscription_id": "\ud800", "where": ""}, "surrogate"),
        ({"subscription_id": "x", "where": 5}, "filter is a text"),
        ({"subscription_id": "x", "where": b"price > 1"}, "filter is a text"),
        ({"subscription_id": "x", "topic": 5}, "topic is a text"),
        ({"subscription_id": "x", "topic": "\udfff"}, "surrogate"),
        ({"subscription_id": "x", "where": "", "version": "2"}, "version is an integer"),
        ({"subscription_id": "x", "where": "", "version": 2**63}, "version is an integer"),
        ({"subscription_id": "x", "where": "price > %0", "parameters": "5"}, "parameters are a list"),
        ({"subscription_id": "x", "where": "", "valid_from": "soon"}, "effective date is wrong"),
        ({"subscription_id": "x", "where": "", "valid_from": 5}, "effective date is wrong"),
        ({"subscription_id": "x", "where": "", "valid_from": "2026-01-02", "valid_to": "2026-01-02"}, "not after"),
        (
            {"subscription_id": "x", "where": "", "valid_from": "2026-01-01T00:00:00.0000001Z"},
            "finer than a microsecond",
        ),
    ],
    ids=str,
)
def test_a_bad_record_is_refused(matcher: Any, arguments: dict[str, Any], fragment: str) -> None:
    before = content(matcher)
    with pytest.raises(SubscriptionError, match=fragment):
        matcher.add(**arguments)
    assert content(matcher) == before


def test_a_taken_id_is_refused(matcher: Any) -> None:
    before = content(matcher)
    with pytest.raises(DuplicateSubscriptionError, match="'cheap'"):
        matcher.add("cheap", "price > 1")
    with pytest.raises(DuplicateSubscriptionError, match="'new'"):
        matcher.add("new", "leg.strike > 1", version=2)
    assert content(matcher) == before


def test_an_unknown_id_is_refused(matcher: Any) -> None:
    before = content(matcher)
    for attempt in (
        lambda: matcher.remove("nobody"),
        lambda: matcher.remove("cheap", version=7),
        lambda: matcher.replace("nobody", "price > 1"),
        lambda: matcher.set_parameters("nobody", ["1"]),
        lambda: matcher.set_parameters("new", ["1"], version=9),
        lambda: matcher.explain("nobody", EVENT),
    ):
        with pytest.raises(UnknownSubscriptionError) as caught:
            attempt()
        assert isinstance(caught.value, KeyError)
    assert content(matcher) == before


def test_bad_parameters_leave_the_old_ones(matcher: Any) -> None:
    before = content(matcher)
    for values in (["many"], [], [None]):
        with pytest.raises(SubscriptionError, match="'new'"):
            matcher.set_parameters("new", values)
        assert content(matcher) == before
    with pytest.raises(SubscriptionError):
        matcher.set_parameters("new", "50")
    assert content(matcher) == before


BAD_ROWS = {
    "malformed": {"where": "price >"},
    "unknown field": {"where": "prise > 1"},
    "null filter": {"where": None},
    "null id": {"subscription_id": None},
    "id of the set": {"subscription_id": "cheap"},
    "id twice": {"subscription_id": "good1"},
}


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_one_bad_row_spoils_the_whole_table(matcher: Any, name: str, place: int) -> None:
    """Nothing is half-applied: neither rows, nor versions, nor columns that matching would then ask for."""
    if name == "id twice" and place == 0:
        place = 4
    rows = [{"subscription_id": f"good{row}", "where": "leg.strike > 1 AND tags[0] = 'z'"} for row in range(4)]
    rows.insert(place, {"subscription_id": "bad", "where": "", **BAD_ROWS[name]})
    before = content(matcher)
    with pytest.raises(SubscriptionError):
        matcher.add_many(
            pa.Table.from_pylist(rows, pa.schema([("subscription_id", pa.string()), ("where", pa.string())]))
        )
    assert content(matcher) == before
    assert "good0" not in matcher


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "scan"])
def test_a_refused_table_leaves_the_compiled_content_unchanged(engine: str) -> None:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    matcher.add("cheap", "symbol = 'ACME' AND price < 10")
    before, version = matcher.compile(), matcher.set_version
    with pytest.raises(SubscriptionError):
        matcher.add_many(pa.table({"subscription_id": ["a", "b"], "where": ["symbol > 'B' AND volume = 1", "oops"]}))
    with pytest.raises(RookeryError):
        matcher.add_boxes(["c", "d"], equals={"symbol": ["Q", "R"]}, lower={"volume": [1.5, 2.5]})
    with pytest.raises(SubscriptionError):
        matcher.add("e", "symbol = 'Z' AND volume >")
    after = matcher.compile()
    assert matcher.set_version == version
    assert after.subscriptions.equals(before.subscriptions)
    assert after.content_hash == before.content_hash


@pytest.mark.parametrize("engine", ENGINES)
def test_quarantine_keeps_the_good_ones(engine: str) -> None:
    matcher = rookery.matcher(SCHEMA, engine=engine, on_error="quarantine")
    rows = {
        "subscription_id": ["a", "b", "c", "a", "d"],
        "where": ["price > 1", "prise > 1", "volume = 1", "", "price = 'x'"],
    }
    matcher.add_many(pa.table(rows))
    matcher.add("e", "price >")
    matcher.add("f", "price < 100")
    assert len(matcher) == 3
    assert sorted(matcher.match(EVENT)) == ["a", "f"]
    assert sorted(str(error.subscription_id) for error in matcher.quarantined) == ["a", "b", "d", "e"]
    assert all(isinstance(error, SubscriptionError) and str(error) for error in matcher.quarantined)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_quarantined_version_decides_nothing(engine: str) -> None:
    matcher = rookery.matcher(SCHEMA, engine=engine, on_error="quarantine")
    matcher.add_many(pa.table({"subscription_id": ["a", "a"], "where": ["volume > 0", "nope > 0"], "version": [1, 2]}))
    assert matcher.match({"volume": 1}) == ["a"]
    assert len(matcher.quarantined) == 1


def test_a_table_without_the_columns_is_refused(matcher: Any) -> None:
    before = content(matcher)
    for table in (pa.table({"id": ["a"], "where": ["x"]}), pa.table({"subscription_id": ["a"], "filter": ["x"]})):
        with pytest.raises(SubscriptionError, match="no column"):
            matcher.add_many(table)
    assert content(matcher) == before


def test_a_bad_mode_or_engine_is_refused() -> None:
    with pytest.raises(ValueError, match="no engine 'fast'"):
        rookery.matcher(SCHEMA, engine="fast")
    for engine in ENGINES:
        if engine != "scan":
            with pytest.raises(ValueError, match="on_error"):
                rookery.matcher(SCHEMA, engine=engine, on_error="ignore")


BAD_EVENTS = [
    ({"price": "9.5"}, "price"),
    ({"price": True}, "price"),
    ({"volume": 1.5}, "volume"),
    ({"volume": 2**63}, "does not fit int64"),
    ({"symbol": 5}, "symbol"),
    ({"symbol": b"ACME"}, "symbol"),
]


@pytest.mark.parametrize(("event", "fragment"), BAD_EVENTS, ids=str)
def test_an_event_of_wrong_types_is_refused_by_attribute(matcher: Any, event: dict[str, Any], fragment: str) -> None:
    with pytest.raises(EventError, match=fragment):
        matcher.match({**EVENT, **event})


def test_a_nested_value_of_another_shape_is_refused(matcher: Any) -> None:
    matcher.add("deep", "leg.strike > 0 OR tags[0] = 'a' OR at > TIMESTAMP '2026-01-01'")
    for event in ({"leg": 5}, {"leg": [1.0]}, {"tags": "abc"}, {"tags": {"0": "a"}}, {"at": 5}, {"at": "noon"}):
        with pytest.raises(EventError, match=next(iter(event))):
            matcher.match({**EVENT, **event})


BAD_BATCHES = [
    (BATCH.drop_columns(["price"]), {}, "no column 'price'"),
    (BATCH.drop_columns(["event_id"]), {}, "no column 'event_id'"),
    (BATCH.set_column(2, "price", pa.array(["a", "b"])), {}, "price"),
    (BATCH.set_column(2, "price", pa.array([True, False])), {}, "price"),
    (BATCH.set_column(1, "symbol", pa.array([1, 2])), {}, "symbol"),
    (BATCH.set_column(3, "volume", pa.array([1.0, 2.5])), {}, "volume: 2.5"),
    (BATCH.set_column(3, "volume", pa.array([2**63, 1], pa.uint64())), {}, "volume"),
    (BATCH.append_column("price", pa.array([1.0, 2.0])), {}, "2 columns named 'price'"),
    (BATCH, {"event_id": "nope"}, "no column 'nope'"),
]


@pytest.mark.parametrize(
    ("batch", "options", "fragment"), BAD_BATCHES, ids=[fragment for _, _, fragment in BAD_BATCHES]
)
def test_a_batch_that_does_not_fit_is_refused_by_column(matcher: Any, batch: Any, options: Any, fragment: str) -> None:
    with pytest.raises(EventError, match=fragment):
        matcher.match_many(batch, **options)


def test_a_missing_column_may_be_null_if_asked(matcher: Any) -> None:
    found = matcher.match_many(BATCH.drop_columns(["price"]), missing="null")
    assert {(row["event_id"], row["subscription_id"]) for row in found.to_pylist()} == {
        (1, "all"),
        (2, "all"),
        (1, "new"),
    }


def test_dates_without_times_are_an_error_that_says_so(matcher: Any) -> None:
    matcher.add("dated", "", valid_from="2026-01-01T00:00:00Z")
    with pytest.raises(EventError, match="effective dates"):
        matcher.match(EVENT)
    with pytest.raises(EventError, match="effective dates"):
        matcher.match_many(BATCH)
    with pytest.raises(EventError, match="time is wrong"):
        matcher.match_many(BATCH, time="volume")
    with pytest.raises(EventError, match="no column 'when'"):
        matcher.match_many(BATCH, time="when")
    with pytest.raises(EventError, match=r"time is wrong|date and time"):
        matcher.match(EVENT, time="noon")
    matcher.remove("dated")
    assert sorted(matcher.match(EVENT)) == ["all", "cheap", "new"]


def test_several_topics_without_one_named_are_an_error_that_says_so(matcher: Any) -> None:
    matcher.add("other", "", topic="trades")
    with pytest.raises(EventError, match="2 topics"):
        matcher.match(EVENT)
    with pytest.raises(EventError, match="2 topics"):
        matcher.match_many(BATCH)
    assert sorted(matcher.match(EVENT, topic="trades")) == ["cheap", "new", "other"]


def test_boxes_that_do_not_fit_are_refused() -> None:
    schema = rookery.Schema.from_dict(
        {"x": "float64", "n": "int64", "u": "uint64", "w": "decimal(30,2)", "e": {"$enum": ["on"]}}
    )
    matcher = rookery.matcher(schema)
    matcher.add_boxes([1, 2], lower={"x": [0.0, 1.0]}, upper={"x": [5.0, None]})
    for arguments, fragment in (
        ({"subscription_id": [3], "lower": {"x": [1.0, 2.0]}}, "2 values for 1"),
        ({"subscription_id": [3], "lower": {"y": [1.0]}}, "unknown field 'y'"),
        ({"subscription_id": [3], "lower": {"u": [1]}}, "uint64"),
        ({"subscription_id": [3], "lower": {"w": [1]}}, "decimal"),
        ({"subscription_id": [3], "equals": {"e": ["off"]}}, "no label 'off'"),
        ({"subscription_id": [3], "equals": {"n": [-(2**63)]}}, "lowest two int64s"),
        ({"subscription_id": [2], "lower": {"x": [1.0]}}, "in the set already"),
        ({"subscription_id": [3, 3], "lower": {"x": [1.0, 2.0]}}, "given twice"),
        ({"subscription_id": ["a"], "lower": {"x": [1.0]}}, "ids"),
        ({"subscription_id": [None], "lower": {"x": [1.0]}}, "null|ids are"),
        ({"subscription_id": [1.5], "lower": {"x": [1.0]}}, "ids are"),
        ({"subscription_id": [3], "equals": {"x": [float("nan")]}}, "NaN"),
    ):
        with pytest.raises(RookeryError, match=fragment):
            matcher.add_boxes(**arguments)
        assert len(matcher) == 2
        assert matcher.match({"x": 3.0}) == [1, 2]
