"""Conditions on the elements of a list: `ANY(items, name LIKE 'al%' AND price > 5)`.

Theory. ANY is the OR of what its condition says of each element: TRUE where it is TRUE of one, else UNKNOWN where it is
UNKNOWN of one or the list is NULL, else FALSE; so an empty list is FALSE. All of the condition is asked of the same
element. Like a comparison of fields it is a boolean attribute that no event carries (`computed.py`).

A column is computed over Arrow's offsets: the fields of all elements of a batch are columns themselves, the condition
is lowered to sets of values as any other (`lower.py`), once for TRUE and once for FALSE, and how many elements of each
event hold is a difference of running sums. No element is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import SchemaError
from rookery.model.check import COMPUTED, Checker, ComputedAttribute, TypeFault
from rookery.model.computed import computed_attribute, computed_column
from rookery.model.evaluate import condition
from rookery.model.event_columns import flat_items, narrow_steps
from rookery.model.expressions import (
    ITEM,
    NOW_PATH,
    And,
    AnyElement,
    Between,
    Comparison,
    Expression,
    In,
    InCidr,
    Interval,
    Like,
    Literal,
    Not,
    Or,
    Placeholder,
    Timestamp,
)
from rookery.model.folding import folded_column
from rookery.model.lower import Constraint, Decision, Term, decision
from rookery.model.patterns import like_matcher
from rookery.model.schema import Attribute, Schema
from rookery.model.texts import TextLeaf, pattern_tokens, text_leaves
from rookery.model.types import BooleanType, DecimalType, EnumType, FloatType, IntegerType, StringType, key_float
from rookery.model.values import TOP

__all__ = ["ElementAttribute", "element_attribute", "element_column"]

Array = np.ndarray[Any, Any]
Path = tuple[str | int, ...]
_META = frozenset("\\.+*?()|[]{}^$")


class ElementAttribute(ComputedAttribute):
    """The truth of a condition on the elements of a list."""

    __slots__ = ("element", "inner")

    def __init__(self, node: AnyElement, element: Schema, inner: list[Attribute], fields: list[Attribute]) -> None:
        decide = condition(node.condition, element)
        names = [(one.path, field.path) for one, field in zip(inner, fields, strict=True)]

        def value_of(row: Mapping[Any, Any]) -> bool | None:
            columns = [row[path] for _, path in names]
            if columns[0] is None:
                return None
            verdict: bool | None = False
            for values in zip(*columns, strict=True):
                said = decide({path: value for (path, _), value in zip(names, values, strict=True)})
                if said:
                    return True
                verdict = None if said is None else verdict
            return verdict

        super().__init__(node, BooleanType(), tuple(fields), value_of)
        #: The schema of an element, and what the condition reads of it, in the order of `fields`.
        self.element = element
        self.inner = inner


def element_attribute(node: AnyElement, checker: Checker) -> ElementAttribute:
    """Check a condition on elements; return the attribute that is its truth."""
    try:
        path, element, structs = checker.schema.elements(node.path)
    except SchemaError as error:
        message, _, hint = str(error).partition("; ")
        raise TypeFault(node, message, hint or None) from None
    inside = Checker(element, checker.parameters)
    condition(node.condition, element, checker.parameters)  # what is wrong is said of the nodes as they were written
    bound = _bound(node.condition, inside)
    inner = [one for one in inside.reads(bound) if one.path != NOW_PATH]
    if len(inner) < len(inside.reads(bound)):
        raise TypeFault(node, "now() does not stand inside ANY", "compare an item with a parameter")
    if not inner:
        raise TypeFault(node, "a condition on elements names one of their fields", f"an item is called {ITEM}")
    fields = [checker.schema.attribute((*path, *(one.path if structs else one.path[1:]))) for one in inner]
    return ElementAttribute(AnyElement(node.path, bound), element, inner, fields)


def _bound(node: Expression, checker: Checker) -> Expression:
    """Return a condition with the values of its parameters in their place."""

    def value(field: Any, one: Any) -> Any:
        if not isinstance(one, Placeholder):
            return one if isinstance(one, Literal) else checker.bound(one)
        attribute = checker.attribute(field)
        return _literal(attribute, checker.value(attribute, one))

    match node:
        case And(operands):
            return And(tuple(_bound(one, checker) for one in operands))
        case Or(operands):
            return Or(tuple(_bound(one, checker) for one in operands))
        case Not(operand):
            return Not(_bound(operand, checker))
        case AnyElement():
            inner = checker.each(node).node
            assert isinstance(inner, AnyElement)
            return inner
        case Comparison(sign, left, right):
            return Comparison(sign, checker.bound(left), value(left, right))
        case Between(field, low, high, negated):
            return Between(checker.bound(field), value(field, low), value(field, high), negated)
        case In(field, values, negated):
            if isinstance(values, Placeholder):
                attribute = checker.attribute(field)
                listed = tuple(_literal(attribute, one) for one in checker.values(attribute, values))
                return In(checker.bound(field), listed, negated)
            return In(checker.bound(field), tuple(value(field, one) for one in values), negated)
        case InCidr(field, networks, negated):
            return InCidr(checker.bound(field), tuple(value(field, one) for one in networks), negated)
        case Like(field, pattern, escape, negated, word):
            return Like(checker.bound(field), value(field, pattern), escape, negated, word)
    return node


def _literal(attribute: Attribute, value: Any) -> Literal:
    kind = attribute.type.family
    return Literal(Timestamp(value) if kind == "timestamp" else Interval(0, value) if kind == "interval" else value)


def element_column(attribute: ComputedAttribute, arrays: Mapping[Path, pa.Array]) -> pa.Array:
    """Return the truth of a condition on elements for each event, from the lists of what it reads."""
    assert isinstance(attribute, ElementAttribute)
    assert isinstance(attribute.node, AnyElement)
    parts = [flat_items(arrays[field.path]) for field in attribute.fields]
    starts, lengths, _ = parts[0]
    columns = {one.path: items for one, (_, _, items) in zip(attribute.inner, parts, strict=True)}
    count = int(np.maximum(lengths, 0).sum())
    elements = _Elements(attribute.element, columns, count)
    asked = attribute.node.condition
    held = _sums(elements.hold(decision(asked, attribute.element)), starts, lengths)
    failed = _sums(elements.hold(decision(Not(asked), attribute.element)), starts, lengths)
    unknown = (held == 0) & ((lengths < 0) | (failed < lengths))
    return pa.array(held > 0, mask=unknown)


def _sums(mask: Array, starts: Array, lengths: Array) -> Array:
    """Return how many elements of each event a mask holds."""
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
    found: Array = sums[starts + np.maximum(lengths, 0)] - sums[starts]
    return found


class _Elements:
    """The elements of a batch as columns, by path."""

    def __init__(self, schema: Schema, columns: dict[Path, pa.Array], count: int) -> None:
        self.schema, self.columns, self.count = schema, columns, count

    def column(self, path: Path) -> tuple[Attribute, pa.Array]:
        """Return an attribute of the elements and its column, which may be computed."""
        attribute = computed_attribute(self.schema, path) if path[0] == COMPUTED else self.schema.attribute(path)
        if path not in self.columns:
            assert isinstance(attribute, ComputedAttribute)
            self.columns[path] = computed_column(attribute, self.columns, self.count)
        return attribute, self.columns[path]

    def hold(self, tree: Decision) -> Array:
        """Say of each element whether a condition without negations holds."""
        if isinstance(tree, Term):
            found = np.ones(self.count, np.bool_)
            for path, constraint in tree.constraints.items():
                found &= _within(*self.column(path), constraint)
            for key, wanted in tree.texts:
                either = np.zeros(self.count, np.bool_)
                for leaf in text_leaves(key):
                    either |= _matches(leaf, self.column(leaf.path)[1])
                found &= either == wanted
            return found
        kind, parts = tree
        whole = np.full(self.count, kind == "and")
        for part in parts:
            whole = whole & self.hold(part) if kind == "and" else whole | self.hold(part)
        return whole


def _within(attribute: Attribute, array: pa.Array, constraint: Constraint) -> Array:
    """Say which values of a column a set of values holds."""
    null, intervals = constraint
    kind = attribute.type
    if isinstance(kind, FloatType):
        array = array.cast(pa.float64())
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    if isinstance(kind, StringType):
        held = np.zeros(len(array), np.bool_)
        texts = _texts(array)
        points = [low[0] for low, high in intervals if low == high and high is not TOP and low[1] == 0]
        if points:
            held |= pc.is_in(texts, value_set=pa.array(points, texts.type)).to_numpy(zero_copy_only=False)
        for low, high in intervals:
            if low != high:
                held |= _between_texts(texts, low, high)
        return np.where(valid, held, null)
    if not intervals:
        return np.where(valid, False, null)
    values = _numbers(kind, array)
    ends = [end for ends in intervals for end in ends]
    exact = np.array(list(map(key_float, ends)) if isinstance(kind, FloatType) else ends, values.dtype)
    # They are in order and apart: the last that begins at a value or before it is the one that may hold it.
    place = np.searchsorted(exact[::2], values, side="right") - 1
    return np.where(valid, (place >= 0) & (values <= exact[1::2][place]), null)


def _numbers(kind: Any, array: pa.Array) -> Array:
    """Return the keys of a column that is none of texts, anything at a NULL; of floats the doubles themselves."""
    if isinstance(kind, FloatType):
        return np.asarray(array.fill_null(0.0).to_numpy(zero_copy_only=False))
    if isinstance(kind, EnumType):
        places = pc.index_in(_texts(array), value_set=pa.array(kind.labels, pa.large_string()))
        return np.asarray(places.fill_null(len(kind.labels)).to_numpy(zero_copy_only=False))
    if isinstance(kind, DecimalType):
        steps = narrow_steps(array, kind)
        if steps is not None:
            return steps
        wide = [0 if value is None else kind.enclose(value)[0] for value in array.to_pylist()]
        return np.array(wide, object)
    if isinstance(kind, IntegerType) and not kind.signed:
        return np.asarray(array.cast(pa.uint64()).fill_null(0).to_numpy(zero_copy_only=False))
    return np.asarray(array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))


def _between_texts(texts: pa.Array, low: Any, high: Any) -> Array:
    """Say which texts lie in an interval of keys."""
    held = pa.repeat(True, len(texts))
    if low != StringType.lowest:
        held = (pc.greater if low[1] > 0 else pc.greater_equal)(texts, low[0])
    if high is not TOP:
        held = pc.and_(held, (pc.less if high[1] < 0 else pc.less_equal)(texts, high[0]))
    return np.asarray(pc.fill_null(held, False).to_numpy(zero_copy_only=False))


def _matches(leaf: TextLeaf, array: pa.Array) -> Array:
    """Say which texts a pattern matches; NULL it does not."""
    texts = _texts(array)
    pattern = leaf.pattern
    if leaf.kind != "regex":
        pattern = r"(?s)\A" + "".join(_piece(*piece) for piece in pattern_tokens(pattern)) + r"\z"
        texts = folded_column(texts) if leaf.kind == "fold" else texts
    try:
        found = pc.match_substring_regex(texts, pattern)
    except pa.ArrowInvalid:  # RE2 takes no LIKE that is so long; a regular expression was tried when it was added
        holds = like_matcher(leaf.pattern, "\\").fullmatch
        return np.array([text is not None and holds(text) is not None for text in texts.to_pylist()], np.bool_)
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False))


def _piece(wild: bool, character: str) -> str:
    if wild:
        return ".*" if character == "%" else "."
    return "\\" + character if character in _META else character


def _texts(array: pa.Array) -> pa.Array:
    return (array.dictionary_decode() if pa.types.is_dictionary(array.type) else array).cast(pa.large_string())
