r"""Event patterns: the JSON in which EventBridge, SNS and event-ruler filter events.

`{"source": ["aws.ec2"], "detail": {"state": [{"prefix": "run"}], "count": [{"numeric": [">", 0]}]}}`: every field that
is named must hold, and it holds if one of the values in its list does.

Rule 1: a field is a leaf of the document; a dot in a name and an object inside an object are the same path, as they are
in event-ruler. A value says what kind of JSON value it means: `"5"` is no number and `5` no text.
Rule 2: of an array, any item will do; but two fields must not come from different items of the same array. So a
document with arrays stands for several rows (`choices.py`), and each condition here speaks of one.
Rule 3: `anything-but` wants the field to be there; only `exists: false` holds of a missing one, and it means that no
item of any array has it.
Rule 4: numbers compare as doubles. Without case means Unicode's simple folding; a character that becomes several in the
other case is refused.
Rule 5: what a pattern leaves open (a field that stands twice, `$or` as a name) is refused, with its path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Any as AnyValue

from rookery.errors import SubscriptionError
from rookery.model.choices import ABSENT, LEAF, TEXT, VALUE
from rookery.model.dialects.translation import Translation
from rookery.model.dialects.wildcards import Pieces, like
from rookery.model.expressions import And, Comparison, Expression, Field, In, InCidr, IsNull, Like, Literal, Or, to_text

__all__ = ["read_event_pattern"]

_OR = "$or"
#: Names that event-ruler keeps from the objects of an `$or`, lest a match expression be taken for a field.
_RESERVED = frozenset(
    (
        "exactly", "equals-ignore-case", "prefix", "suffix", "anything-but", "exists", "wildcard", "numeric", "cidr",
        "=", "<", "<=", ">", ">=", "regex", "not-wildcard", "not-equals-ignore-case", "date-after", "date-on-or-after",
        "date-before", "date-on-or-before", "in-date-range", "ip-address-in-range", "ip-address-not-in-range",
    )
)  # fmt: skip
_SIGNS = ("<", "<=", ">", ">=", "=")


def read_event_pattern(text: str) -> Translation:
    """Return one pattern as a condition on a row of a document."""
    try:
        pattern = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise SubscriptionError(f"line {error.lineno}: no JSON: {error.msg}") from None
    if not isinstance(pattern, dict):
        raise SubscriptionError("a pattern is a JSON object")
    return Translation(to_text(_all(_object(pattern, "", set(), in_or=False))))


def _once(pairs: list[tuple[str, AnyValue]]) -> dict[str, AnyValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SubscriptionError(f"{twice!r} stands twice in one object")
    return found


def _no_constant(word: str) -> AnyValue:
    raise SubscriptionError(f"{word} is no JSON")


def _all(parts: list[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _any(parts: list[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _object(given: dict[str, AnyValue], prefix: str, taken: set[str], *, in_or: bool) -> list[Expression]:
    """Return what an object asks, one condition a field; `taken` are the paths that stand beside it."""
    if not given:
        raise SubscriptionError(f"{prefix.rstrip('.') or 'the pattern'}: an empty object")
    parts: list[Expression] = []
    for name, value in sorted(given.items(), key=lambda item: item[0] == _OR):  # what stands beside an $or first
        path = prefix + name
        if name == _OR:
            parts.append(_branches(value, path, prefix, taken))
        elif in_or and name in _RESERVED:
            raise SubscriptionError(f"{path}: the name is reserved inside $or")
        elif isinstance(value, dict):
            parts += _object(value, path + ".", taken, in_or=in_or)
        elif isinstance(value, list):
            if path in taken:
                raise SubscriptionError(f"{path} is asked twice")
            taken.add(path)
            parts.append(_Values(path).condition(value))
        else:
            raise SubscriptionError(f"{path}: an object or a list of values is needed, not {_shown(value)}")
    return parts


def _branches(given: AnyValue, path: str, prefix: str, taken: set[str]) -> Expression:
    if not isinstance(given, list) or len(given) < 2 or not all(isinstance(one, dict) for one in given):
        raise SubscriptionError(f"{path}: a list of two or more objects is needed")
    branches, named = [], set(taken)
    for one in given:
        own = set(taken)
        branches.append(_all(_object(one, prefix, own, in_or=True)))
        named |= own
    taken |= named
    return _any(branches)


class _Values:
    """The list of values of one field."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.leaf, self.text, self.value = (Field((path + suffix,)) for suffix in (LEAF, TEXT, VALUE))

    def condition(self, given: list[AnyValue]) -> Expression:
        """Return the condition that one of the values holds."""
        if not given:
            raise self._refused("the list of values is empty")
        texts: list[str] = []
        numbers: list[Literal] = []
        parts: list[Expression] = []
        for one in given:
            if isinstance(one, str):
                if _is_address(one) and ":" in one:  # IPv6 has many spellings of one address
                    parts.append(self._network(one))
                else:
                    texts.append(one)
            elif one is None or isinstance(one, bool):
                parts.append(Comparison("=", self.leaf, Literal(json.dumps(one))))
            elif isinstance(one, int | Decimal):
                numbers.append(self._number(one))
            elif isinstance(one, dict):
                parts.append(self._expression(one))
            else:
                raise self._refused(f"a value is a text, a number, true, false, null or an object, not {_shown(one)}")
        return _any(
            [*self._one_of(self.text, [Literal(one) for one in texts]), *self._one_of(self.value, numbers), *parts]
        )

    def _one_of(self, field: Field, values: list[Literal]) -> list[Expression]:
        values = list(dict.fromkeys(values))
        if len(values) == 1:
            return [Comparison("=", field, values[0])]
        return [In(field, tuple(values))] if values else []

    def _refused(self, why: str) -> SubscriptionError:
        return SubscriptionError(f"{self.path}: {why}")

    def _number(self, value: AnyValue) -> Literal:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self._refused(f"a number is needed, not {_shown(value)}")
        try:
            double = float(value)
        except OverflowError:
            double = math.inf
        if math.isinf(double):
            raise self._refused(f"{value} is past the largest double")
        return Literal(Decimal(repr(double)))

    def _text(self, value: AnyValue, word: str) -> str:
        if not isinstance(value, str):
            raise self._refused(f"{word} takes a text, not {_shown(value)}")
        return value

    def _expression(self, given: dict[str, AnyValue]) -> Expression:
        if len(given) != 1:
            raise self._refused("a match expression has one key")
        ((word, value),) = given.items()
        if word == "exactly":
            return Comparison("=", self.text, Literal(self._text(value, word)))
        if word in ("prefix", "suffix", "equals-ignore-case", "wildcard"):
            return self._pattern(word, value)
        if word == "numeric":
            return self._numeric(value)
        if word == "exists":
            if not isinstance(value, bool):
                raise self._refused(f"exists takes true or false, not {_shown(value)}")
            return (
                IsNull(self.leaf, negated=True)
                if value
                else Comparison("=", Field((self.path + ABSENT,)), Literal(True))
            )
        if word == "cidr":
            if "/" not in self._text(value, word):
                raise self._refused(f"cidr takes an address and a mask, not {_shown(value)}")
            return self._network(value)
        if word == "anything-but":
            return self._anything_but(value)
        raise self._refused(f"there is no match expression {word!r}")

    def _pattern(self, word: str, value: AnyValue) -> Like:
        """Return a pattern on a text: the beginning, the end, the whole without case, or with stars."""
        folded = word == "equals-ignore-case"
        if word in ("prefix", "suffix") and isinstance(value, dict):
            if list(value) != ["equals-ignore-case"]:
                raise self._refused(f"{word} takes a text or equals-ignore-case, not {_shown(value)}")
            folded, value = True, value["equals-ignore-case"]
        text = self._text(value, word)
        if folded and (several := [one for one in text if len(one.lower()) > 1 or len(one.upper()) > 1]):
            raise self._refused(f"{several[0]!r} is several characters in another case")
        pieces = self._stars(text) if word == "wildcard" else tuple((False, one) for one in text)
        run = ((True, "*"),)
        pieces = (run if word == "suffix" else ()) + pieces + (run if word == "prefix" else ())
        return like(self.text, pieces, cased=not folded)

    def _stars(self, text: str) -> Pieces:
        found: list[tuple[bool, str]] = []
        characters = iter(text)
        for one in characters:
            if one == "\\":
                behind = next(characters, "")
                if behind not in ("*", "\\"):
                    raise self._refused(f"{text!r}: a backslash stands before a star or a backslash only")
                found.append((False, behind))
            else:
                if one == "*" and found and found[-1] == (True, "*"):
                    raise self._refused(f"{text!r}: two stars stand side by side")
                found.append((one == "*", one))
        return tuple(found)

    def _numeric(self, value: AnyValue) -> Expression:
        if not isinstance(value, list) or len(value) not in (2, 4) or any(one not in _SIGNS for one in value[::2]):
            raise self._refused(f"numeric takes a sign and a number, or two of each, not {_shown(value)}")
        signs, bounds = value[::2], [self._number(one) for one in value[1::2]]
        if len(signs) == 2 and not (signs[0][0] == ">" and signs[1][0] == "<" and bounds[0].value < bounds[1].value):  # type: ignore[operator]
            raise self._refused("of two signs the first is > or >=, the second < or <=, and its number is the larger")
        return _all([Comparison(sign, self.value, bound) for sign, bound in zip(signs, bounds, strict=True)])

    def _network(self, text: str) -> InCidr:
        """Return the condition that the text is an address of a network; bits behind the mask do not count."""
        try:
            network = ip_network(text, strict=False)
        except ValueError as error:
            raise self._refused(f"{text!r}: {error}") from None
        return InCidr(self.text, (Literal(str(network)),))

    def _anything_but(self, given: AnyValue) -> Expression:
        make: Callable[[AnyValue], Expression]
        if isinstance(given, dict):
            if len(given) != 1 or next(iter(given)) not in ("prefix", "suffix", "equals-ignore-case", "wildcard"):
                raise self._refused(f"anything-but takes values or one pattern on texts, not {_shown(given)}")
            ((word, inner),) = given.items()
            values = inner if isinstance(inner, list) else [inner]
            if word in ("prefix", "suffix") and "" in values:
                raise self._refused(f"anything-but {word} of an empty text")
            make = lambda one: self._pattern(word, self._text(one, word))  # noqa: E731
        else:
            values = given if isinstance(given, list) else [given]
            texts = [one for one in values if isinstance(one, str)]
            if texts and len(texts) < len(values):
                raise self._refused("anything-but takes texts or numbers, not both")
            if not texts:
                out = self._one_of(self.value, [self._number(one) for one in values])
                return self._but(out, "number")
            return self._but(self._one_of(self.text, [Literal(one) for one in texts]), "text")
        return self._but([make(one) for one in values], "text")

    def _but(self, excluded: list[Expression], kind: str) -> Expression:
        """Return the condition that the field is there and is of another kind, or none of these."""
        if not excluded:
            raise self._refused("anything-but of nothing")
        others = [_negated(one) for one in excluded]
        return _any([Comparison("<>", self.leaf, Literal(kind)), _all(others)])


def _negated(one: Expression) -> Expression:
    if isinstance(one, Comparison):
        return Comparison("<>", one.left, one.right)
    if isinstance(one, In):
        return In(one.field, one.values, negated=True)
    assert isinstance(one, Like)
    return Like(one.field, one.pattern, one.escape, negated=True, word=one.word)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _shown(value: AnyValue) -> str:
    return json.dumps(value, default=str)
