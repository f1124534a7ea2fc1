r"""Values of Sigma: what `Field|modifier|modifier: value` says, as a formula over the field.

Rule 1: modifiers act in the order in which they are written: some change the values (`base64offset`, `windash`), some
say how they are compared (`contains`, `re`), `all` says that every one must hold.
Rule 2: texts are compared without case (Unicode's simple folding) unless `cased` says otherwise. `*` is any run of
characters and `?` one; a backslash takes that meaning away from the wildcard behind it, `\\` is one backslash, and
before anything else a backslash is itself.
Rule 3: a number in a rule is compared as its text; `lt`, `lte`, `gt` and `gte` compare numbers, on the attribute
`Field#number`, which has the field's value where it is one; `minute` to `year` are parts of `Field#instant` in UTC.
Rule 4: regular expressions are RE2's. What it has not (look-around, back references) is refused.
Rule 5: a keyword is sought in each value of the event: a wildcard inside it does not reach from one into the next.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import product
from typing import Any as AnyValue

from rookery.errors import SubscriptionError
from rookery.model.dialects.logic import All, Any, Leaf, Negation, Node
from rookery.model.dialects.wildcards import Pieces, like
from rookery.model.documents import EVERY_VALUE, SEPARATOR
from rookery.model.expressions import (
    And,
    Call,
    Comparison,
    Expression,
    Field,
    In,
    IsNull,
    Like,
    Literal,
    Or,
    value_text,
)
from rookery.model.parser import parse
from rookery.model.regexes import regex_fault

__all__ = ["INSTANT", "KEYWORDS", "NUMBER", "item"]

#: The attribute that keywords are sought in: all values of an event (`documents.py`, rule 5).
KEYWORDS = EVERY_VALUE
#: Behind a field's name: its value as a number.
NUMBER = "#number"
#: Behind a field's name: its value as an instant.
INSTANT = "#instant"

_PARTS = ("minute", "hour", "day", "month", "year")
_SIGNS = {"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_SHAPES = ("contains", "startswith", "endswith")
_DASHES = ("-", "/", "\u2013", "\u2014", "\u2015")  # hyphen, slash, en dash, em dash, horizontal bar
_DASH = re.compile(r"\B[-/]\b")
_ENCODINGS = {"utf16": "utf-16", "utf16le": "utf-16-le", "wide": "utf-16-le", "utf16be": "utf-16-be"}
#: What `windash` may make of one value.
_MOST_VARIANTS = 5**4


def item(name: str, given: AnyValue) -> Node:
    """Return the formula of one line of a selection, or of keywords, whose field has no name."""
    field, *modifiers = name.split("|")
    values = given if isinstance(given, list) else [given]
    for one in values:
        if isinstance(one, list | dict):
            raise SubscriptionError(
                f"{name}: a value is a text, a number, true, false or null, not a {type(one).__name__}"
            )
    if not values:
        raise SubscriptionError(f"{name}: the list of values is empty")
    if not field:
        modifiers = (
            ["contains", *(one for one in modifiers if one != "contains")] if "re" not in modifiers else modifiers
        )
        field = KEYWORDS
    return _Item(name, Field((field,)), modifiers).formula(values)


class _Item:
    """One line on its way: its modifiers are taken one by one."""

    def __init__(self, name: str, field: Field, modifiers: list[str]) -> None:
        self.name, self.field, self.modifiers = name, field, modifiers
        self.every = False
        self.cased = False
        self.shape = ""
        self.flags = ""
        self.encoding = ""
        self.part = ""
        self.negated = False
        self.compare: Callable[[AnyValue], Expression] | None = None

    def formula(self, given: list[AnyValue]) -> Node:
        values: list[AnyValue] = list(given)
        for place, modifier in enumerate(self.modifiers):
            values = self._take(modifier, values, self.modifiers[place + 1 :])
        if self.encoding:
            raise self._refused(f"{self.encoding} goes before base64 or base64offset")
        there = next((one for one in values if isinstance(one, Leaf)), None)
        found = self._found(values) if there is None else there
        return Negation(found) if self.negated else found

    def _found(self, values: list[AnyValue]) -> Node:
        nodes: list[Node] = []
        if None in values:
            nodes.append(Leaf(IsNull(self.field), decided=True))
        values = [one for one in values if one is not None]
        if values:
            nodes.append(Leaf(self._values(values)))
        if len(nodes) == 1:
            return nodes[0]
        return All(nodes) if self.every else Any(nodes)

    def _take(self, modifier: str, values: list[AnyValue], rest: list[str]) -> list[AnyValue]:
        if modifier == "all":
            self.every = True
        elif modifier in _SHAPES:
            if self.shape:
                raise self._refused(f"{self.shape} and {modifier} exclude each other")
            self.shape = modifier
        elif modifier == "cased":
            self.cased = True
        elif modifier == "neq":
            self.negated = not self.negated
        elif modifier in _PARTS:
            self.part = modifier
            self.compare = self.compare or (lambda value: self._number("=", value))
        elif modifier == "re":
            self.compare = self._regex
        elif modifier in ("i", "ignorecase", "m", "multiline", "s", "dotall"):
            if self.compare != self._regex:
                raise self._refused(f"{modifier} goes behind re")
            self.flags += modifier[0] if modifier != "dotall" else "s"
        elif modifier == "cidr":
            self.compare = self._network
        elif modifier in _SIGNS:
            self.compare = lambda value: self._number(_SIGNS[modifier], value)
        elif modifier == "fieldref":
            self.compare = self._reference
        elif modifier == "exists":
            if len(values) != 1 or not isinstance(values[0], bool):
                raise self._refused("exists takes true or false")
            return [Leaf(IsNull(self.field, negated=values[0]), decided=True)]
        elif modifier == "windash":
            return [one for value in values for one in self._dashes(value)]
        elif modifier in _ENCODINGS:
            if not {"base64", "base64offset"} & set(rest):
                raise self._refused(f"{modifier} goes before base64 or base64offset")
            self.encoding = modifier
        elif modifier in ("base64", "base64offset"):
            encoded = [one for value in values for one in self._base64(modifier, value)]
            self.encoding = ""
            return encoded
        elif modifier == "expand":
            raise self._refused("expand needs values that are not in the rule", "write the values into the rule")
        else:
            raise self._refused(f"there is no modifier {modifier!r}")
        return values

    def _refused(self, why: str, hint: str | None = None) -> SubscriptionError:
        return SubscriptionError(f"{self.name}: {why}", hint=hint)

    def _values(self, values: list[AnyValue]) -> Expression:
        """Return the condition that some value, or with `all` every value, is met."""
        if self.compare is not None:
            if self.shape and self.compare != self._reference:
                raise self._refused(f"{self.shape} does not go with {', '.join(self.modifiers)}")
            parts: list[Expression] = [self.compare(value) for value in values]
        else:
            equal, parts = [], []
            for value in values:
                pieces = self._shaped(_pieces(value))
                text = "".join(character for _, character in pieces)
                if not any(wild for wild, _ in pieces) and (self.cased or text.lower() == text.upper()):
                    equal.append(Literal(text))
                elif self.field.path == (KEYWORDS,) and any(wild for wild, _ in pieces[1:-1]):
                    parts.append(self._within_a_value(pieces[1:-1]))
                else:
                    parts.append(like(self.field, pieces, cased=self.cased))
            if len(equal) > 1 and not self.every:
                parts.insert(0, In(self.field, tuple(dict.fromkeys(equal))))
            else:
                parts = [*(Comparison("=", self.field, one) for one in equal), *parts]
        if len(parts) == 1:
            return parts[0]
        return And(tuple(parts)) if self.every else Or(tuple(parts))

    def _shaped(self, pieces: Pieces) -> Pieces:
        run = ((True, "*"),)
        if self.shape in ("contains", "endswith") and pieces[:1] != run:
            pieces = run + pieces
        if self.shape in ("contains", "startswith") and pieces[-1:] != run:
            pieces += run
        return pieces

    def _within_a_value(self, pieces: Pieces) -> Expression:
        """Return the condition that the pieces stand in one value: no wildcard takes what separates values."""
        way = {"*": f"[^{SEPARATOR}]*", "?": f"[^{SEPARATOR}]"}
        pattern = "" if self.cased else "(?i)"
        pattern += "".join(way[one] if wild else _literal(one) for wild, one in pieces)
        return Like(self.field, Literal(pattern), word="RLIKE")

    def _regex(self, value: AnyValue) -> Expression:
        pattern = str(value)
        if self.flags:
            pattern = f"(?{''.join(sorted(set(self.flags)))}){pattern}"
        fault = regex_fault(pattern)
        if fault is not None:
            raise self._refused(f"the regular expression {pattern!r} is none of RE2: {fault}")
        return Like(self.field, Literal(pattern), word="RLIKE")

    def _network(self, value: AnyValue) -> Expression:
        quoted = str(value).replace("'", "''")
        try:
            return parse(f"{value_text(self.field)} IN CIDR '{quoted}'")
        except SubscriptionError as error:
            raise self._refused(f"{value!r}: {error.message}", error.hint) from None

    def _number(self, sign: str, value: AnyValue) -> Expression:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._refused(f"a number is needed, not {value!r}")
        number = value if isinstance(value, int) else Decimal(repr(value))
        name = self.field.path[0]
        if self.part:
            return Comparison(sign, Call(self.part, (Field((f"{name}{INSTANT}",)),)), Literal(number))
        return Comparison(sign, Field((f"{name}{NUMBER}",)), Literal(number))

    def _reference(self, value: AnyValue) -> Expression:
        other = Field((str(value),))
        pair: list[Field | Call] = (
            [self.field, other] if self.cased else [Call("lower", (one,)) for one in (self.field, other)]
        )
        if not self.shape:
            return Comparison("=", pair[0], pair[1])
        function = {"contains": "contains", "startswith": "starts_with", "endswith": "ends_with"}[self.shape]
        return Comparison("=", Call(function, tuple(pair)), Literal(True))

    def _dashes(self, value: AnyValue) -> Iterable[str]:
        text = str(value)
        places = [found.start() for found in _DASH.finditer(text)]
        if len(_DASHES) ** len(places) > _MOST_VARIANTS:
            raise self._refused(f"windash makes more than {_MOST_VARIANTS} values of {text!r}")
        for chosen in product(_DASHES, repeat=len(places)):
            characters = list(text)
            for place, dash in zip(places, chosen, strict=True):
                characters[place] = dash
            yield "".join(characters)

    def _base64(self, modifier: str, value: AnyValue) -> Iterable[str]:
        pieces = _pieces(value)
        if any(wild for wild, _ in pieces):
            raise self._refused(f"{value!r} has a wildcard, which no encoding keeps")
        content = "".join(character for _, character in pieces).encode(_ENCODINGS.get(self.encoding, "utf-8"))
        if modifier == "base64":
            yield base64.b64encode(content).decode()
            return
        for offset in range(3):
            # Of the first and the last group only the characters that no neighboring byte has a part in.
            text = base64.b64encode(b" " * offset + content).decode()
            end = {0: len(text), 1: -3, 2: -2}[(len(content) + offset) % 3]
            yield text[(0, 2, 3)[offset] : end]


def _literal(character: str) -> str:
    """Return a character as a regular expression of RE2, in which only ASCII's signs have a meaning."""
    return (
        f"\\{character}"
        if character.isascii() and character.isprintable() and not (character.isalnum() or character.isspace())
        else character
    )


def _pieces(value: AnyValue) -> Pieces:
    """Return a value as wildcards and characters."""
    if isinstance(value, bool):
        return tuple((False, one) for one in ("true" if value else "false"))
    found: list[tuple[bool, str]] = []
    escaped = False
    for character in str(value):
        if escaped:
            if character not in "*?\\":
                found.append((False, "\\"))
            found.append((False, character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            found.append((character in "*?", character))
    if escaped:
        found.append((False, "\\"))
    return tuple(found)
