"""Every form of the language beside boxes, as DuckDB answers it from the raw table: pair by pair, in every engine."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.matching import INDEXES, CompiledSet

SCHEMA = rookery.Schema.from_dict(
    {
        "note": "string", "other": "string", "a": "int64", "b": "int32", "x": "float64", "y": "float64",
        "d": "decimal(10,2)", "flag": "boolean", "moment": "timestamp", "odd name": "int64",
        "level": {"$enum": ["low", "mid", "high"]}, "other_moment": "timestamp", "ip": "string",
    }
)  # fmt: skip

#: The place of a label in the order of the enum, NULL where it is not listed.
PLACE = "list_position(['low', 'mid', 'high'], level)"
#: The first part of an IPv4 address, NULL where the text is none.
FIRST_PART = (
    "CASE WHEN regexp_full_match(ip, '((0|1?[1-9]?[0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])(\\.|$)){4}') "
    "THEN CAST(split_part(ip, '.', 1) AS INTEGER) END"
)
#: A condition in the language, and in DuckDB's SQL.
FORMS = [
    ("note LIKE '%an%'", "note LIKE '%an%'"),
    ("note NOT LIKE '%an%'", "note NOT LIKE '%an%'"),
    ("note LIKE '%a_c%' AND a > 3", "note LIKE '%a_c%' AND a > 3"),
    ("note LIKE '%e%' AND note LIKE '%r%' AND note NOT LIKE '%x%'", None),
    ("note LIKE '%an%' OR note LIKE '%ee%' OR b = 3", None),
    ("NOT (note LIKE '%an%' OR other LIKE '%b')", None),
    ("NOT (note LIKE '%an%' AND other LIKE '_b%')", None),
    ("note LIKE '_'", None),
    ("note LIKE '%'", None),
    ("note LIKE '__%'", None),
    ("note LIKE 'a%e'", None),
    ("note LIKE '%!%%' ESCAPE '!'", None),
    ("note ILIKE '%AN%'", None),
    ("note NOT ILIKE 'A%'", None),
    ("note ILIKE '%É%'", "note ILIKE '%É%'"),
    ("note RLIKE 'a[a-n]+'", "regexp_matches(note, 'a[a-n]+')"),
    ("note REGEXP '^[a-f]*$'", "regexp_matches(note, '^[a-f]*$')"),
    ("note NOT RLIKE 'ee|an'", "NOT regexp_matches(note, 'ee|an')"),
    ("note RLIKE '(?i)AN.?'", "regexp_matches(note, '(?i)AN.?')"),
    ("note RLIKE 'pl(e|um)' AND a > 2", "regexp_matches(note, 'pl(e|um)') AND a > 2"),
    ("contains(note, 'an')", None),
    ("starts_with(note, 'a') AND NOT ends_with(note, 'e')", None),
    ("contains(note, other)", None),
    ("starts_with(note, 'a') IS NOT TRUE", None),
    ("contains(note, 'an') = flag", None),
    ("coalesce(ends_with(note, 'e'), TRUE)", None),
    ("9 % 4 < a", None),
    ("a <=> 7 - 4", "a IS NOT DISTINCT FROM 3"),
    ("note = other", None),
    ("note > other", None),
    ("a > b", None),
    ("a >= b OR x < y", None),
    ("NOT a <= b", None),
    ("x = y", "x = y AND NOT isnan(x)"),
    ("x > a", None),
    ("flag", None),
    ("NOT flag", None),
    ("flag OR a > 3", None),
    ("flag IS TRUE", None),
    ("flag IS NOT TRUE", None),
    ("flag IS FALSE", None),
    ("flag IS NOT FALSE", None),
    ("1 = 1", None),
    ("1 > 2", None),
    ("'abc' LIKE 'ab_' AND a > 2", None),
    ("'abc' NOT ILIKE 'AB_' OR a > 2", None),
    ("note = other OR 'bean' RLIKE 'e.n$'", "note = other OR regexp_matches('bean', 'e.n$')"),
    ("2 * 3 = 6", None),
    ("1 + 1 < a", None),
    ("NOT 5 % 0 = 1", "NOT NULL"),
    ("NOT -5 % 3 = -1", None),
    ("length('abc') = 3 AND a > 1", None),
    ("a > -(-3)", None),
    ("1 / 0 IS NULL AND a > 1", "a > 1"),
    ("(a) > (3)", None),
    ("3 < a", None),
    ("a BETWEEN b AND 7", None),
    ("a NOT BETWEEN b AND 7", None),
    ("3 BETWEEN a AND b", None),
    ("a IN (b, 3)", None),
    ("a NOT IN (b, 3)", None),
    ("a == 3", None),
    ("a <=> b", "a IS NOT DISTINCT FROM b"),
    ("NOT a <=> 3", "a IS DISTINCT FROM 3"),
    ("note <=> NULL", "note IS NULL"),
    ('"odd name" > 3', None),
    ("`odd name` > 3", '"odd name" > 3'),
    ("a > 3 -- not this\n AND b > 1", None),
    ("a /* nor this */ > 3", None),
    ("moment >= DATE '2026-05-01'", "moment >= TIMESTAMP '2026-05-01'"),
    ("moment < '2026-05-02'", "moment < TIMESTAMP '2026-05-02'"),
    ("a + b > 7", None),
    ("a - b = 1", None),
    ("a * b >= 12", None),
    ("a % 3 = 1", None),
    ("mod(a, b) = 1", "a % b = 1"),
    ("-a < -3", None),
    ("a + 1 > b * 2", None),
    ("a / b > 1.5", None),
    ("x * 2 + y > 5", None),
    ("x - y < 0", None),
    ("d + 0.5 > 3", None),
    ("d * 2 = 5", None),
    ("abs(a - b) = 2", None),
    ("abs(x - y) > 1", None),
    ("floor(x) = 2", None),
    ("ceil(x) = 3", None),
    ("round(d) = 3", None),
    ("coalesce(note, other) = 'bean'", None),
    ("coalesce(a, b, 0) = 0", None),
    ("nullif(a, 3) IS NULL", None),
    ("least(a, b) = 2", None),
    ("greatest(a, b) >= 6", None),
    ("note || other LIKE '%nb%'", "(note || other) LIKE '%nb%'"),
    ("note || '!' = 'bean!'", None),
    ("lower(note) = 'bean'", None),
    ("upper(note) LIKE '%EA%'", None),
    ("lower(note) IN ('bean', 'apple')", None),
    ("trim(note) = 'bean'", None),
    ("length(note) BETWEEN 3 AND 4", None),
    ("substring(note, 2, 2) = 'ea'", None),
    ("year(moment) = 2026 AND month(moment) = 5", None),
    ("hour(moment) > 11", None),
    ("moment + INTERVAL '6 hours' > DATE '2026-05-01'", "moment + INTERVAL 6 HOUR > TIMESTAMP '2026-05-01'"),
    ("moment > TIMESTAMP '2026-05-01' - INTERVAL 12 HOURS", "moment > TIMESTAMP '2026-05-01' - INTERVAL 12 HOUR"),
    ("moment - other_moment > INTERVAL '6 hours'", "moment - other_moment > INTERVAL 6 HOUR"),
    ("moment - other_moment BETWEEN INTERVAL '-12 hours' AND INTERVAL 0 SECONDS",
     "moment - other_moment BETWEEN INTERVAL '-12 hours' AND INTERVAL 0 SECOND"),
    ("moment - INTERVAL 6 HOURS = other_moment", "moment - INTERVAL 6 HOUR = other_moment"),
    ("moment + INTERVAL '1 month' < other_moment + INTERVAL '31 days'",
     "moment + INTERVAL 1 MONTH < other_moment + INTERVAL 31 DAY"),
    ("date_trunc('week', moment) < date_trunc('day', other_moment)", None),
    ("date_trunc('quarter', moment) = '2026-04-01'", "date_trunc('quarter', moment) = TIMESTAMP '2026-04-01'"),
    ("day(moment) = 1 OR minute(moment) + second(moment) > 5", None),
    ("ip IN CIDR '10.0.0.0/8'", f"{FIRST_PART} = 10"),
    ("ip NOT IN CIDR '10.0.0.0/8'", f"{FIRST_PART} <> 10 OR ip = '::1'"),
    ("ip IN CIDR ('192.168.0.0/16', '::/64') AND a > 1", "(ip LIKE '192.168.%' OR ip = '::1') AND a > 1"),
    ("level > 'low'", f"{PLACE} > 1"),
    ("NOT level >= 'high'", f"NOT {PLACE} >= 3"),
    ("level BETWEEN 'mid' AND 'high' AND a > 2", f"{PLACE} BETWEEN 2 AND 3 AND a > 2"),
    ("level NOT BETWEEN 'mid' AND 'high'", f"{PLACE} NOT BETWEEN 2 AND 3"),
    ("level <> 'mid'", None),
    ("date_trunc('day', moment) = DATE '2026-05-01'", "date_trunc('day', moment) = TIMESTAMP '2026-05-01'"),
]  # fmt: skip
ADDRESSES = ["10.0.0.1", "10.255.0.0", "11.0.0.1", "192.168.3.4", "192.169.0.0", "::1", "10.0.0.256", "host", "1.2.3"]
TEXTS = [
    "bean", "apple", "an apple", "", "a", "Bean", "BANANA", " bean ", "plum", "aéc", "ÉCLAIR", "50%", "b", "ab", "nb",
    "ee\nan", "abc", "x", "eexan", "a_c", "axce",
]  # fmt: skip


def events(random: Random, count: int) -> pa.Table:
    """Return a table in which every value is NULL now and then, and equal values are frequent."""

    def column(make: Any) -> list[Any]:
        return [None if random.random() < 0.12 else make() for _ in range(count)]

    moments = [1777593600_000_000 + random.randrange(-3, 4) * 21_600_000_000 for _ in range(count)]
    return pa.table(
        {
            "event_id": range(count),
            "note": pa.array(column(lambda: random.choice(TEXTS)), pa.string()),
            "other": pa.array(column(lambda: random.choice(TEXTS)), pa.string()).dictionary_encode(),
            "a": pa.array(column(lambda: random.randint(-1, 8)), pa.int64()),
            "b": pa.array(column(lambda: random.randint(1, 6)), pa.int32()),
            "x": pa.array(column(lambda: random.choice([0.5, 1.0, 2.0, 2.5, -1.5])), pa.float64()),
            "y": pa.array(column(lambda: random.choice([0.5, 1.0, 2.0, 3.25])), pa.float64()),
            "d": pa.array(column(lambda: Decimal(random.randint(0, 18)) / 2), pa.decimal128(10, 2)),
            "flag": pa.array(column(lambda: random.random() < 0.5), pa.bool_()),
            "moment": pa.array([None if random.random() < 0.1 else at for at in moments], pa.timestamp("us")),
            "odd name": pa.array(column(lambda: random.randint(1, 6)), pa.int64()),
            "other_moment": pa.array(
                column(lambda: 1777593600_000_000 + random.randrange(-3, 4) * 21_600_000_000), pa.timestamp("us")
            ),
            "ip": pa.array(column(lambda: random.choice(ADDRESSES)), pa.string()),
            "level": pa.array(column(lambda: random.choice(["low", "mid", "high", "other"])), pa.string()),
        }
    )


def wanted(table: pa.Table) -> dict[int, list[int]]:
    """Return the events of each form, as DuckDB reads them from the table."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("events", table)
    return {
        place: [row[0] for row in connection.execute(f"SELECT event_id FROM events WHERE {sql or text}").fetchall()]
        for place, (text, sql) in enumerate(FORMS)
    }


def found(matches: pa.Table) -> dict[int, list[int]]:
    by_form: dict[int, list[int]] = {place: [] for place in range(len(FORMS))}
    for row in matches.to_pylist():
        by_form[row["subscription_id"]].append(row["event_id"])
    return by_form


def subscriptions(engine: str) -> Any:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    for place, (text, _) in enumerate(FORMS):
        matcher.add(place, text)
    return matcher


@pytest.mark.parametrize("engine", INDEXES)
def test_every_form_is_what_duckdb_says(engine: str) -> None:
    table = events(Random(7), 2000 if engine == "bitmap" else 300)
    due, got = wanted(table), found(subscriptions(engine).match_many(table))
    for place, (text, _) in enumerate(FORMS):
        assert sorted(got[place]) == sorted(due[place]), text


def test_every_form_is_found_in_single_events_after_removals_and_in_a_saved_set() -> None:
    table = events(Random(8), 120)
    matcher = subscriptions("bitmap")
    for place in range(0, len(FORMS), 2):
        matcher.remove(place)
        matcher.add(place, FORMS[place][0])
    due = wanted(table)
    rows = table.drop_columns("event_id").to_pylist()
    for event, row in enumerate(rows):
        assert sorted(matcher.match(row)) == [place for place, ids in due.items() if event in ids], row
    saved = CompiledSet.from_bytes(matcher.compile().to_bytes(), verify="texts")
    assert {place: sorted(ids) for place, ids in found(saved.match_many(table)).items()} == due
    half = saved.take(np.array(saved_slots := [slot for slot in range(len(saved)) if slot % 2]))
    kept = saved.subscriptions["subscription_id"].take(pa.array(saved_slots)).to_pylist()
    assert {one: ids for one, ids in found(half.match_many(table)).items() if ids} == {
        one: due[one] for one in kept if due[one]
    }


def test_every_form_is_explained_as_it_matches() -> None:
    matcher = subscriptions("bitmap")
    for row in events(Random(9), 12).drop_columns("event_id").to_pylist():
        matched = set(matcher.match(row))
        for place in range(len(FORMS)):
            assert matcher.explain(place, row).matched == (place in matched), (FORMS[place][0], row)


def test_a_condition_of_more_terms_than_boxes_hold_is_decided_by_its_program() -> None:
    """Twelve pairs of alternatives are 4,096 terms; kept as one row and a program, with and without a text."""
    generator = Random(10)
    pairs = [f"(a = {n} OR note LIKE '%{TEXTS[n][:2] or 'q'}%')" for n in range(8)]
    texts = [" OR ".join(f"({one} AND b > {n})" for n, one in enumerate(generator.sample(pairs, 6))) for _ in range(4)]
    texts += [" AND ".join(generator.sample(pairs, 7)), "NOT (" + " OR ".join(generator.sample(pairs, 7)) + ")"]
    matcher = rookery.matcher(SCHEMA)
    for place, text in enumerate(texts):
        matcher.add(place, text)
    table = events(Random(11), 800)
    connection = duckdb.connect()
    connection.register("events", table)
    got = matcher.match_many(table).to_pylist()
    for place, text in enumerate(texts):
        due = [row[0] for row in connection.execute(f"SELECT event_id FROM events WHERE {text}").fetchall()]
        assert sorted(row["event_id"] for row in got if row["subscription_id"] == place) == sorted(due), text
