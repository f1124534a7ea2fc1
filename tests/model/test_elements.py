"""Conditions on elements: columns as their values say one by one, in any shape of Arrow's, and as DuckDB has it."""

from __future__ import annotations

from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import rookery
from rookery.errors import SchemaError, SubscriptionError
from rookery.matching import INDEXES, CompiledSet
from rookery.model import covers

SCHEMA = rookery.Schema.from_dict(
    {"tags": ["string"], "xs": ["int64"], "items": [{"name": "string", "price": "float64"}], "attrs": {"$map": "int64"}}
)
#: A condition, and the same for DuckDB: three-valued, so that NOT of it is judged too. DuckDB's own 'x' = ANY(NULL) is
#: FALSE, where PostgreSQL's and Spark's `array_contains` are NULL, as here; so it is spelled out.
FORMS = [
    ("ANY(tags) = 'ab'", "{any:tags:x = 'ab'}"),
    ("array_contains(tags, 'b')", "{any:tags:x = 'b'}"),
    ("ANY(tags) LIKE '%b%'", "{any:tags:x LIKE '%b%'}"),
    ("ANY(tags) NOT LIKE 'a%'", "{any:tags:x NOT LIKE 'a%'}"),
    ("ANY(tags) ILIKE 'A_'", "{any:tags:x ILIKE 'A_'}"),
    ("ANY(tags) RLIKE '^[ab]+$'", "{any:tags:regexp_matches(x, '^[ab]+$')}"),
    ("ANY(tags) IN ('a', 'é')", "{any:tags:x IN ('a', 'é')}"),
    ("ANY(tags) >= 'b'", "{any:tags:x >= 'b'}"),
    ("ANY(tags) BETWEEN 'a' AND 'ab'", "{any:tags:x BETWEEN 'a' AND 'ab'}"),
    ("ANY(tags) IS NULL", "{any:tags:x IS NULL}"),
    ("length(ANY(tags)) = 2", "{any:tags:length(x) = 2}"),
    ("ANY(xs) > 3", "{any:xs:x > 3}"),
    ("ANY(xs) <> 3", "{any:xs:x <> 3}"),
    ("ANY(xs, item > 1 AND item < 4)", "{any:xs:x > 1 AND x < 4}"),
    ("exists(xs, x -> x % 3 = 1 OR x IN (2, 5))", "{any:xs:x % 3 = 1 OR x IN (2, 5)}"),
    ("size(xs) = 2", "len(xs) = 2"),
    ("size(attrs) > 1", "cardinality(attrs) > 1"),
    ("attrs['k'] > 2", "attrs['k'] > 2"),
    ("attrs['odd key'] IS NULL", "attrs['odd key'] IS NULL"),
    ("ANY(items.price) > 2.5", "{any:items:x.price > 2.5}"),
    ("ANY(items, name LIKE 'a%' AND price > 1)", "{any:items:x.name LIKE 'a%' AND x.price > 1}"),
    ("ANY(items, NOT (name = 'b' OR price <= 1))", "{any:items:NOT (x.name = 'b' OR x.price <= 1)}"),
    (
        "size(items) > 1 AND (ANY(tags) = 'a' OR attrs['k'] = 1)",
        "len(items) > 1 AND ({any:tags:x = 'a'} OR attrs['k'] = 1)",
    ),
]


def oracle_text(sql: str) -> str:
    """Write `{any:list:condition of x}` as DuckDB can: the largest of TRUE = 1, UNKNOWN = 0 and FALSE = -1."""
    begin = sql.find("{any:")
    if begin < 0:
        return sql
    end = sql.rindex("}")
    name, _, asked = sql[begin + 5 : end].partition(":")
    said = f"list_transform({name}, lambda x: CASE WHEN {asked} THEN 1 WHEN NOT ({asked}) THEN -1 ELSE 0 END)"
    whole = f"(CASE WHEN {name} IS NULL THEN NULL WHEN len({name}) = 0 THEN FALSE WHEN list_max({said}) = 0 THEN NULL "
    return f"{sql[:begin]}{whole}ELSE list_max({said}) > 0 END){sql[end + 1 :]}"


def events(random: Random, count: int) -> pa.Table:
    def maybe(make: Any) -> Any:
        return None if random.random() < 0.15 else make()

    def some(make: Any) -> Any:
        return lambda: [maybe(make) for _ in range(random.choice([0, 1, 1, 2, 3]))]

    texts = ["a", "ab", "b", "ba", "", "é", "Ab"]
    item = lambda: {"name": maybe(lambda: random.choice(texts)), "price": maybe(lambda: random.choice([0.5, 1.5, 3.0]))}  # noqa: E731
    keys = lambda: [(one, maybe(lambda: random.randint(0, 4))) for one in random.sample(["k", "odd key", "j"], 2)]  # noqa: E731
    columns = {
        "tags": [maybe(some(lambda: random.choice(texts))) for _ in range(count)],
        "xs": [maybe(some(lambda: random.randint(0, 6))) for _ in range(count)],
        "items": [maybe(some(item)) for _ in range(count)],
        "attrs": [maybe(lambda: keys()[: random.randint(0, 2)]) for _ in range(count)],
    }
    schema = SCHEMA.to_arrow()
    made = {name: pa.array(values, schema.field(name).type) for name, values in columns.items()}
    return pa.table({"event_id": pa.array(range(count), pa.int64()), **made})


def due(table: pa.Table) -> dict[str, list[int]]:
    connection = duckdb.connect()
    connection.register("events", table)
    found = {}
    for place, (_, sql) in enumerate(FORMS):
        text = oracle_text(sql)
        for name, asked in ((f"{place}", text), (f"not {place}", f"NOT ({text})")):
            rows = connection.execute(f"SELECT event_id FROM events WHERE {asked} ORDER BY 1").fetchall()
            found[name] = [row[0] for row in rows]
    return found


def matcher_of(engine: str) -> Any:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    for place, (text, _) in enumerate(FORMS):
        matcher.add(f"{place}", text)
        matcher.add(f"not {place}", f"NOT ({text})")
    return matcher


def by_name(matches: pa.Table, names: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in names}
    for row in matches.to_pylist():
        found[row["subscription_id"]].append(row["event_id"])
    return {name: sorted(rows) for name, rows in found.items()}


@pytest.mark.parametrize("engine", [*INDEXES, "scan"])
def test_every_form_is_what_duckdb_says(engine: str) -> None:
    table = events(Random(5), 1500 if engine == "bitmap" else 150)
    wanted = due(table)
    assert by_name(matcher_of(engine).match_many(table), wanted) == wanted


def test_the_forms_of_arrow_single_events_and_a_saved_set_give_the_same() -> None:
    table = events(Random(6), 90)
    wanted, matcher = due(table), matcher_of("bitmap")
    saved = CompiledSet.from_bytes(matcher.compile().to_bytes(), verify="texts")
    assert by_name(saved.match_many(table), wanted) == wanted
    assert sorted(saved.columns) == ["attrs", "items", "tags", "xs"]
    large = [pa.large_list(pa.large_string()), pa.large_list(pa.int64())]
    others = table.set_column(1, "tags", table["tags"].cast(large[0])).set_column(2, "xs", table["xs"].cast(large[1]))
    shapes = [others, pa.concat_tables([table.slice(0, 40), table.slice(40)]), table.slice(7, 31)]
    for shape in shapes:
        kept = set(shape["event_id"].to_pylist())
        assert by_name(saved.match_many(shape), wanted) == {
            name: [row for row in rows if row in kept] for name, rows in wanted.items()
        }
    for row in table.to_pylist():
        event = {**row, "attrs": None if row["attrs"] is None else dict(row["attrs"])}
        found = sorted(matcher.match(event))
        assert found == sorted(name for name, rows in wanted.items() if row["event_id"] in rows), row
        for name in found:
            assert matcher.explain(name, event).matched


def test_a_pattern_that_is_too_long_for_re2_and_a_long_list_are_asked_of_a_batch() -> None:
    matcher, few = rookery.matcher(SCHEMA), ", ".join(str(7 * n) for n in range(-20_000, 20_000))
    matcher.add("long", "ANY(tags) LIKE '" + "_" * 200_000 + "'")
    matcher.add("folded", "ANY(tags) ILIKE '%A" + "_" * 199_999 + "'")
    matcher.add("listed", f"ANY(xs) IN ({few})")
    matcher.add("others", f"ANY(xs) NOT IN ({few})")
    matcher.add("prices", "ANY(items, price IN (-0.0, 2.5) OR price > 7)")
    events = [
        {"event_id": 0, "tags": ["b", None, "a" * 200_000], "xs": [-139_993, None, 8], "items": [{"price": 0.0}]},
        {"event_id": 1, "tags": ["é" * 200_000], "xs": [-140_007, 140_000], "items": [{"price": 2.4}, None]},
        {"event_id": 2, "tags": [], "xs": [139_993], "items": [{"price": float("nan")}, {"price": 7.5}]},
    ]
    table = pa.Table.from_pylist(events, SCHEMA.to_arrow().append(pa.field("event_id", pa.int64())))
    found = matcher.match_many(table).select(["event_id", "subscription_id"]).to_pylist()
    wanted = [["long", "folded", "listed", "others", "prices"], ["long", "others"], ["listed", "prices"]]
    assert [[one["subscription_id"] for one in found if one["event_id"] == n] for n in range(3)] == wanted
    assert [matcher.match(one) for one in events] == wanted


def test_covers_says_no_where_it_cannot_prove() -> None:
    assert covers("ANY(xs) > 3", "ANY(xs) > 3 AND size(xs) = 1", SCHEMA)
    assert not covers("ANY(xs) > 3", "ANY(xs) > 4", SCHEMA)
    assert covers("size(xs) > 1", "size(xs) > 2 AND ANY(xs) = 1", SCHEMA)
    assert covers("attrs['k'] > 1", "attrs.k > 2", SCHEMA)


def test_a_schema_of_lists_and_maps_goes_to_arrow_and_back() -> None:
    assert rookery.Schema.from_arrow(SCHEMA.to_arrow()) == SCHEMA
    assert rookery.Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    other = rookery.Schema.from_arrow(pa.schema([("m", pa.map_(pa.int64(), pa.string())), ("x", pa.int64())]))
    with pytest.raises(SchemaError, match="which no condition can compare"):
        other.attribute(("m", "k"))


@pytest.mark.parametrize(
    ("where", "message", "hint", "position"),
    [
        ("tags = 'x'", "tags is a list", "ANY(tags) = …", 0),
        ("items.price > 1", "items is a list", "ANY(items.price)", 0),
        ("attrs = 1", "attrs is a map", "attrs['key']", 0),
        ("ANY(attrs) = 1", "ANY takes a list, and attrs is a map", None, 0),
        ("ANY(items, prise > 5)", "unknown field 'prise'", "did you mean 'price'?", 11),
        ("ANY(items, price > 'a')", "price is a number, and 'a' is not", "a number", 19),
        ("ANY(tags) = 5", "item is a string, and 5 is not", "quote the value", 12),
        ("ANY(tags, tag = 'x')", "unknown field 'tag'", "the schema has item", 10),
        ("ANY(tags) = ANY(xs)", "ANY(list) is compared with values", "ANY(list, condition)", 0),
        ("size(xs) = 'a'", "size(xs) is a number, and 'a' is not", None, 11),
        ("exists(xs, 5 > 3)", "expected ->", None, 13),
        ("exists(xs, x -> y > 3)", "y is no field of the element", None, 16),
    ],
)
def test_what_is_refused_and_where(where: str, message: str, hint: str | None, position: int) -> None:
    with pytest.raises(SubscriptionError) as caught:
        rookery.matcher(SCHEMA).add("bad", where)
    assert message in caught.value.message
    assert caught.value.position == position
    assert hint is None or hint in str(caught.value.hint)
