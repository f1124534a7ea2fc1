"""CESQL expressions as conditions: the specification's rules, random expressions beside a plain evaluator, refusals."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import rookery
from rookery.errors import SubscriptionError
from rookery.model.dialects import translate
from rookery.model.dialects.cesql import read_cesql
from rookery.model.dialects.cesql_functions import arithmetic
from rookery.model.dialects.cesql_values import ERROR, Known
from twins.cesql import holds

SCHEMA = rookery.Schema(id=str, source=str, subject=str, kind=str, hop=int, ttl=int, ok=bool, done=bool)
EVENT = {"id": "an id", "source": "https://x.org/a_b", "hop": 5, "ttl": 10, "ok": True}


def held(expression: str, event: dict[str, Any]) -> bool:
    matcher = rookery.matcher(SCHEMA)
    matcher.add_many([{"subscription_id": "s", "where": expression, "dialect": "cesql"}])
    found = bool(matcher.match(event))
    columns = {name: [event.get(name)] for name in SCHEMA.types} | {"event_id": [1]}
    assert bool(matcher.match_many(columns).num_rows) is found
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("source LIKE 'https://%'", True),
        (r"source LIKE '%a\_b'", True),
        (r"source LIKE '%a\_b' AND NOT (id LIKE '%\%%')", True),
        ("EXISTS SOURCE AND NOT EXISTS subject", True),
        ("hop < ttl and hop < 1000", True),
        ("INT(hop) < INT(ttl) AND INT(hop) < 1000", True),
        ("ttl / 4 = 2 AND -ttl / 4 = -2 AND ttl % 4 = 2", True),
        ("ttl / (hop - 5) = 0", False),  # by zero: an error
        ("NOT (ttl / (hop - 5) = 0)", False),
        ("NOT (subject = 'x')", False),  # missing: an error
        ("subject != 'x'", False),
        ("subject = 'x' OR hop = 5", False),  # the left side is looked at first
        ("hop = 5 OR subject = 'x'", True),
        ("NOT (hop = 6 AND subject = 'x')", True),
        ("NOT (subject = 'x' AND hop = 6)", False),
        ("ok XOR hop = 6", True),
        ("ok", True),
        ("done", False),
        ("NOT ok", False),
        ("ok = TRUE", True),
        ("ok = (hop = 5)", True),
        ("hop IN (1, 5)", True),
        ("source NOT IN ('a', \"b\")", True),
        ("id IN (source, 'an id')", True),
        ("id IN (subject, 'an id')", False),
        ("LENGTH(id) = 5 AND LEFT(id, 2) = 'an' AND RIGHT(id, 2) = 'id' AND RIGHT(id, 99) = id", True),
        ("LEFT(id, -1) = id", False),
        ("SUBSTRING(id, 4) = 'id' AND SUBSTRING(id, 0) = '' AND SUBSTRING(id, -2, 1) = 'i'", True),
        ("SUBSTRING(id, 9) = ''", False),
        ("NOT (SUBSTRING(id, 9) = '')", False),
        ("CONCAT(id, '-', 5) = 'an id-5' AND CONCAT_WS(', ', id, 'x') = \"an id, x\"", True),
        ("UPPER(id) = 'AN ID' AND ABS(-hop) = 5", True),
        ("'5' + 3 = 8 AND TRUE LIKE 'tr%' AND '1' IN (1, 2) AND 'TRUE' = true", True),
        ("true = 'TRUE'", False),
        ("NOT 10", False),
        ("'a\"b\\'c' = \"a\\\"b'c\"", True),
        ("--10 = 10 AND 4 * 2 + 4 / 2 = 10", True),
        ("TRIM('  a ') = 'a'", True),
        ("5", False),
        ("'true'", False),
    ],
)
def test_what_an_expression_means(expression: str, expected: bool) -> None:
    assert holds(expression, EVENT) is expected
    assert held(expression, EVENT) is expected


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("a AND b OR c", "AND and OR without parentheses"),
        ("ABC(", "."),
        ("", "ends too early"),
        ("hop =", "ends too early"),
        ("FOO(hop) = 1", "no function FOO of 1"),
        ("LENGTH() = 1", "no function LENGTH of 0"),
        ("id LIKE 5", "column 9: LIKE takes a pattern"),
        ("hop = 2147483648", "more than 32 bits"),
        ("2147483647 + 1 = 0", "more than 32 bits"),
        ("TRIM(id) = 'x'", "white space"),
        ("LEFT(id, hop) = 'x'", "written out"),
        ("NOT hop = 5", "NOT binds before ="),
        ("LENGTH(hop = 5) = 4", "not cast"),
        ("UPPER(id) = 5", "compared with a number"),
        ("id IN (1, 'x')", "several types"),
        ("hop -1 = 4", "is not expected"),
        ("hop = 5 ; x", "no part of a CESQL"),
        ("(" * 200 + "ok" + ")" * 200, "levels"),
    ],
)
def test_what_cannot_be_said_is_refused(expression: str, said: str) -> None:
    with pytest.raises(SubscriptionError, match=said):
        read_cesql(expression)


def test_the_least_integer_has_no_absolute_value() -> None:
    for event in ({"hop": -(2**31)}, {"hop": 2**31 - 1}):
        assert held("ABS(hop) > 5", event) is holds("ABS(hop) > 5", event) is (event["hop"] > 0)
        assert held("NOT (ABS(hop) = 5)", event) is holds("NOT (ABS(hop) = 5)", event) is (event["hop"] > 0)


@pytest.mark.parametrize("expression", ["id = 5", "hop = 'x'", "hop LIKE '1%'", "id < source", "ok < 5", "NOT id"])
def test_an_attribute_is_not_cast(expression: str) -> None:
    matcher = rookery.matcher(SCHEMA)
    with pytest.raises(SubscriptionError):
        matcher.add("s", translate("cesql", expression).where)


def test_what_is_known_is_worked_out_at_once() -> None:
    cut = [arithmetic("/", Known(a), Known(b)) for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2))]
    assert cut == [Known(3), Known(-3), Known(-3), Known(3)]
    rest = [arithmetic("%", Known(a), Known(b)) for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2))]
    assert rest == [Known(1), Known(-1), Known(1), Known(-1)]
    assert arithmetic("/", Known(5), Known(0)) == ERROR
    assert arithmetic("+", Known("x"), Known(0)) == ERROR


class Writer:
    """Writes expressions at random, most of which the reader takes."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def truth(self, depth: int) -> str:
        random = self.random
        shape = random.random()
        if depth and shape < 0.55:
            word = random.choice(["AND", "OR", "XOR", "and"])
            return f" {word} ".join(f"({self.truth(depth - 1)})" for _ in range(random.choice([2, 2, 3])))
        if depth and shape < 0.7:
            return f"NOT ({self.truth(depth - 1)})"
        kind = random.randrange(8)
        if kind < 2:
            sign = random.choice(["=", "!=", "<", "<=", ">", ">=", "<>"])
            return f"{self.number(1)} {sign} {self.number(1)}"
        if kind < 4:
            return f"{self.text(1)} {random.choice(['=', '!=', '<>'])} {self.text(1)}"
        if kind == 4:
            pattern = random.choice(["a%", "%b", "_b%", r"%\%%", r"a\_b", r"\a%", "", "%"])
            return f"{self.text(0)} {random.choice(['', 'NOT '])}LIKE '{pattern}'"
        if kind == 5:
            return random.choice(["ok", "done", "TRUE", "false", "EXISTS subject", "EXISTS hop", "NOT EXISTS done"])
        if kind == 6:
            some = [self.text(0) for _ in range(random.randint(1, 3))]
            return f"{random.choice(['id', 'subject'])} {random.choice(['', 'NOT '])}IN ({', '.join(some)})"
        return f"hop {random.choice(['', 'NOT '])}IN ({', '.join(str(random.randint(-2, 4)) for _ in range(3))})"

    def number(self, depth: int) -> str:
        random = self.random
        shape = random.random()
        if depth and shape < 0.35:
            return f"({self.number(depth - 1)} {random.choice('+-*/%')} {self.number(depth - 1)})"
        if depth and shape < 0.5:
            return random.choice(
                [f"LENGTH({self.text(0)})", f"ABS({self.number(0)})", f"-({self.number(0)})", "INT(hop)"]
            )
        return random.choice(["hop", "ttl", str(random.randint(-3, 5)), "0", "'4'", "2"])

    def text(self, depth: int) -> str:
        random = self.random
        if depth and random.random() < 0.6:
            inner, place = self.text(0), random.randint(-3, 4)
            return random.choice(
                [f"LOWER({inner})", f"UPPER({inner})", f"CONCAT({inner}, {self.text(0)})", f"LEFT({inner}, {place})",
                 f"RIGHT({inner}, {place})", f"SUBSTRING({inner}, {place})",
                 f"SUBSTRING({inner}, {place}, {place + 2})",
                 f"CONCAT_WS('b', {inner}, {self.text(0)}, 'x')", f"STRING({inner})"]
            )  # fmt: skip
        return random.choice(["id", "subject", "kind", "'ab'", "'b'", "''", '"a_b"', "'A'"])


def test_random_expressions_hold_where_the_specification_says() -> None:
    random = Random(20)
    writer, taken, refused, matched = Writer(random), 0, 0, 0
    matcher = rookery.matcher(SCHEMA)
    events = [
        {
            "event_id": number,
            **{name: random.choice(["ab", "a", "", "b", "A", "a_b", "%", None]) for name in ("id", "subject", "kind")},
            **{name: random.choice([*range(-3, 6), None]) for name in ("hop", "ttl")},
            **{name: random.choice([True, False, None]) for name in ("ok", "done")},
        }
        for number in range(80)
    ]
    expressions: list[str] = []
    while taken < 300:
        expression = writer.truth(random.choice([0, 1, 2, 2, 3]))
        try:
            matcher.add(taken, read_cesql(expression).where)
        except SubscriptionError:
            refused += 1
            continue
        expressions.append(expression)
        taken += 1
    found = matcher.match_many(events)
    pairs = set(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))
    for number, expression in enumerate(expressions):
        for event in events:
            due = holds(expression, event)
            matched += due
            assert ((event["event_id"], number) in pairs) is due, (expression, read_cesql(expression).where, event)
    assert matched > 2_000
    assert refused < taken // 3
