"""Functions and arithmetic: their exact meaning at the ends, and the columns that equal the values."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import rookery
from model.generators import random_event, random_filter, random_schema
from rookery.errors import SubscriptionError
from rookery.model import parse, to_text
from rookery.model.check import COMPUTED
from rookery.model.computed import computed_attribute, computed_column, computed_value
from rookery.model.event_columns import comparables, read_column
from rookery.model.events import read_value
from rookery.model.lower import lower

SCHEMA = rookery.Schema.from_dict(
    {"i": "int64", "u": "uint64", "x": "float64", "d": "decimal(20,3)", "s": "string", "t": "timestamp", "b": "bool"}
)


def value_of(text: str, **event: Any) -> Any:
    attribute = computed_attribute(SCHEMA, (COMPUTED, text))
    return computed_value(attribute, lambda one: read_value(event, one))


@pytest.mark.parametrize(
    ("text", "event", "wanted"),
    [
        ("i + 1", {"i": 2**63 - 1}, None),
        ("i - 1", {"i": -(2**63)}, None),
        ("i * 2", {"i": 2**62}, None),
        ("i * 2", {"i": -(2**62)}, -(2**63)),
        ("-(i)", {"i": -(2**63)}, None),
        ("u + 0", {"u": 2**64 - 1}, None),
        ("i + u", {"i": -(2**63), "u": 2**63}, 0),
        ("i % 3", {"i": -7}, -1),
        ("i % 0", {"i": 7}, None),
        ("i / 2", {"i": 7}, 3.5),
        ("i / 0", {"i": 7}, None),
        ("x * 2", {"x": 1e308}, float("inf")),
        ("x - x", {"x": float("inf")}, None),
        ("x % 2.5", {"x": -6.0}, -1.0),
        ("d * 2", {"d": Decimal("1.105")}, Decimal("2.210")),
        ("d + 0.0005", {"d": Decimal("1.000")}, Decimal("1.0005")),
        ("round(d, 2)", {"d": Decimal("-1.105")}, Decimal("-1.11")),
        ("round(x)", {"x": 2.5}, 3.0),
        ("round(x, 1)", {"x": -0.25}, -0.3),
        ("floor(d)", {"d": Decimal("-1.500")}, Decimal(-2)),
        ("ceil(x)", {"x": -1.5}, -1.0),
        ("length(s)", {"s": "é😀"}, 2),
        ("upper(s)", {"s": "straße"}, "STRAßE"),
        ("lower(s)", {"s": "İA"}, "İa"),
        ("trim(s)", {"s": " \ta "}, "\ta"),
        ("substring(s, -2)", {"s": "abc"}, "bc"),
        ("substring(s, 0, 2)", {"s": "abc"}, "ab"),
        ("substring(s, -5, 3)", {"s": "abc"}, "a"),
        ("coalesce(s, 'z')", {}, "z"),
        ("nullif(i, 3)", {"i": 3}, None),
        ("least(i, 4)", {}, 4),
        ("greatest(i, x)", {"i": 3, "x": 2.5}, 3.0),
        ("year(t)", {"t": datetime(2026, 5, 1)}, 2026),
        ("date_trunc('month', t)", {"t": datetime(1969, 12, 31, 23)}, -31 * 86_400 * 10**9),
        ("s || s", {}, None),
    ],
)
def test_a_value_is_exact(text: str, event: dict[str, Any], wanted: Any) -> None:
    found = value_of(text, **event)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s + 1 = 2", "takes numbers"),
        ("lower(i) = 'a'", "argument 1 of lower is a text"),
        ("substring(s, x) = 'a'", "argument 2 of substring is a whole number"),
        ("coalesce(i, s) = 1", "values of one kind"),
        ("date_trunc('fortnight', t) = t", "date_trunc takes one of"),
        ("year(i) = 3", "takes an instant"),
        ("round(x, i) = 1", "number of places"),
        ("lower(s) = 5", "is a string, and 5 is not"),
        ("i > 1 / 0", "is NULL"),
        ("b + 1 = 2", "takes numbers"),
    ],
)
def test_what_a_function_does_not_take_is_refused(text: str, message: str) -> None:
    with pytest.raises(SubscriptionError, match=message):
        rookery.matcher(SCHEMA).add("bad", text)


def test_columns_are_what_the_values_are_one_by_one() -> None:
    random = Random(3)
    seen = 0
    for _ in range(150):
        schema = random_schema(random, most=4)
        text, parameters = random_filter(random, schema, depth=1)
        paths = {path for term in lower(parse(text), schema, parameters) for path in term.constraints}
        rows = [random_event(random, schema) for _ in range(6)]
        for path in paths:
            if path[0] != COMPUTED:
                continue
            attribute = computed_attribute(schema, path)
            arrays = {
                one.path: read_column(one, [row.get(str(one.path[0])) for row in rows]) for one in attribute.fields
            }
            column = comparables(attribute, computed_column(attribute, arrays, len(rows)))
            assert column == [computed_value(attribute, lambda one, row=row: read_value(row, one)) for row in rows]  # type: ignore[misc]
            seen += 1
    assert seen > 20


def test_texts_of_expressions_parse_to_the_same_tree() -> None:
    for text in (
        "a - (b - c) > 1", "a - b - c > 1", "(a + b) * c = 2", "a || b || 'x' = 'y'", "-(a) < 3", '"odd "" name".x = 1',
        "a * (b / c) % 2 = 1", "coalesce(a, -1) = 2", "NOT (a + 1 = 2 AND b)",
        "a RLIKE 'x' AND b NOT ILIKE '%y' ESCAPE '!'",
    ):  # fmt: skip
        tree = parse(text)
        assert parse(to_text(tree)) == tree, text


def test_a_compiled_set_names_the_columns_that_it_reads() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add("a", "i + u > 3 AND lower(s) LIKE '%a%'")
    assert sorted(matcher.compile().attributes) == ["i", "s", "u"]
    table = pa.table({"event_id": [1], "i": [2], "u": pa.array([2], pa.uint64()), "s": ["XA"]})
    assert matcher.match_many(table).num_rows == 1


def test_rows_that_lack_a_field_are_not_looked_at_and_texts_in_ascii_go_by_arrow() -> None:
    schema = rookery.Schema.from_dict({"a": "string", "b": "string"})
    rows = [("X", "x"), ("İA", "İa"), (None, "x"), ("é", None), ("a", "b"), (None, None), ("É", "é")]
    arrays: dict[tuple[str | int, ...], Any] = {
        ("a",): pa.array([one for one, _ in rows]),
        ("b",): pa.array([other for _, other in rows]),
    }
    attribute = computed_attribute(schema, (COMPUTED, "lower(a) = lower(b)"))
    asked: list[Any] = []
    value_of = attribute.value_of

    def counted(row: Any) -> Any:
        asked.append(tuple(row.values()))
        return value_of(row)

    attribute.value_of = counted
    column = computed_column(attribute, arrays, len(rows))
    assert column.to_pylist() == [True, True, None, None, False, None, True]
    assert asked == [("İA", "İa"), ("É", "é")]
    nothing = {path: pa.nulls(len(rows), pa.string()) for path in arrays}
    assert computed_column(attribute, nothing, len(rows)).to_pylist() == [None] * len(rows)
    either = computed_attribute(schema, (COMPUTED, "coalesce(a, b) = upper(b)"))
    said = [None if (one or other) is None or other is None else (one or other) == other.upper() for one, other in rows]
    assert computed_column(either, arrays, len(rows)).to_pylist() == said


@pytest.mark.parametrize("engine", ["bitmap", "scan"])
@pytest.mark.parametrize(
    ("where", "given"),
    [
        ("- " * 95 + "x > y", None),
        ("-(x - " * 47 + "y" + ")" * 47 + " > y", None),
        ("ANY(tags, " + "NOT " * 99 + "item <=> 'a')", None),
        ("ANY(tags, " + " AND ".join(f"item <=> 'k{n}'" for n in range(10_000)) + ")", None),
        ("s || :p = 'a'", {"p": "x" * 4_300_000}),
    ],
    ids=["signs", "parentheses", "negations", "length", "parameter"],
)
def test_what_cannot_be_written_out_is_put_aside_by_its_id_and_stops_no_other(
    engine: str, where: str, given: Any
) -> None:
    schema = rookery.Schema.from_dict({"x": "int64", "y": "float64", "s": "string", "tags": ["string"]})
    matcher = rookery.matcher(schema, engine=engine, on_error="quarantine")
    rules = [{"subscription_id": "bad", "where": where, "parameters": given}, {"subscription_id": "good", "where": ""}]
    assert matcher.add_many(rules) == 1
    assert [one.subscription_id for one in matcher.quarantined] == ["bad"]
    assert matcher.quarantined[0].message.startswith("written out, this is no condition: ")
    assert matcher.match({"x": 1, "y": 1.0, "s": "a", "tags": ["a"]}) == ["good"]
