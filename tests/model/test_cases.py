"""The golden cases of the language: text to tree, tree to text, faults with their places, relations."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rookery.errors import SubscriptionError
from rookery.model import Schema, covers, merge, parse, to_text
from rookery.model.check import checking
from rookery.model.evaluate import condition
from rookery.model.expressions import (
    And,
    Between,
    Comparison,
    Constant,
    Field,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Placeholder,
    Timestamp,
    field_text,
)
from rookery.model.lower import lower

CASES = Path(__file__).parents[1] / "cases" / "subscriptions"


def read(name: str) -> dict[str, Any]:
    return json.loads((CASES / name).read_text("utf-8"))


def plain_value(value: Field | Literal | Placeholder) -> Any:
    """Return a value as the cases write it."""
    if isinstance(value, Field):
        return {"field": field_text(value.path)}
    if isinstance(value, Placeholder):
        return {"parameter": value.index}
    content = value.value
    if isinstance(content, bool):
        return content
    if isinstance(content, str):
        return {"string": content}
    if isinstance(content, Decimal):
        return {"decimal": str(content)}
    if isinstance(content, Timestamp):
        return {"ns": content.nanoseconds}
    return content


def plain(node: Any) -> Any:
    """Return a tree as the cases write it."""

    def named(name: str) -> str:
        return f"not {name}" if node.negated else name

    match node:
        case Comparison(operator, left, right):
            return [operator, field_text(left.path), plain_value(right)]
        case Between(field, low, high):
            return [named("between"), field_text(field.path), plain_value(low), plain_value(high)]
        case In(field, values):
            return [named("in"), field_text(field.path), [plain_value(value) for value in values]]
        case Like(field, pattern, escape):
            return [named("like"), field_text(field.path), plain_value(pattern), escape]
        case IsNull(field, negated):
            return ["is not null" if negated else "is null", field_text(field.path)]
        case Constant(value):
            return ["true" if value else "false"]
        case Not(operand):
            return ["not", plain(operand)]
        case And(operands):
            return ["and", *map(plain, operands)]
        case Or(operands):
            return ["or", *map(plain, operands)]
    raise AssertionError(node)


def name_of(case: dict[str, Any]) -> str:
    return repr(case["text"])[:60]


@pytest.mark.parametrize("case", read("literals.json")["cases"] + read("conditions.json")["cases"], ids=name_of)
def test_a_text_becomes_its_tree_and_its_canonical_text(case: dict[str, Any]) -> None:
    tree = parse(case["text"])
    assert plain(tree) == case["tree"]
    assert to_text(tree) == case["canonical"]
    assert parse(to_text(tree)) == tree
    assert to_text(parse(case["canonical"])) == case["canonical"]


def check_fault(error: SubscriptionError, case: dict[str, Any]) -> None:
    assert case["message"] in error.message
    assert error.position == case["position"]
    if "hint" in case:
        assert error.hint is not None
        assert case["hint"] in error.hint
    *_, line, caret = [one for one in str(error).split("\n") if not one.startswith("hint:")]
    assert caret.strip() == "^"
    place = caret.index("^")
    rest = case["text"][case["position"] :].split("\n")[0]
    assert line[place:].startswith(rest[:20].replace("\t", " "))


@pytest.mark.parametrize("case", read("syntax_errors.json")["cases"], ids=name_of)
def test_a_malformed_text_is_refused_at_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(SubscriptionError) as caught:
        parse(case["text"])
    check_fault(caught.value, case)


@pytest.mark.parametrize("build", [condition, lower], ids=["evaluate", "lower"])
@pytest.mark.parametrize("case", read("type_errors.json")["cases"], ids=name_of)
def test_a_text_of_wrong_types_is_refused_at_its_place(case: dict[str, Any], build: Any) -> None:
    schema = Schema.from_dict(read("type_errors.json")["schema"])
    text, tree = case["text"], parse(case["text"])
    with pytest.raises(SubscriptionError) as caught:
        checking(text, tree, lambda one: build(one, schema, case.get("parameters")))
    check_fault(caught.value, case)


SPARK = read("spark_filters.json")


@pytest.mark.parametrize("text", SPARK["accepted"])
def test_what_users_of_spark_type_compiles(text: str) -> None:
    schema = Schema.from_dict(SPARK["schema"])
    assert checking(text, parse(text), lambda tree: lower(tree, schema, SPARK["parameters"]))
    assert parse(to_text(parse(text))) == parse(text)


@pytest.mark.parametrize("case", SPARK["refused"], ids=name_of)
def test_what_users_of_spark_type_and_cannot_be_is_refused_with_what_to_write(case: dict[str, Any]) -> None:
    schema = Schema.from_dict(SPARK["schema"])
    with pytest.raises(SubscriptionError) as caught:
        checking(case["text"], parse(case["text"]), lambda tree: lower(tree, schema))
    check_fault(caught.value, case)


RELATIONS = read("relations.json")
RELATED = Schema.from_dict(RELATIONS["schema"])


@pytest.mark.parametrize("case", RELATIONS["covers"], ids=lambda case: f"{case['wide']} | {case['narrow']}")
def test_covers(case: dict[str, Any]) -> None:
    assert covers(case["wide"], case["narrow"], RELATED) is case["covers"]


@pytest.mark.parametrize("case", RELATIONS["merge"], ids=lambda case: " | ".join(case["filters"]))
def test_merge(case: dict[str, Any]) -> None:
    assert merge(case["filters"], RELATED) == case["merged"]
    assert all(covers(case["merged"], one, RELATED) for one in case["filters"] if "FALSE" not in one)
