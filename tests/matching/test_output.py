"""One answer in whatever form the events come: a row, a batch, a list, a dict, a frame; on every engine.

Only the public interface is used here, and what the answer must be is written in the cases.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.model.event_values import CASES, DISGUISES, arrow_type, column_of, kind_of, raw_of

import rookery
from rookery.errors import EventError
from rookery.matching import ENGINES
from rookery.model.expressions import Literal, Timestamp, value_text

TYPES = sorted({name for name, *_ in CASES})
#: Arrow types that pandas or Polars would turn into other values than the column has.
NO_PANDAS = ("time", "duration", "null")
NO_POLARS = ("decimal256", "time", "duration", "float16", "null", "decimal32", "decimal64")


def literal(name: str, read: Any) -> str:
    if isinstance(read, str) and name.startswith("float"):
        return read.replace("Infinity", "1e400")
    if name.startswith("timestamp"):
        return value_text(Literal(Timestamp(read)))
    if name.startswith(("float", "decimal")):
        return str(value_text(Literal(Decimal(str(read)))))
    return value_text(Literal(read))


def key(name: str, read: Any) -> str:
    """Return the id of the subscription that wants exactly this value."""
    if name.startswith(("float", "decimal")):
        return str(Decimal(str(read)).normalize())
    return str(read)


@cache
def matcher_of(engine: str, name: str) -> Any:
    """Return a set that says of an event's x which of the values that its type's cases read it is."""
    matcher = rookery.matcher(rookery.Schema.from_dict({"x": kind_of(name)}), engine=engine)
    matcher.add("NULL", "x IS NULL")
    matcher.add("some", "x IS NOT NULL")
    for read in (read for one, _, _, read in CASES if one == name and read not in (None, "error", "elsewhere")):
        if key(name, read) not in matcher:
            matcher.add(key(name, read), f"x = {literal(name, read)}")
    return matcher


def forms(engine: str, arrow: str, value: Any) -> dict[str, Callable[[Any], Any]]:
    """Return how one event of a case is matched, by form; each returns the ids or raises."""
    kind = arrow_type(arrow)
    raw = raw_of(kind, value)
    # The engines share what reads columns, and the oracle has its own: these two see every form.
    disguises = [one for one in DISGUISES.items() if engine in ("bitmap", "scan") or one[0] == "plain"]
    column = column_of(kind, [value])
    table = pa.table({"event_id": [1], "x": column})
    found: dict[str, Any] = {
        "list": [{"event_id": 1, "x": raw}],
        "dict": {"event_id": [1], "x": [raw]},
        **{form: pa.table({"event_id": [1], "x": disguise(column)}) for form, disguise in disguises},
    }
    if not arrow.startswith(NO_PANDAS):
        found["pandas"] = table.to_pandas(date_as_object=True)
    if not arrow.startswith(NO_POLARS):
        found["polars"] = pl.from_arrow(table)
    many = {
        form: lambda matcher, events=events, **options: matcher.match_many(events, **options)[1].to_pylist()
        for form, events in found.items()
    }
    return {"row": lambda matcher, **options: matcher.match({"x": raw}, **options), **many}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TYPES)
def test_every_form_gives_the_same_answer(engine: str, name: str) -> None:
    matcher = matcher_of(engine, name)
    for case in (case for case in CASES if case[0] == name):
        _, arrow, value, read = case
        texts = set()
        for form, match in forms(engine, arrow, value).items():
            if read == "error":
                with pytest.raises(EventError, match=r"^x\b") as caught:
                    match(matcher)
                texts.add(str(caught.value))
                assert match(matcher, on_error="null") == ["NULL"], (case, form)
                continue
            wanted = ["NULL"] if read is None else ["some"] if read == "elsewhere" else ["some", key(name, read)]
            assert match(matcher) == wanted, (case, form)
            assert match(matcher, on_error="null") == wanted, (case, form)
        assert len(texts) == (read == "error"), (case, texts)


# ---- topics ----------------------------------------------------------------------------------------------------------

TOPICS: list[tuple[str, dict[str, Any], Any]] = [
    ("one", {}, ["any", "b"]),
    ("one", {"topic": None}, ["any"]),
    ("one", {"topic": float("nan")}, ["any"]),
    ("one", {"topic": pd.NA}, ["any"]),
    ("one", {"topic": "b"}, ["any", "b"]),
    ("one", {"topic": "c"}, ["any"]),
    ("one", {"topic": 5}, EventError),
    ("one", {"topic": b"b"}, EventError),
    ("none", {"topic": 5}, ["any"]),
    ("none", {}, ["any"]),
    ("two", {}, EventError),
    ("two", {"topic": None}, ["any"]),
    ("two", {"topic": "c"}, ["any", "c"]),
    ("two", {"topic": 5}, EventError),
]


def topical(engine: str, which: str) -> Any:
    matcher = rookery.matcher(rookery.Schema(x=int), engine=engine)
    matcher.add("any", "x = 1")
    for topic in {"none": "", "one": "b", "two": "bc"}[which]:
        matcher.add(topic, "x = 1", topic=topic)
    return matcher


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("which", "more", "wanted"), TOPICS, ids=str)
def test_an_event_that_has_a_topic_names_it(engine: str, which: str, more: dict[str, Any], wanted: Any) -> None:
    matcher = topical(engine, which)
    event = {"event_id": 1, "x": 1, **more}
    objects = pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in event.items()})
    many = [[event], {name: [value] for name, value in event.items()}, objects]
    ways = [lambda: matcher.match(event), *(lambda one=one: matcher.match_many(one)[1].to_pylist() for one in many)]
    if wanted is not EventError:
        assert [way() for way in ways] == [wanted] * len(ways)
        assert matcher.compile().match(event) == matcher.compile().match_many([event])[1].to_pylist() == wanted
        assert [one for one in ("any", "b", "c") if one in matcher and matcher.explain(one, event).matched] == wanted
        return
    texts = set()
    for way in [*ways, lambda: matcher.explain("any", event)]:
        with pytest.raises(EventError) as caught:
            way()
        texts.add(str(caught.value))
    assert len(texts) == 1
    if more:
        assert matcher.match(event, on_error="null") == ["any"]
        assert matcher.match_many([event], on_error="null")[1].to_pylist() == ["any"]
        assert not matcher.explain("b", event, on_error="null").matched


@pytest.mark.parametrize("engine", ENGINES)
def test_topics_in_arrow_of_any_form(engine: str) -> None:
    matcher = topical(engine, "two")
    topics = pa.array(["b", None, "c", "d"])
    for name, disguise in DISGUISES.items():
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            events = pa.table({"event_id": range(4), "x": [1] * 4, "topic": disguise(topics.cast(kind))})
            found = matcher.match_many(events).to_pylist()
            pairs = [(row["event_id"], row["subscription_id"]) for row in found]
            assert pairs == [(0, "any"), (0, "b"), (1, "any"), (2, "any"), (2, "c"), (3, "any")], (name, kind)
    for kind in (pa.null(), pa.string()):
        events = pa.table({"event_id": [1], "x": [1], "topic": pa.nulls(1, kind)})
        assert matcher.match_many(events)[1].to_pylist() == ["any"]
    with pytest.raises(EventError, match="topic is a string, and the event has 5"):
        matcher.match_many(pa.table({"event_id": [1], "x": [1], "topic": [5]}))
    with pytest.raises(EventError, match="topic is a string"):
        matcher.match({"x": 1}, topic=5)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_list_may_name_topics_of_some_events_only(engine: str) -> None:
    matcher = topical(engine, "one")
    events = [{"event_id": 1, "x": 1}, {"event_id": 2, "x": 1, "topic": None}, {"event_id": 3, "x": 1, "topic": "b"}]
    found = matcher.match_many(events).to_pylist()
    assert [(row["event_id"], row["subscription_id"]) for row in found] == [
        (row["event_id"], one) for row in events for one in matcher.match(row)
    ]
    matcher.add("c", "x = 1", topic="c")
    with pytest.raises(EventError, match="2 topics"):
        matcher.match_many(events)
    assert matcher.match_many(events[1:]).num_rows == 3
    assert matcher.match_many([]).num_rows == 0


# ---- columns that no condition names -------------------------------------------------------------------------------

ODD = {
    "string_view": pa.array(["a", None, "c"], pa.string_view()),
    "binary_view": pa.array([b"a", None, b"c"], pa.binary_view()),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None])),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    ),
    "list of views": pa.array([["a"], None, []], pa.list_(pa.string_view())),
    "interval": pa.array([(1, 2, 3), None, (0, 0, 0)], pa.month_day_nano_interval()),
    "uuid": pa.array([b"0" * 16, None, b"1" * 16], pa.uuid()),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("odd", ODD)
def test_columns_that_no_condition_names_never_matter(engine: str, odd: str) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int, y=int, s=str), engine=engine)
    matcher.add("doubtful", "x < y AND s LIKE '%b_%'")
    texts = pa.array(["abc", "abd", None])
    events = pa.table({"event_id": [1, 2, 3], "x": [1, 2, 3], "y": [2, 2, 9], "s": texts, odd: ODD[odd]})
    assert matcher.match_many(events)[0].to_pylist() == [1]
    events = events.set_column(3, "s", texts.cast(pa.string_view()))
    assert matcher.match_many(events)[0].to_pylist() == [1]
    doubled = events.append_column(odd, ODD[odd])
    assert matcher.match_many(doubled)[0].to_pylist() == [1]
    if odd == "list of views":
        with pytest.raises(EventError, match=r"list of views: .* cannot name events"):
            matcher.match_many(events, event_id=odd)
    else:
        assert matcher.match_many(events, event_id=odd)[0].to_pylist() == ODD[odd][:1].to_pylist()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_is_judged_alike_in_row_and_batch_even_where_only_verifying_reads_it(engine: str) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int, y=int), engine=engine)
    matcher.add("doubtful", "x < y")
    events = [{"event_id": 1, "x": 1, "y": 2}, {"event_id": 2, "x": None, "y": 2.5}]
    for give in (lambda: matcher.match(events[1]), lambda: matcher.match_many(events)):
        with pytest.raises(EventError, match=r"y: 2\.5 does not fit int64"):
            give()
    assert matcher.match_many(events, on_error="null")[0].to_pylist() == [1]


@pytest.mark.parametrize("engine", [one for one in ENGINES if one != "scan"])
def test_what_no_box_holds_is_judged_where_it_is_verified(engine: str) -> None:
    """Past its cap a normal form keeps one wide box of `a`, and a program: what that asks is read of every event."""
    matcher = rookery.matcher(rookery.Schema(a=int, b=int, c=int), engine=engine)
    matcher.add("long", " OR ".join(f"(a = {2 * i} AND {'bc'[i % 2]} = {i})" for i in range(80)))
    events = [{"event_id": 1, "a": 4, "b": 2}, {"event_id": 2, "a": 999, "b": 2}]
    texts = {"event_id": [1, 2], "a": [4, 999], "b": pa.array([2.0, 2.0]), "c": pa.nulls(2)}
    assert [matcher.match(event) for event in events] == [["long"], []]
    assert matcher.match_many([{**event, "c": None} for event in events])[0].to_pylist() == [1]
    assert matcher.match_many(pa.table(texts))[0].to_pylist() == [1]
    bad = {**events[1], "b": 2.5, "c": None}
    for way in (lambda: matcher.match(bad), lambda: matcher.match_many([bad])):
        with pytest.raises(EventError, match=r"b: 2\.5 does not fit int64"):
            way()


# ---- times -----------------------------------------------------------------------------------------------------------

TIMES: list[tuple[Any, Any]] = [
    (datetime(2026, 1, 15, tzinfo=UTC), ["dated", "plain"]),
    (datetime(2026, 1, 15), ["dated", "plain"]),
    (date(2026, 1, 1), ["dated", "plain"]),
    (date(2025, 12, 31), ["plain"]),
    ("2026-01-01T00:00:00Z", ["dated", "plain"]),
    (pd.Timestamp("2025-12-31T23:59:59.999999999"), ["plain"]),
    (pd.Timestamp("2026-01-01T00:00:00.000000001"), ["dated", "plain"]),
    (np.datetime64("2026-01-01T00:00:00.000000001"), ["dated", "plain"]),
    (np.datetime64("2026-02-01"), ["plain"]),
    (pd.NaT, ["plain"]),
    (np.datetime64("NaT"), ["plain"]),
    (5, EventError),
    ("noon", EventError),
    (np.datetime64(2**62, "s"), EventError),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("time", "wanted"), TIMES, ids=str)
def test_a_time_is_read_alike_in_every_form(engine: str, time: Any, wanted: Any) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int), engine=engine)
    matcher.add("dated", "x = 1", valid_from="2026-01-01T00:00:00Z", valid_to="2026-02-01T00:00:00Z")
    matcher.add("plain", "x = 1")
    event = {"event_id": 1, "x": 1, "at": time}
    objects = pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in event.items()})
    ways = [
        lambda **options: matcher.match({"x": 1}, time=time, **options),
        *(
            lambda one=one, **options: matcher.match_many(one, time="at", **options)[1].to_pylist()
            for one in ([event], {name: [value] for name, value in event.items()}, objects)
        ),
    ]
    if wanted is EventError:
        for way in ways:
            with pytest.raises(EventError, match="time is wrong"):
                way()
            assert way(on_error="null") == ["plain"]
        return
    assert [way() for way in ways] == [wanted] * 4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "kind", ["timestamp[s]", "timestamp[ms, tz=Asia/Tokyo]", "timestamp[us]", "timestamp[ns]", "date32", "date64"]
)
def test_a_time_column_of_any_type(engine: str, kind: str) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int), engine=engine)
    matcher.add("dated", "x = 1", valid_from="2026-01-01T00:00:00Z")
    moments = pa.array([date(2025, 12, 31), date(2026, 1, 1), None]).cast(pa.timestamp("s")).cast(arrow_type(kind))
    for name, disguise in DISGUISES.items():
        events = pa.table({"event_id": [1, 2, 3], "x": [1, 1, 1], "at": disguise(moments)})
        assert matcher.match_many(events, time="at")[0].to_pylist() == [2], name
    with pytest.raises(EventError, match="time is wrong"):
        matcher.match_many(pa.table({"event_id": [1], "x": [1], "at": [5]}), time="at")
    with pytest.raises(EventError, match="no column 'when'"):
        matcher.match_many(pa.table({"event_id": [1], "x": [1]}), time="when")


# ---- the rest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_what_cannot_be_asked_is_refused(engine: str) -> None:
    matcher = matcher_of(engine, "int64")
    event = {"event_id": 1, "x": 1}
    for way in (
        lambda: matcher.match(event, on_error="quarantine"),
        lambda: matcher.match_many([event], on_error="quarantine"),
        lambda: matcher.compile().match_indices([event], on_error="quarantine"),
        lambda: matcher.explain("some", event, on_error="quarantine"),
    ):
        with pytest.raises(ValueError, match="'raise' or 'null'"):
            way()
    with pytest.raises(EventError, match="no column 'event_id'"):
        matcher.match_many([{"x": 1}])
    for give in (lambda: matcher.match(5), lambda: matcher.match_many([5])):
        with pytest.raises(EventError, match="an event is a mapping, and this has 5"):
            give()
    assert matcher.match_many([{"event_id": 1}])[1].to_pylist() == ["NULL"]
    assert matcher.match_many({"event_id": [1]}, missing="null")[1].to_pylist() == ["NULL"]
    with pytest.raises(EventError, match="no column 'x'"):
        matcher.match_many({"event_id": [1]})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_text_that_utf_8_cannot_hold_is_refused_in_row_and_batch(engine: str) -> None:
    matcher = matcher_of(engine, "string")
    for way in (lambda: matcher.match({"x": "\ud800"}), lambda: matcher.match_many([{"event_id": 1, "x": "\ud800"}])):
        with pytest.raises(EventError, match="does not fit string"):
            way()


@pytest.mark.parametrize("engine", ENGINES)
def test_explain_reads_as_match_does(engine: str) -> None:
    matcher = matcher_of(engine, "int64")
    with pytest.raises(EventError, match=r"x: 3\.5 does not fit int64"):
        matcher.explain("some", {"x": 3.5})
    assert not matcher.explain("some", {"x": 3.5}, on_error="null").matched
    assert matcher.explain("NULL", {"x": 3.5}, on_error="null").matched
    assert matcher.explain("3", {"x": 3.0}).matched


def test_a_batch_of_many_parts_is_one_batch() -> None:
    """Past what is coded at a time, in every form of the columns, the last event is still in its place."""
    matcher = rookery.matcher(rookery.Schema(x=int, s=str))
    matcher.add("last", "x = 299999 AND s LIKE '%9_'")
    numbers = np.arange(300_000)
    texts = pa.array(numbers).cast(pa.string())
    for x, s in ((numbers, texts), (numbers.astype(np.float64), texts.cast(pa.string_view()))):
        events = {"event_id": numbers, "x": x, "s": s}
        assert matcher.match_many(events)[0].to_pylist() == [299_999]
