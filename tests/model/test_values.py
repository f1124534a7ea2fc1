"""Keys, intervals and patterns: the arithmetic below the language."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.model.patterns import like_matcher, like_prefix
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
    float_key,
    key_float,
)
from rookery.model.values import TOP, after, before, complement, everything, intersect, is_subset, union

SMALL = IntegerType(8)
POINTS = range(-12, 18)
INTERVALS = st.lists(st.tuples(st.integers(-10, 10), st.integers(0, 5)), max_size=6).map(
    lambda pairs: union(tuple((low, low + size) for low, size in pairs), ())
)


def members(intervals: Any) -> set[int]:
    return {point for point in POINTS if any(low <= point <= high for low, high in intervals)}


@given(INTERVALS, INTERVALS)
def test_intervals_are_sets(one: Any, other: Any) -> None:
    assert members(union(one, other)) == members(one) | members(other)
    assert members(intersect(one, other)) == members(one) & members(other)
    assert members(complement(one, SMALL)) == set(POINTS) - members(one)
    assert complement(complement(one, SMALL), SMALL) == one
    inner = intersect(one, other)
    assert is_subset(inner, one)
    assert is_subset(one, union(one, other))
    assert is_subset(one, other) == (members(one) <= members(other))


@given(INTERVALS)
def test_intervals_are_kept_apart_and_in_order(one: Any) -> None:
    assert all(low <= high for low, high in one)
    assert all(first[1] + 1 < second[0] for first, second in pairwise(one))


TEXTS = st.text(alphabet="ab\U0010ffff", max_size=3)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), TEXTS)
def test_string_intervals_are_sets(pairs: list[tuple[str, str]], text: str) -> None:
    kind = StringType()
    closed = union(tuple(((min(pair), 0), (max(pair), 0)) for pair in pairs), ())
    inside = any(min(pair) <= text <= max(pair) for pair in pairs)
    key = (text, 0)
    assert any(low <= key <= high for low, high in closed) == inside
    assert any(low <= key <= high for low, high in complement(closed, kind)) == (not inside)
    assert complement(complement(closed, kind), kind) == closed
    assert intersect(everything(kind), closed) == closed


@given(TEXTS)
def test_no_key_stands_after_the_last(text: str) -> None:
    assert (text, 1) < TOP
    assert not (text, 1) > TOP
    assert before((text, 0)) < (text, 0) < after((text, 0))
    assert TOP <= TOP
    assert TOP == TOP
    assert TOP[0] != text
    assert TOP[0] > text
    assert not TOP[0] < text
    assert not text > TOP[0]
    assert repr(TOP[0]) == "TOP"
    assert hash(TOP[0]) == hash(TOP[0])


NUMBERS = st.integers(-(2**70), 2**70) | st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20
)


@given(NUMBERS, st.integers(-(2**63), 2**63 - 1))
def test_an_integer_and_a_literal_compare_by_their_keys(literal: Any, value: int) -> None:
    floor, ceiling = IntegerType().enclose(literal)
    assert (value < literal) == (value < ceiling)
    assert (value <= literal) == (value <= floor)
    assert (value == literal) == (floor <= value <= ceiling and floor == ceiling)


@given(st.integers(-(2**70), 2**70), st.floats(allow_nan=False))
def test_a_double_and_a_whole_literal_compare_by_their_keys(literal: int, value: float) -> None:
    floor, ceiling = FloatType().enclose(literal)
    key = float_key(value)
    assert (value < literal) == (key < ceiling)
    assert (value <= literal) == (key <= floor)
    assert (value == literal) == (key == floor == ceiling)


@given(st.floats(allow_nan=False))
def test_a_double_comes_back_from_its_key(value: float) -> None:
    assert key_float(float_key(value)) == value


@given(NUMBERS, st.integers(-(10**30) + 1, 10**30 - 1))
def test_a_decimal_and_a_literal_compare_by_their_keys(literal: Any, steps: int) -> None:
    value = Fraction(steps, 10**4)
    floor, ceiling = DecimalType(30, 4).enclose(literal)
    assert (value < Fraction(literal)) == (steps < ceiling)
    assert (value <= Fraction(literal)) == (steps <= floor)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@given(literal=st.integers(-(10**19), 10**19), value=st.integers(-(10**10), 10**10))
def test_an_instant_and_a_literal_compare_by_their_keys(unit: str, literal: int, value: int) -> None:
    kind = TimestampType(unit)
    floor, ceiling = kind.enclose(literal)
    assert (value * kind.nanoseconds < literal) == (value < ceiling)
    assert (value * kind.nanoseconds <= literal) == (value <= floor)


def test_types_name_themselves() -> None:
    names = [
        BooleanType(),
        IntegerType(16),
        IntegerType(32, signed=False),
        FloatType(32),
        DecimalType(5, 2),
        TimestampType("ns"),
    ]
    assert [kind.name for kind in names] == ["bool", "int16", "uint32", "float32", "decimal(5,2)", "timestamp[ns]"]
    assert EnumType(("a", "b")).name == "enum of 2 labels"
    assert (IntegerType(8).lowest, IntegerType(8).highest) == (-128, 127)
    assert (IntegerType(8, signed=False).lowest, IntegerType(8, signed=False).highest) == (0, 255)
    assert DecimalType(3, 1).enclose(Decimal("1.25")) == (12, 13)
    assert BooleanType().enclose(True) == (1, 1)
    assert EnumType(("a", "b")).enclose("b") == (1, 1)


@pytest.mark.parametrize(
    ("pattern", "escape", "prefix"),
    [
        ("abc", None, ("abc", "equal")),
        ("ab%", None, ("ab", "prefix")),
        ("ab%%", None, ("ab", "prefix")),
        ("%", None, ("", "prefix")),
        ("", None, ("", "equal")),
        ("ab_", None, ("ab", "other")),
        ("ab%c", None, ("ab", "other")),
        ("_b", None, ("", "other")),
        ("a!%b", "!", ("a%b", "equal")),
        ("a!%b%", "!", ("a%b", "prefix")),
        ("a!!%", "!", ("a!", "prefix")),
    ],
)
def test_a_pattern_has_a_prefix_and_a_kind(pattern: str, escape: str | None, prefix: tuple[str, str]) -> None:
    assert like_prefix(pattern, escape) == prefix


def plain_like(text: str, pattern: str) -> bool:
    """LIKE as its definition says, without cleverness."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(plain_like(text[start:], pattern[1:]) for start in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and plain_like(text[1:], pattern[1:])


@given(st.text(alphabet="ab\n%_", max_size=8), st.text(alphabet="ab%_", max_size=6))
def test_a_pattern_matches_as_defined(text: str, pattern: str) -> None:
    assert (like_matcher(pattern, None).fullmatch(text) is not None) == plain_like(text, pattern)


def test_a_pattern_of_many_runs_ends() -> None:
    """Twenty runs on two hundred characters: a search that backtracks would not come back."""
    matches = like_matcher("%a" * 20 + "%b", None).fullmatch
    assert matches("a" * 200) is None
    assert matches("a" * 200 + "b") is not None
