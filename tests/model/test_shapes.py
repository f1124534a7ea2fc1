"""Shapes give the terms that the long way gives, for every text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rookery import Schema
from rookery.errors import SubscriptionError
from rookery.model import parse
from rookery.model.lower import lower
from rookery.model.shapes import _VALUE, Shapes, _is_apart
from rookery.model.tokens import TOKEN

SCHEMA = Schema(
    symbol=str,
    price=float,
    volume=int,
    small="int8",
    level="uint64",
    amount="decimal(10,2)",
    flag=bool,
    at="timestamp[us]",
)

numbers = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda number: format(number, "f")),
    st.sampled_from(
        [
            "0",
            "-0",
            "0.0",
            "-0.0",
            ".5",
            "5.",
            "+7",
            "0x1F",
            "1e3",
            "1e999",
            "9" * 50,
            "128",
            "-129",
            "2.5",
            "1e+3",
            "1E-3",
            "0e+0",
            "0e+5",
            "1.5e+2",
            "%0",
            "1.2.3",
            "9" * 21,
            "0." + "1" * 21,
        ]
    ),
)
texts = st.text("ab'%_ é", max_size=4).map(lambda text: "'" + text.replace("'", "''") + "'")
operators = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="])
names = st.sampled_from(["symbol", "price", "volume", "small", "level", "amount", "flag", "at", "nothing", "tags[0]"])
comparisons = st.one_of(
    st.builds("{} {} {}".format, names, operators, st.one_of(numbers, texts)),
    st.builds("{}{}{}".format, names, operators, st.one_of(numbers, texts)),
    st.builds("{} {} {}".format, st.one_of(numbers, texts), operators, names),
    st.sampled_from(
        ["flag = TRUE", "symbol IN ('a', 'b')", "price BETWEEN 1 AND 2", "symbol LIKE 'a%'", "price < volume"]
    ),
)
conjunctions = st.lists(comparisons, min_size=1, max_size=4).map(" AND ".join)


def outcome(work: Any) -> Any:
    try:
        return [(term.constraints, term.exact) for term in work()]
    except SubscriptionError as error:
        return str(error)


@given(st.lists(st.one_of(conjunctions, conjunctions.map(lambda text: f"NOT ({text})")), min_size=1, max_size=6))
def test_a_known_shape_gives_what_the_long_way_gives(filters: list[str]) -> None:
    shapes = Shapes(SCHEMA)
    for text in filters + filters:  # the second time every shape is known

        def the_long_way(text: str = text) -> Any:
            from rookery.model.check import checking

            return checking(text, parse(text), lambda tree: lower(tree, SCHEMA))

        assert outcome(lambda text=text: shapes.lower(text)) == outcome(the_long_way)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("price < 5", "price < -5"),
        ("volume = 1", "volume = 1.5"),
        ("symbol = 'a'", "symbol = ''"),
        ("small < 100", "small < 1000"),
        ("price > 1 AND price < 2", "price > 2 AND price < 1"),
        ("level = 0", "level = 18446744073709551615"),
        ("price = 0e+0", "price = 0e+5"),
        ("price<5", "price<-5"),
        ("symbol = 'a 1'", "symbol = 'a''1'"),
        ("price < 5.", "price < .5"),
        ("price < -(0)", "price < -(5)"),
        ("price < -\x1c(0)", "price < -\x1c(5)"),
        ("price < - -0", "price < - -5"),
        ("level = -+0", "level = -+4"),
        ("price > +(-(0.0))", "price > +(-(3.5))"),
        ("price > (-0.0)", "price > (-3.5)"),
    ],
)
def test_texts_of_like_shapes_keep_their_own_values(first: str, second: str) -> None:
    shapes = Shapes(SCHEMA)
    for text in (first, second, first, second):
        assert outcome(lambda text=text: shapes.lower(text)) == outcome(lambda text=text: lower(parse(text), SCHEMA))


@given(st.text("a1.0 '-+eE%x<=AND", max_size=14))
def test_a_text_is_cut_only_at_whole_tokens(text: str) -> None:
    assume(not _is_apart(text))
    tokens = [(match.start(), match.end()) for match in TOKEN.finditer(text)]
    at = 0
    for place, part in enumerate(_VALUE.split(text)):
        if place % 2:
            assert (at, at + len(part)) in tokens
        at += len(part)


@pytest.mark.parametrize(
    "text", ["price < 5 -- 7", "-- 7\nprice < 5", "/* 7 */ price < 5", '"price" < 5', "-- it's 7\nprice < 5 -- 's"]
)
def test_comments_and_quoted_names_go_the_long_way(text: str) -> None:
    shapes = Shapes(SCHEMA)
    for _ in range(2):
        assert repr(shapes.lower(text)) == repr(shapes.lower("price < 5"))


def test_a_shape_never_hides_an_error() -> None:
    shapes = Shapes(SCHEMA)
    shapes.lower("price < 5")
    with pytest.raises(SubscriptionError, match="is a number"):
        shapes.lower("price < 'x'")
    with pytest.raises(SubscriptionError, match="unknown field"):
        shapes.lower("prize < 5")
