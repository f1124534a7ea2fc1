"""Properties of the language: print and parse are inverse; any text gets an answer or a SubscriptionError."""

from __future__ import annotations

import string
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.generators import random_filter, random_schema
from rookery.errors import SubscriptionError
from rookery.model import Schema, parse, to_text
from rookery.model.check import checking
from rookery.model.expressions import Expression
from rookery.model.lower import lower

SHRINKING = st.randoms(use_true_random=False)
PIECES = st.sampled_from(
    [
        "x", "y.z", "a[1]", "=", "<", ">=", "<>", "!=", "AND", "or", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS",
        "NULL", "TRUE", "(", ")", ",", "'a'", "'", "''", "%0", "%", "1", "-1", "+", "-", "1.5", ".", "1e5", "1e999999",
        "0x1F", "TIMESTAMP", "'2026-01-01'", "[", "]", "\\", "\n", "é", "\ud800", "\x00", "٣", "²", "ſ", '"', ";", "--",
    ]
)  # fmt: skip
SCHEMA = Schema(x=float, s=str, i=int)


def refusal(text: str) -> SubscriptionError | None:
    """Parse and type a text; return what it is refused with. Any other exception is a failure."""
    try:
        tree = parse(text)
        assert parse(to_text(tree)) == tree
        checking(text, tree, lambda one: lower(one, SCHEMA))
    except SubscriptionError as error:
        return error
    return None


def assert_answered(text: str) -> None:
    """A text is parsed and typed, or refused with a place inside it."""
    error = refusal(text)
    if error is not None:
        assert error.text == text
        assert error.position is not None
        assert 0 <= error.position <= len(text)
        assert str(error)


@settings(max_examples=300)
@given(SHRINKING)
def test_what_is_printed_parses_to_the_same_tree(random: Random) -> None:
    text, _ = random_filter(random, random_schema(random), depth=3)
    tree = parse(text)
    printed = to_text(tree)
    assert parse(printed) == tree
    assert to_text(parse(printed)) == printed


@settings(max_examples=300)
@given(st.text(max_size=60) | st.text(alphabet=string.printable, max_size=60))
def test_any_text_is_answered(text: str) -> None:
    assert_answered(text)


@settings(max_examples=500)
@given(st.lists(PIECES, max_size=14))
def test_any_sequence_of_pieces_is_answered(pieces: list[str]) -> None:
    assert_answered(" ".join(pieces))
    assert_answered("".join(pieces))


@settings(max_examples=300)
@given(SHRINKING, st.text(max_size=3))
def test_a_spoiled_filter_is_answered(random: Random, noise: str) -> None:
    text, _ = random_filter(random, SCHEMA, depth=2, with_parameters=False)
    begin = random.randint(0, len(text))
    end = min(len(text), begin + random.randint(0, 3))
    assert_answered(text[:begin] + noise + text[end:])


@settings(max_examples=100)
@given(SHRINKING)
def test_a_fault_deep_inside_is_named_at_its_place(random: Random) -> None:
    """Put an unknown field into a good filter: the caret stands under it."""
    text, _ = random_filter(random, SCHEMA, depth=3, with_parameters=False)
    whole = f"({text}) AND unknown_field_name = 1"
    error = refusal(whole)
    assert error is not None
    assert error.position == whole.index("unknown_field_name")


def depth_of(tree: Expression) -> int:
    inner = getattr(tree, "operands", None) or ([tree.operand] if hasattr(tree, "operand") else [])
    return 1 + max(map(depth_of, inner), default=0)


def test_long_and_flat_filters_are_no_problem() -> None:
    tree = parse(" OR ".join(f"x = {index}" for index in range(20_000)))
    assert depth_of(tree) == 2
    assert parse(to_text(tree)) == tree
    (term,) = lower(tree, SCHEMA)
    assert len(term.constraints[("x",)][1]) == 20_000
    (term,) = lower(parse(" AND ".join(f"i <> {2 * index}" for index in range(16_000))), SCHEMA)
    assert len(term.constraints[("i",)][1]) == 16_001


def test_a_comment_without_its_end_is_refused_at_once() -> None:
    for text in ("x = 1 /* y", "x = 1 /*/", "x = 1 " + "/* " * 80_000):
        with pytest.raises(SubscriptionError, match="this comment has no end") as caught:
            parse(text)
        assert caught.value.position == 6
    assert parse("x /* y **/ = /***/ 1 -- /* z") == parse("x = 1")
