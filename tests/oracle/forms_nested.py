"""Conditions on elements of lists, maps, lengths of time, now(), weeks and the order of an enum, for `forms.py`.

ANY is the OR of what its condition says of each element, which DuckDB is told in full: TRUE where one holds, else
UNKNOWN where one is UNKNOWN. Spark's `exists` says the same by itself.
"""

from __future__ import annotations

from random import Random

__all__ = ["NOW", "nested_form"]

#: What now() is in every batch of these tests.
NOW = "2026-05-01T06:00:00Z"
_NOW_SQL = "TIMESTAMP '2026-05-01 06:00:00'"
_WORDS = ["bean", "apple", "a", "", "BANANA", "éa", "it''s", "none"]
_SIGNS = ["=", "<>", "<", "<=", ">", ">="]
_LABELS = ["low", "mid", "high"]
_PLACE = f"list_position({_LABELS}, level)"


def nested_form(random: Random, *, plain: bool) -> tuple[str, str, str]:
    """Return a predicate in the language, in DuckDB's SQL and in Spark's."""
    kinds = [_tags, _tags, _items, _items, _within, _map, _lengths, _moved, _weeks, _sizes, _now]
    return random.choice(kinds if plain else [*kinds, _ordered])(random)  # Spark has no enums


def _any(items: str, holds: str, name: str = "q") -> str:
    found, unknown = (f"len(list_filter({items}, lambda {name}: {one}))" for one in (holds, f"({holds}) IS NULL"))
    return (
        f"(CASE WHEN {items} IS NULL THEN NULL WHEN {found} > 0 THEN TRUE WHEN {unknown} > 0 THEN NULL ELSE FALSE END)"
    )


def _about_text(random: Random) -> str:
    """Return a predicate on a text, without the text."""
    word = random.choice(_WORDS)
    return random.choice(
        [f"= '{word}'", f"<> '{word}'", f"LIKE '%{word[:2].strip(chr(39))}%'", f"IN ('{word}', 'x')", f"> '{word}'",
         f"NOT LIKE '{word[:1]}%'", "IS NULL", "IS NOT NULL", f"ILIKE '%{word[:1].upper()}%'",
         f"NOT IN ('{word}', 'a')", f"BETWEEN 'a' AND '{word}'", f"<= '{word}'"]
    )  # fmt: skip


def _tags(random: Random) -> tuple[str, str, str]:
    asked = _about_text(random)
    shape = random.random()
    if shape < 0.2:
        word = random.choice(_WORDS)
        text = f"array_contains(tags, '{word}')"
        return text, _any("tags", f"q = '{word}'"), text
    if shape < 0.6:
        return f"ANY(tags) {asked}", _any("tags", f"(q {asked})"), f"exists(tags, t -> t {asked})"
    other = _about_text(random)
    written = f"ANY(tags, item {asked} AND item {other})"
    text = written if shape < 0.8 else f"exists(tags, t -> t {asked} AND t {other})"
    return text, _any("tags", f"(q {asked}) AND (q {other})"), f"exists(tags, t -> t {asked} AND t {other})"


def _items(random: Random) -> tuple[str, str, str]:
    asked, price = _about_text(random), f"{random.choice(_SIGNS)} {random.choice(['0.5', '2', '-0.25', '3.0'])}"
    if random.random() < 0.3:
        return (
            f"ANY(items.price) {price}",
            _any("items", f"num(q.price) {price}"),
            f"exists(items, i -> i.price {price})",
        )
    join = random.choice(["AND", "OR"])
    spark = f"exists(items, i -> i.name {asked} {join} i.price {price})"
    text = spark if random.random() < 0.3 else f"ANY(items, name {asked} {join} price {price})"
    return text, _any("items", f"((q.name {asked}) {join} (num(q.price) {price}))"), spark


def _within(random: Random) -> tuple[str, str, str]:
    """Lists inside of elements: ANY of ANY, both of one element, and how many there are."""
    asked, sign, code = _about_text(random), random.choice(_SIGNS), random.randint(0, 4)
    join = random.choice(["AND", "OR"])
    inner = _any("q.codes", f"r {sign} {code}", "r")
    spark = f"exists(items, i -> i.name {asked} {join} exists(i.codes, c -> c {sign} {code}))"
    text = random.choice(
        [f"ANY(items, name {asked} {join} ANY(codes) {sign} {code})",
         f"ANY(items, name {asked} {join} ANY(codes, item {sign} {code}))", spark]
    )  # fmt: skip
    return text, _any("items", f"((q.name {asked}) {join} {inner})"), spark


def _map(random: Random) -> tuple[str, str, str]:
    key, tail = random.choice(["eu", "us", "odd key"]), f"{random.choice(_SIGNS)} {random.randint(-2, 5)}"
    tail = random.choice([tail, tail, "IS NULL", "BETWEEN 0 AND 3"])
    written = f"props['{key}']" if " " in key or random.random() < 0.7 else f"props.{key}"
    return f"{written} {tail}", f"(props['{key}'] {tail})", f"props['{key}'] {tail}"


def _sizes(random: Random) -> tuple[str, str, str]:
    sign, count = random.choice(_SIGNS), random.randint(0, 3)
    name, sql = random.choice([("tags", "len(tags)"), ("items", "len(items)"), ("props", "cardinality(props)")])
    return f"size({name}) {sign} {count}", f"({sql} {sign} {count})", f"size({name}) {sign} {count}"


def _length(random: Random) -> tuple[str, str, str]:
    """Return a length of time as the language writes it, as DuckDB does and as Spark does."""
    count = random.randint(0, 30)
    if random.random() < 0.2:
        minutes = 60 * count + 30
        text = f"INTERVAL '1 day {count}.5 hours'"
        return text, f"(INTERVAL 1 DAY + INTERVAL {minutes} MINUTE)", f"INTERVAL 1 DAY {minutes} MINUTES"
    if random.random() < 0.2:
        unit = random.choice(["WEEK", "MILLISECOND", "MICROSECOND"])
        return (text := f"INTERVAL {count} {unit}S"), f"INTERVAL {count} {unit}", text
    unit = random.choice(["HOUR", "DAY", "MINUTE", "SECOND"])
    text = random.choice([f"INTERVAL '{count}' {unit}", f"INTERVAL {count} {unit}S"])
    return text, f"INTERVAL {count} {unit}", text


def _lengths(random: Random) -> tuple[str, str, str]:
    (text, sql, spark), sign = _length(random), random.choice(_SIGNS)
    left = random.choice(["moment - since", "since - moment"])
    return f"{left} {sign} {text}", f"({left} {sign} {sql})", f"{left} {sign} {spark}"


def _moved(random: Random) -> tuple[str, str, str]:
    text, sql, spark = _length(random)
    if random.random() < 0.4:
        count, unit = random.randint(0, 14), random.choice(["MONTH", "MONTH", "YEAR"])
        text, sql = f"INTERVAL {count} {unit}S", f"INTERVAL {count} {unit}"
        spark = text
    plus, sign = random.choice("+-"), random.choice(_SIGNS)
    right, meant = random.choice(
        [
            ("since", "since"),
            ("TIMESTAMP '2026-05-01T06:00:00Z'", _NOW_SQL),
            ("TIMESTAMP '2026-05-01T08:00:00+02:00'", _NOW_SQL),
        ]
    )
    return (
        f"moment {plus} {text} {sign} {right}",
        f"(moment {plus} {sql} {sign} {meant})",
        f"moment {plus} {spark} {sign} {right}",
    )


def _weeks(random: Random) -> tuple[str, str, str]:
    unit, sign = random.choice(["week", "quarter"]), random.choice(_SIGNS)
    text = f"date_trunc('{unit}', moment) {sign} date_trunc('day', since)"
    return text, f"({text})", text


def _now(random: Random) -> tuple[str, str, str]:
    (text, sql, spark), sign = _length(random), random.choice(_SIGNS)
    now = random.choice(["now()", "current_timestamp()"])
    return (
        f"moment {sign} {now} - {text}",
        f"(moment {sign} {_NOW_SQL} - {sql})",
        f"moment {sign} TIMESTAMP '{NOW}' - {spark}",
    )


def _ordered(random: Random) -> tuple[str, str, str]:
    low, high = (random.choice(_LABELS) for _ in range(2))
    if random.random() < 0.3:
        sql = f"({_PLACE} BETWEEN {_LABELS.index(low) + 1} AND {_LABELS.index(high) + 1})"
        return f"level BETWEEN '{low}' AND '{high}'", sql, ""
    sign = random.choice(["<", "<=", ">", ">="])
    return f"level {sign} '{low}'", f"({_PLACE} {sign} {_LABELS.index(low) + 1})", ""
