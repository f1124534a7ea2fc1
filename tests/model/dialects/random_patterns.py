"""Random event patterns and events that meet: few names, few values, every match expression, arrays of all shapes."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["random_event", "random_pattern"]

_NAMES = ["a", "b", "c", "d"]
_TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "ABC",
    "b%_",
    "x*y",
    "x\\y",
    '"',
    "10.0.0.1",
    "10.1.2.3",
    "::1",
    "0:0::1",
    "true",
    "5",
    "é",
    "É",
]
_NUMBERS = [0, 5, -5, 5.0, 2.5, 1e3, 300, 9007199254740993]


def random_event(dice: random.Random, depth: int = 0) -> dict[str, Any]:
    """Return an object of few names, whose values may be arrays of anything."""
    return {name: _value(dice, depth) for name in dice.sample(_NAMES, dice.randint(0 if depth else 1, 3))}


def _value(dice: random.Random, depth: int) -> Any:
    way = dice.random()
    if depth < 3 and way < 0.25:
        return random_event(dice, depth + 1)
    if depth < 3 and way < 0.5:
        return [_value(dice, depth + 1) for _ in range(dice.randint(0, 3))]
    return dice.choice([*_TEXTS, *_NUMBERS, True, False, None])


def random_pattern(dice: random.Random) -> dict[str, Any]:
    """Return a pattern in which no path stands twice."""
    return _object(dice, 0, set(), "")


def _object(dice: random.Random, depth: int, taken: set[str], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dice.sample(_NAMES, dice.randint(1, 2)):
        path = prefix + name
        if depth < 2 and dice.random() < 0.45:
            found[name] = _object(dice, depth + 1, taken, path + ".")
        elif path not in taken:
            taken.add(path)
            found[name] = [_asked(dice) for _ in range(dice.choice([1, 1, 2]))]
    if not found:
        found["e"] = [{"exists": False}]
    if depth < 2 and dice.random() < 0.15:
        branches = []
        for _ in range(2):
            own = set(taken)
            branches.append(_object(dice, depth + 1, own, prefix))
        if not ({path for one in branches for path in _paths(one, prefix)} & taken):
            found["$or"] = branches
    return found


def _paths(given: dict[str, Any], prefix: str) -> set[str]:
    found: set[str] = set()
    for name, value in given.items():
        if name == "$or":
            found |= {path for one in value for path in _paths(one, prefix)}
        elif isinstance(value, dict):
            found |= _paths(value, f"{prefix}{name}.")
        else:
            found.add(prefix + name)
    return found


def _asked(dice: random.Random) -> Any:
    text, other, number = dice.choice(_TEXTS), dice.choice(_TEXTS), dice.choice(_NUMBERS)
    full = text or "a"
    return dice.choice(
        [
            text, number, dice.choice([True, False, None]),
            {"prefix": full}, {"suffix": full}, {"prefix": {"equals-ignore-case": full}},
            {"suffix": {"equals-ignore-case": full}}, {"equals-ignore-case": text},
            {"wildcard": dice.choice(["a*", "*c", "a*c", "x\\**", "*", "x\\\\*", "ab", "*b*"])},
            {"exists": True}, {"exists": False}, {"cidr": dice.choice(["10.0.0.0/8", "10.0.0.1/32", "::/64"])},
            {"numeric": dice.choice([[">", 0], ["<=", 5], [">=", 0, "<", 300], ["=", 5], [">", 2, "<=", 1000]])},
            {"anything-but": text}, {"anything-but": [full, other]}, {"anything-but": number},
            {"anything-but": [number, 7]}, {"anything-but": {"prefix": full}},
            {"anything-but": {"suffix": [full, "z"]}},
            {"anything-but": {"equals-ignore-case": [full, other]}}, {"anything-but": {"wildcard": "a*"}},
        ]
    )  # fmt: skip
