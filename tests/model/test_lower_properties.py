"""`lower` and `evaluate` agree: boxes hold where the condition is TRUE, and only there where they say so."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from model.generators import random_event, random_filter, random_schema
from rookery.model import Schema, covers, merge, parse
from rookery.model.check import COMPUTED, Checker
from rookery.model.computed import Path, computed_attribute, computed_value
from rookery.model.evaluate import condition
from rookery.model.events import comparable, step_into
from rookery.model.expressions import Field, Like, Literal
from rookery.model.lower import MAXIMUM_TERMS, Term, lower
from rookery.model.schema import Attribute
from rookery.model.texts import TextLeaf, text_leaves
from rookery.model.types import StringType

SHRINKING = st.randoms(use_true_random=False)


def holds(term: Term, schema: Schema, event: dict[str, Any]) -> bool:
    """Say whether an event lies in a box, key by key."""
    for path, (null, intervals) in term.constraints.items():
        attribute, value = _read(schema, path, event)
        if value is None:
            if not null:
                return False
            continue
        kind = attribute.type
        if isinstance(kind, StringType):
            key: Any = (value, 0)
        elif kind.family == "enum":
            key = kind.labels.index(value) if value in kind.labels else len(kind.labels)
        else:
            key = _key(kind, value)
        if not any(low <= key <= high for low, high in intervals):
            return False
    return all(any(_found(leaf, event, schema) for leaf in text_leaves(key)) is wanted for key, wanted in term.texts)


def _read(schema: Schema, path: Path, event: dict[str, Any]) -> tuple[Attribute, Any]:
    """Return an attribute, of the event or computed of it, and its value."""
    if path[0] == COMPUTED:
        computed = computed_attribute(schema, path)
        return computed, computed_value(computed, lambda one: comparable(one, step_into(event, one.path)))
    attribute = schema.attribute(path)
    return attribute, comparable(attribute, step_into(event, path))


def _found(leaf: TextLeaf, event: dict[str, Any], schema: Schema) -> bool:
    """Say whether a pattern holds, by the evaluator."""
    word = {"like": "LIKE", "fold": "ILIKE", "regex": "RLIKE"}[leaf.kind]
    node = Like(Field(("text",)), Literal(leaf.pattern), None if leaf.kind == "regex" else "\\", False, word)
    _, value = _read(schema, leaf.path, event)
    return condition(node, Schema(text=str))({("text",): value}) is True


def _key(kind: Any, value: Any) -> Any:
    from rookery.model.types import float_key

    if isinstance(value, float):
        return float_key(value)
    low, high = kind.enclose(value)
    assert low == high
    return low


def verdict(text: str, schema: Schema, parameters: list[object] | None, event: dict[str, Any]) -> bool | None:
    tree = parse(text)
    read = Checker(schema, parameters).reads(tree)
    row = {one.path: comparable(one, step_into(event, one.path)) for one in read}
    return condition(tree, schema, parameters)(row)


@settings(max_examples=400)
@given(SHRINKING)
def test_boxes_hold_where_the_condition_is_true(random: Random) -> None:
    schema = random_schema(random, most=4)
    text, parameters = random_filter(random, schema, depth=3)
    terms = lower(parse(text), schema, parameters)
    assert len(terms) <= MAXIMUM_TERMS
    for _ in range(8):
        event = random_event(random, schema)
        said = verdict(text, schema, parameters, event) is True
        boxed = [term for term in terms if holds(term, schema, event)]
        if said:
            assert boxed
        if any(term.exact for term in boxed):
            assert said


@settings(max_examples=400)
@given(SHRINKING)
def test_covers_is_never_wrongly_yes(random: Random) -> None:
    schema = random_schema(random, most=2)
    wide, _ = random_filter(random, schema, depth=1, with_parameters=False)
    narrow, _ = random_filter(random, schema, depth=1, with_parameters=False)
    if random.random() < 0.5:
        narrow = f"({wide}) AND ({narrow})"
    if covers(wide, narrow, schema):
        for _ in range(12):
            event = random_event(random, schema)
            if verdict(narrow, schema, None, event) is True:
                assert verdict(wide, schema, None, event) is True


@settings(max_examples=200)
@given(SHRINKING)
def test_covers_is_exact_for_conjunctions_on_one_attribute(random: Random) -> None:
    """Sets of one small integer: compare with what the whole numbers around say."""
    schema = Schema(x="int8")
    wide, narrow = (
        f"x BETWEEN {random.randint(-4, 4)} AND {random.randint(-4, 4)} AND x <> {random.randint(-4, 4)}"
        for _ in range(2)
    )
    said = covers(wide, narrow, schema)
    truth = all(
        verdict(wide, schema, None, {"x": value}) is True
        for value in range(-6, 7)
        if verdict(narrow, schema, None, {"x": value}) is True
    )
    assert said == truth


@settings(max_examples=250)
@given(SHRINKING)
def test_merge_covers_what_it_merged(random: Random) -> None:
    schema = random_schema(random, most=3)
    filters = [random_filter(random, schema, depth=1, with_parameters=False)[0] for _ in range(random.randint(1, 3))]
    merged = merge(filters, schema)
    for _ in range(10):
        event = random_event(random, schema)
        if any(verdict(one, schema, None, event) is True for one in filters):
            assert verdict(merged, schema, None, event) is True
