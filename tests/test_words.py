"""The words of the package: one thing has one name."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from pathlib import Path

import rookery
from rookery import errors

PACKAGE = Path(rookery.__file__).parent


def test_no_public_class_is_named_twice() -> None:
    """A class inside another is named by its owner too, and one with an underscore is its module's own."""
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 500, "the classes were not found"
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def tree_of(kind: type, depth: int = 0) -> list[str]:
    """Return the lines of an error and of those below it, in the order of their definitions."""
    builtins = [base.__name__ for base in kind.__bases__[1:]]
    line = "  " * depth + kind.__name__ + (f" ({', '.join(builtins)})" if builtins else "")
    below = [one for one in vars(errors).values() if inspect.isclass(one) and one.__bases__[0] is kind]
    return [line, *(deeper for one in below for deeper in tree_of(one, depth + 1))]


def test_the_module_of_errors_opens_with_their_tree() -> None:
    assert errors.__doc__ is not None
    shown = [line.removeprefix("    ") for line in errors.__doc__.splitlines() if line.startswith("    ")]
    assert shown == tree_of(errors.RookeryError)
    assert {line.split()[0] for line in shown} == set(errors.__all__)
