"""JMS selectors as conditions: the specification's own examples, and what it forbids."""

from __future__ import annotations

from typing import Any

import pytest

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
    return bool(matcher.match(message))


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
        ("weight >", "."),
        ("a.b = 1", "column 2"),
        ("color = :p", "column 9"),
    ],
)
def test_what_is_no_selector_is_refused_with_its_place(selector: str, said: str) -> None:
    with pytest.raises(SubscriptionError, match=said):
        read_jms(selector)
