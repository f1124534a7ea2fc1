"""JMS selectors as conditions: the specification's own examples, what it forbids, and a judge of random selectors."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.twins.jms import accepts

import rookery
from rookery.errors import SubscriptionError
from rookery.model.dialects.jms import read_jms

SCHEMA = rookery.Schema(
    JMSType=str, color=str, weight=int, Country=str, phone=str, underscored=str, age=int, price=float, flag=bool
)
CAR = {"JMSType": "car", "color": "blue", "weight": 3000, "Country": "Peru", "phone": "12993", "underscored": "_foo"}


def held(selector: str, message: dict[str, Any]) -> bool:
    matcher = rookery.matcher(SCHEMA)
    matcher.add_many([{"subscription_id": "s", "where": selector, "dialect": "jms"}])
    found = bool(matcher.match(message))
    assert accepts(selector, message) is found
    return found


@pytest.mark.parametrize(
    ("selector", "message", "expected"),
    [
        ("JMSType = 'car' AND color = 'blue' AND weight > 2500", CAR, True),
        ("age BETWEEN 15 AND 19", {"age": 19}, True),
        ("age NOT BETWEEN 15 AND 19", {"age": 19}, False),
        ("age NOT BETWEEN 15 AND 19", {}, False),
        ("Country IN ('UK', 'US', 'France')", {"Country": "UK"}, True),
        ("Country NOT IN (' UK', 'US')", CAR, True),
        ("Country IN ('UK')", {}, False),
        ("NOT (Country IN ('UK'))", {}, False),
        ("phone LIKE '12%3'", {"phone": "123"}, True),
        ("phone LIKE '12%3'", CAR, True),
        ("phone LIKE '12%3'", {"phone": "1234"}, False),
        ("phone LIKE 'l_se'", {"phone": "lose"}, True),
        (r"underscored LIKE '\_%' ESCAPE '\'", CAR, True),
        (r"underscored LIKE '\_%' ESCAPE '\'", {"underscored": "bar"}, False),
        ("phone NOT LIKE '12%3'", {}, False),
        ("price IS NULL", {}, True),
        ("price IS NOT NULL", {"price": 1.0}, True),
        ("weight = 0xBB8", CAR, True),
        ("weight = 05670", CAR, True),
        ("weight = 3_000L", CAR, True),
        ("price > 6.2f AND price < 7. AND price > -.5d", {"price": 6.5}, True),
        ("price = 7E3", {"price": 7000.0}, True),
        ("weight + 500 >= 3500 and not (weight / 2.0 < 1500)", CAR, True),
        ("flag = TRUE or flag <> true", {"flag": False}, True),
        ("Country = 'it''s'", {"Country": "it's"}, True),
        ("", CAR, True),
        ("weight * 0.1 = 300.0", CAR, True),
        ("age * 0.1 = 0.3", {"age": 3}, False),  # doubles, whose product is 0.30000000000000004
        ("price = 0.1 + 0.2", {"price": 0.3}, False),
        ("age = 9007199254740992.0", {"age": 2**53 + 1}, True),  # rounded on its way to a double
        ("age BETWEEN 9007199254740992.0 AND 1E30", {"age": 2**53 - 1}, False),
        ("age > 9007199254740992", {"age": 2**53 + 1}, True),
        ("price = 6.2f", {"price": 6.2}, False),
        ("price = 6.2f", {"price": 6.199999809265137}, True),
        ("age = -9223372036854775808", {"age": -(2**63)}, True),
        ("weight = 0x7fff_ffff OR weight = 0x8000_0000L", {"weight": 2**31}, True),
    ],
)
def test_what_a_selector_means(selector: str, message: dict[str, Any], expected: bool) -> None:
    assert held(selector, message) is expected


def test_names_are_those_of_java() -> None:
    assert read_jms("$kind = 'a' AND JMS_$x <> 'b'").where == "\"$kind\" = 'a' AND \"JMS_$x\" <> 'b'"
    assert read_jms("Straße = 'a' and Any = 'b'").where == "Straße = 'a' AND Any = 'b'"


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("lower(color) = 'x'", "column 6: JMS selectors have no functions: lower"),
        ("color != 'x'", "column 7: '!='"),
        ('"color" = 1', "column 1"),
        ("color < 'x'", "no order"),
        ("flag > TRUE", "no order"),
        ("color BETWEEN 'a' AND 'b'", "BETWEEN takes numbers"),
        ("weight IN (1, 2)", "IN takes texts"),
        ("weight = 089", "not octal"),
        ("weight / 2 = 5", "cut off in Java"),
        ("color ILIKE 'x'", "."),
        ("ANY(tags) = 'x'", "no functions"),
        ("weight % 2 = 1", "column 8"),
        ("weight = 5x", "column 10"),
        ("weight = 5_", "column 10"),
        ("weight = 0x1.8p3", "."),
        ("weight = 0x80000000", "past the end of int"),
        ("weight = 9223372036854775808", "past the end of long"),
        ("price < 1e400", "past the largest number"),
        ("price < 1e40f", "past the largest number"),
        ("price / weight > 2.0", "weight may be zero"),
        ("price / 0.0 > 2.0", "0.0 may be zero"),
        ("weight >", "."),
        ("a.b = 1", "column 2"),
        ("color = :p", "column 9"),
    ],
)
def test_what_is_no_selector_is_refused_with_its_place(selector: str, said: str) -> None:
    with pytest.raises(SubscriptionError, match=said):
        read_jms(selector)


class Writer:
    """Writes selectors at random, most of which the reader takes."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def truth(self, depth: int) -> str:
        random = self.random
        shape = random.random()
        if depth and shape < 0.5:
            return f" {random.choice(['AND', 'OR', 'and'])} ".join(
                self.part(depth - 1) for _ in range(random.choice([2, 3]))
            )
        if depth and shape < 0.65:
            return f"NOT {self.part(depth - 1)}"
        negated = random.choice(["", "NOT "])
        kind = random.randrange(8)
        if kind < 3:
            sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
            return f"{self.number(2)} {sign} {self.number(1)}"
        if kind == 3:
            return f"{random.choice(['s', 't'])} {random.choice(['=', '<>'])} {self.text()}"
        if kind == 4:
            pattern = random.choice(["a%", "%b", "_b%", "a!_b' ESCAPE '!", "%!%%' ESCAPE '!", "", "%", "%a%b%"])
            return f"{random.choice(['s', 't'])} {negated}LIKE '{pattern}'"
        if kind == 5:
            some = ", ".join(f"'{random.choice(['a', 'ab', 'b', ''])}'" for _ in range(random.randint(1, 3)))
            return f"s {negated}IN ({some})"
        if kind == 6:
            return f"{random.choice(['n', 'x', 's', 'b'])} IS {negated}NULL"
        if random.random() < 0.3:
            sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
            return (
                f"big {sign} {random.choice(['9007199254740992', '9007199254740992.0', '(x + 0.0)', '(n * 1.0)', '5'])}"
            )
        low = random.randint(-3, 3)
        ends = random.choice([f"{low} AND {low + 2}", f"{low}.5 AND 2.5", "m AND 3", "-1e18 AND 9007199254740992."])
        return random.choice([f"{self.number(1)} {negated}BETWEEN {ends}", "b = TRUE", "b <> false", "b"])

    def part(self, depth: int) -> str:
        return f"({self.truth(depth)})"

    def number(self, depth: int) -> str:
        random = self.random
        if depth and random.random() < 0.4:
            if random.random() < 0.2:
                return f"({self.number(depth - 1)} / {random.choice(['2.0', '-0.1', '3.', '.5'])})"
            return f"({self.number(depth - 1)} {random.choice('+-*')} {self.number(depth - 1)})"
        return random.choice(
            ["n", "m", "x", "y", "-n", "- x", "0", "0x3", "03", "2L", "0.1", "0.3", "3e-1", ".5f", "0.1f", "1.", "-2"]
        )  # fmt: skip

    def text(self) -> str:
        return self.random.choice(["'a'", "'ab'", "''", "'it''s'", "s", "t"])


def test_random_selectors_accept_what_the_specification_says() -> None:
    random = Random(25)
    schema = rookery.Schema(n=int, m=int, big=int, x=float, y=float, s=str, t=str, b=bool)
    writer, matcher, refused = Writer(random), rookery.matcher(schema), 0
    messages = [
        {
            "event_id": number,
            **{name: random.choice([*range(-3, 4), None]) for name in ("n", "m")},
            "big": random.choice([2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, None]),
            **{name: random.choice([0.1, 0.2, 0.3, 0.5, -2.0, 1.0, 0.1 * 3, 2.0**53, None]) for name in ("x", "y")},
            **{name: random.choice(["a", "ab", "b", "", "a_b", "it's", "%", None]) for name in ("s", "t")},
            "b": random.choice([True, False, None]),
        }
        for number in range(80)
    ]
    selectors: list[str] = []
    while len(selectors) < 300:
        selector = writer.truth(random.choice([0, 0, 1, 2, 3]))
        try:
            matcher.add(len(selectors), read_jms(selector).where)
        except SubscriptionError:
            refused += 1
            continue
        selectors.append(selector)
    found = matcher.match_many(messages)
    pairs = set(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))
    for number, selector in enumerate(selectors):
        for message in messages:
            due = accepts(selector, message)
            assert ((message["event_id"], number) in pairs) is due, (selector, read_jms(selector).where, message)
    assert len(pairs) > 5_000
    assert refused < len(selectors) // 10
