"""Conditions of Sigma: `selection and not 1 of filter_*`, over the named selections of a rule.

NOT binds before AND, AND before OR. `1 of` (or `any of`) a pattern is some selection whose name fits, `all of` is every
one; `them` is all of them. Names that begin with an underscore belong to no pattern. What follows a `|` counts events
or relates several, which no condition on one event can say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from rookery.errors import SubscriptionError
from rookery.model.dialects.logic import All, Any, Negation, Node

__all__ = ["formula"]

_TOKEN = re.compile(r"\(|\)|\||[^\s()|]+")
_DEEPEST = 50


def formula(text: str, selections: Mapping[str, Node]) -> Node:
    """Return the formula of a condition."""
    reader = _Reader(_TOKEN.findall(text), selections, text)
    node = reader.alternatives(0)
    if reader.at < len(reader.tokens):
        raise reader.fault(f"expected AND or OR before {reader.tokens[reader.at]!r}")
    return node


class _Reader:
    def __init__(self, tokens: list[str], selections: Mapping[str, Node], text: str) -> None:
        self.tokens, self.selections, self.text = tokens, selections, text
        self.at = 0

    def fault(self, message: str) -> SubscriptionError:
        if "|" in self.tokens:
            message = "a condition with '|' speaks of several events, and a subscription of one"
        return SubscriptionError(f"condition {self.text!r}: {message}")

    def word(self) -> str:
        return self.tokens[self.at].lower() if self.at < len(self.tokens) else ""

    def alternatives(self, depth: int) -> Node:
        parts = [self.conjunction(depth)]
        while self.word() == "or":
            self.at += 1
            parts.append(self.conjunction(depth))
        return parts[0] if len(parts) == 1 else Any(parts)

    def conjunction(self, depth: int) -> Node:
        parts = [self.part(depth)]
        while self.word() == "and":
            self.at += 1
            parts.append(self.part(depth))
        return parts[0] if len(parts) == 1 else All(parts)

    def part(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.fault(f"nested deeper than {_DEEPEST} levels")
        word = self.word()
        if word == "not":
            self.at += 1
            return Negation(self.part(depth + 1))
        if word == "(":
            self.at += 1
            inside = self.alternatives(depth + 1)
            if self.word() != ")":
                raise self.fault("a parenthesis is not closed")
            self.at += 1
            return inside
        if word in ("1", "any", "all") and [one.lower() for one in self.tokens[self.at + 1 : self.at + 2]] == ["of"]:
            return self.several(All if word == "all" else Any)
        if self.at >= len(self.tokens):
            raise self.fault("it ends too early")
        name = self.tokens[self.at]
        if name not in self.selections:
            raise self.fault(f"there is no selection {name!r}; the rule has {', '.join(self.selections)}")
        self.at += 1
        return self.selections[name]

    def several(self, kind: type[All] | type[Any]) -> Node:
        if self.at + 2 >= len(self.tokens):
            raise self.fault("it ends too early")
        pattern = self.tokens[self.at + 2]
        self.at += 3
        wanted = "*" if pattern.lower() == "them" else pattern
        parts = [one for name, one in self.selections.items() if not name.startswith("_") and fnmatchcase(name, wanted)]
        if not parts:
            raise self.fault(f"no selection is named {pattern!r}")
        return parts[0] if len(parts) == 1 else kind(parts)
