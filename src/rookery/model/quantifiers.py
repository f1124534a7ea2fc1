"""Conditions on the elements of a list, as the parser makes them: whose field a name is.

A condition inside ANY(list, …) or exists(list, x -> …) speaks of one element: the paths of its fields begin there. A
predicate on a bare ANY(list) is asked of the element itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from rookery.model.expressions import (
    EACH,
    ITEM,
    AnyElement,
    Expression,
    Field,
    Literal,
    Placeholder,
    fields_of,
    value_text,
)
from rookery.model.tokens import TokenFault

__all__ = ["asked_of_elements", "of_variable"]

_Path = tuple[str | int, ...]


def asked_of_elements(node: Expression, at: int, marks: dict[int, int] | None) -> Expression:
    """Return a predicate on ANY(list) as what it asks of an element; `at` is the token where it begins."""
    paths = fields_of(node)
    lists = {path[:-1] for path in paths if path[-1] == EACH}
    if not lists:
        return node
    if len(lists) > 1 or any(path[-1] != EACH for path in paths):
        raise TokenFault(at, "ANY(list) is compared with values", "of one element: ANY(list, condition)")
    return AnyElement(lists.pop(), _renamed(node, lambda _: (ITEM,), at, marks))


def of_variable(node: Expression, variable: str, at: int, marks: dict[int, int] | None) -> Expression:
    """Return a condition that names its element by a variable as one of the element's own fields."""

    def name(path: _Path) -> _Path | None:
        if path[0] != variable:
            return None
        return path[1:] if len(path) > 1 and isinstance(path[1], str) else (ITEM, *path[1:])

    renamed: Expression = _renamed(node, name, at, marks)
    return renamed


def _renamed(node: Any, name: Callable[[_Path], _Path | None], at: int, marks: dict[int, int] | None) -> Any:
    """Return a tree with other names for its fields; None is no name that is known there."""
    if isinstance(node, tuple):
        return tuple(_renamed(one, name, at, marks) for one in node)
    if isinstance(node, Field):
        path = name(node.path)
        if path is None:
            raise TokenFault(at, f"{value_text(node)} is no field of the element", "name the element before it")
        made: Any = Field(path)
    elif isinstance(node, AnyElement):
        path = name(node.path)
        if path is None:
            raise TokenFault(at, "the list is no field of the element", "name the element before it")
        made = AnyElement(path, node.condition)
    elif isinstance(node, msgspec.Struct) and not isinstance(node, Literal | Placeholder):
        made = type(node)(*(_renamed(getattr(node, one), name, at, marks) for one in node.__struct_fields__))
    else:
        return node
    if marks is not None:
        marks[id(made)] = marks.get(id(node), at)
    return made
