"""Rows of a document: one for each choice of items, and only of what is asked."""

from __future__ import annotations

import pytest

from rookery.errors import EventError
from rookery.model.choices import Choices

ALL = ("a", "d.a", "d.b", "d", "t", "u")


def rows(document: dict[str, object]) -> list[dict[str, object]]:
    return Choices([f"{path}#text" for path in ALL])(document)


def test_each_item_of_an_array_is_a_row_and_arrays_are_chosen_apart() -> None:
    assert rows({"t": ["x", "y"], "u": ["z"]}) == [{"t#text": "x", "u#text": "z"}, {"t#text": "y", "u#text": "z"}]
    assert rows({"d": [{"a": "1"}, {"b": "2"}]}) == [{"d.a#text": "1"}, {"d.b#text": "2"}]
    assert rows({"d": ["x", {"a": "1"}, [{"b": "2"}]]}) == [
        {"d#text": "x", "d.a#text": "1"},
        {"d#text": "x", "d.b#text": "2"},
    ]


def test_what_is_not_asked_makes_no_rows() -> None:
    assert rows({"other": [1, 2, 3], "d": [{"z": [1, 2]}, {"z": 3}], "a": "x"}) == [{"a#text": "x"}]
    assert rows({}) == [{}]


def test_kinds_of_values() -> None:
    choices = Choices(["a#leaf", "a#value", "a#text", "b#absent"])
    said = [choices({"a": value})[0] for value in ("5", 5, 2**70, True, None)]
    assert said == [
        {"a#leaf": "text", "a#text": "5", "b#absent": True},
        {"a#leaf": "number", "a#value": 5.0, "b#absent": True},
        {"a#leaf": "number", "a#value": float(2**70), "b#absent": True},
        {"a#leaf": "true", "b#absent": True},
        {"a#leaf": "null", "b#absent": True},
    ]
    assert Choices(["d.b#absent"])({"d": [{"a": 1}, {"b": 1}]}) == [{}, {}]


def test_too_many_choices_are_said() -> None:
    with pytest.raises(EventError, match="more than 65,536 choices"):
        rows({"t": [str(one) for one in range(300)], "u": [str(one) for one in range(300)]})
