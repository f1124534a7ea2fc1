"""Event patterns as conditions, judged by an evaluator that shares nothing with the reader."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tests.model.dialects.random_patterns import random_event, random_pattern
from tests.twins.event_patterns import holds

import rookery
from rookery.errors import SubscriptionError
from rookery.model.dialects.event_patterns import read_event_pattern
from rookery.model.documents import laid_out

EVENT: dict[str, Any] = {
    "source": "aws.ec2",
    "resources": ["arn:1", "arn:2"],
    "detail": {"state": "running", "c-count": 5, "x-limit": 301.8, "source-ip": "10.0.0.33", "gone": None, "on": True},
}


def matches(patterns: dict[str, str], events: list[dict[str, Any]]) -> set[tuple[int, str]]:
    """Return (event, pattern) of each match, all patterns in one set."""
    rows = [{"subscription_id": name, "where": text, "dialect": "eventbridge"} for name, text in patterns.items()]
    schema = rookery.Schema.from_subscriptions(rows)
    matcher = rookery.matcher(schema)
    matcher.add_many(rows)
    table, origins = laid_out(events, schema)
    if not table.num_rows:
        return set()
    found = matcher.match_many(table.append_column("event_id", [origins]))
    return set(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))


def is_read(text: str) -> bool:
    """Say whether a random pattern is read: in a few, an `$or` asks for a path that stands beside it."""
    try:
        return bool(read_event_pattern(text))
    except SubscriptionError as error:
        if "is asked twice" not in error.message:
            raise
        return False


def held(pattern: Any, event: dict[str, Any]) -> bool:
    """Say whether a pattern matches, after the slow judge said the same."""
    text = json.dumps(pattern)
    found = bool(matches({"p": text}, [event]))
    assert found == holds(text, event)
    return found


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"source": ["aws.s3", "aws.ec2"]}, True),
        ({"source": ["AWS.ec2"]}, False),
        ({"source": [{"equals-ignore-case": "AWS.ec2"}]}, True),
        ({"source": [{"prefix": {"equals-ignore-case": "AWS."}}]}, True),
        ({"source": [{"suffix": {"equals-ignore-case": "EC2"}}]}, True),
        ({"source": [{"prefix": "aws"}], "detail": {"state": [{"suffix": "ing"}]}}, True),
        ({"resources": ["arn:2"]}, True),
        ({"resources": [{"anything-but": "arn:2"}]}, True),
        ({"resources": [{"anything-but": ["arn:1", "arn:2"]}]}, False),
        ({"detail": {"c-count": [5.0]}}, True),
        ({"detail": {"c-count": ["5"]}}, False),
        ({"detail": {"c-count": [{"numeric": [">", 0, "<=", 5]}]}}, True),
        ({"detail": {"x-limit": [{"numeric": ["=", 3.018e2]}]}}, True),
        ({"detail": {"x-limit": [{"anything-but": [100, 200]}]}}, True),
        ({"detail": {"state": [{"anything-but": 100}]}}, True),
        ({"detail": {"source-ip": [{"cidr": "10.0.0.1/24"}]}}, True),
        ({"detail": {"gone": [None]}}, True),
        ({"detail": {"gone": [{"exists": True}]}}, True),
        ({"detail": {"on": [True]}}, True),
        ({"detail": {"on": ["true"]}}, False),
        ({"detail": [{"exists": False}]}, True),
        ({"detail": {"nothing": [{"exists": False}]}, "source": [{"exists": True}]}, True),
        ({"detail": {"nothing": [{"anything-but": "x"}]}}, False),
        ({"detail": {"state": [{"wildcard": "r*n*g"}]}}, True),
        ({"detail": {"state": [{"anything-but": {"wildcard": ["x*", "run*"]}}]}}, False),
        ({"detail.state": ["running"]}, True),
        ({"$or": [{"source": ["x"]}, {"detail": {"state": ["running"], "on": [True]}}]}, True),
        ({"source": ["x"], "$or": [{"source2": ["x"]}, {"detail": {"state": ["running"]}}]}, False),
    ],
)
def test_what_a_pattern_means(pattern: Any, expected: bool) -> None:
    assert held(pattern, EVENT) is expected


def test_two_fields_come_from_one_item() -> None:
    pattern = {"people": {"first": ["Anna"], "last": ["Jones"]}}
    names = [("John", "Doe"), ("Anna", "Smith"), ("Peter", "Jones")]
    people = [{"first": first, "last": last} for first, last in names]
    assert not held(pattern, {"people": people})
    assert not held(pattern, {"people": [people[:2], people[2:]]})
    assert held(pattern, {"people": [people, {"first": "Anna", "last": "Jones"}]})
    assert held({"people": {"first": ["Anna"]}, "tags": ["b"]}, {"people": people, "tags": ["a", "b"]})
    assert held({"d": ["x"], "d.a": [1]}, {"d": [{"a": 1}, "x"]})


def test_a_path_that_is_reached_twice_has_both_values() -> None:
    event = {"a.b": {"x": 1, "y": 2}, "a": {"b": {"x": 3, "y": 4}}}
    assert held({"a": {"b": {"x": [1], "y": [4]}}}, event)
    assert held({"a": {"b": {"x": [3], "y": [2]}}}, event)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: no JSON"),
        ("[]", "a pattern is a JSON object"),
        ("{}", "the pattern: an empty object"),
        ('{"a": {}}', "a: an empty object"),
        ('{"a": []}', "a: the list of values is empty"),
        ('{"a": 5}', "a: an object or a list"),
        ('{"a": [[1]]}', "a: a value is a text"),
        ('{"a": [1], "a": [2]}', "'a' stands twice"),
        ('{"a.b": [1], "a": {"b": [2]}}', "a.b is asked twice"),
        ('{"a": [1], "$or": [{"a": [2]}, {"b": [1]}]}', "a is asked twice"),
        ('{"$or": [{"a": [2]}]}', r"\$or: a list of two"),
        ('{"$or": {"a": [2]}}', r"\$or: a list of two"),
        ('{"$or": [{"prefix": [2]}, {"b": [1]}]}', "prefix: the name is reserved"),
        ('{"a": [{"prefix": 5}]}', "a: prefix takes a text"),
        ('{"a": [{"prefix": "x", "suffix": "y"}]}', "one key"),
        ('{"a": [{"like": "x"}]}', "no match expression 'like'"),
        ('{"a": [{"wildcard": "x**"}]}', "two stars"),
        ('{"a": [{"wildcard": "x\\\\y"}]}', "a backslash"),
        ('{"a": [{"numeric": [">", 5, "<", 5]}]}', "the larger"),
        ('{"a": [{"numeric": ["<", 5, ">", 9]}]}', "the first is >"),
        ('{"a": [{"numeric": [">"]}]}', "numeric takes"),
        ('{"a": [{"numeric": ["=", 1e999]}]}', "past the largest double"),
        ('{"a": [{"anything-but": ["x", 5]}]}', "not both"),
        ('{"a": [{"anything-but": []}]}', "of nothing"),
        ('{"a": [{"anything-but": [true]}]}', "a number is needed"),
        ('{"a": [{"anything-but": {"prefix": ""}}]}', "empty text"),
        ('{"a": [{"exists": "yes"}]}', "true or false"),
        ('{"a": [{"cidr": "10.0.0.1"}]}', "a: cidr takes an address and a mask"),
        ('{"a": [{"cidr": "10.0.0.300/8"}]}', "a: '10.0.0.300/8'"),
        ('{"a": [{"equals-ignore-case": "straße"}]}', "several characters"),
        ('{"a": [NaN]}', "NaN is no JSON"),
    ],
)
def test_what_is_left_open_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(SubscriptionError, match=said):
        read_event_pattern(text)


@pytest.mark.parametrize("count", [60, pytest.param(5_000, marks=pytest.mark.slow)])
def test_random_patterns_and_events_agree_with_the_slow_judge(count: int) -> None:
    compared = found = 0
    for seed in range(max(1, count // 60)):
        dice = random.Random(seed)
        patterns = {str(place): text for place in range(60) if is_read(text := json.dumps(random_pattern(dice)))}
        assert len(patterns) > 50
        events = [random_event(dice) for _ in range(60)]
        wanted = {
            (place, name) for place, event in enumerate(events) for name, text in patterns.items() if holds(text, event)
        }
        assert matches(patterns, events) == wanted
        compared, found = compared + len(events) * len(patterns), found + len(wanted)
    assert found > compared / 100
