"""Codes: every attribute as one int64 column, so that every predicate is a comparison of integers.

Theory. `model.types` gives each value a key in the order of its type. A code is that key as an int64, with the lowest
int64 kept for NULL; strings take labels (`labels.py`). Two types need one code more than there are: of the int64s the
lowest two share a code, and of the uint64s the highest two. A bound that would tell such a pair apart is widened, and
its subscription is verified by the evaluator. Decimals past 18 digits are coded by their nearest double, which keeps
their order but not their difference, and are verified likewise. So codes never lose a match, and never give a wrong
one.

Three attributes are not in any filter: the event's topic, its time, and `$text`, which conditions on texts are TRUE
(`texts/`). Effective dating is a bound on the time. What is computed from several fields is an attribute that no event
carries (`model.computed`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.arrays import distinct
from rookery.errors import SchemaError
from rookery.matching.event_coder import EventCoder
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, encode_doubles, encode_integers
from rookery.matching.labels import Labels, Moves
from rookery.matching.present import Present
from rookery.matching.texts.index import NO_TEXT, TEXT, TextIndex, text_attributes
from rookery.model.batches import Batch, Events, batch_of, event_column
from rookery.model.check import COMPUTED, ComputedAttribute
from rookery.model.computed import computed_attribute, computed_column, computed_value
from rookery.model.event_columns import narrow_steps, read_column
from rookery.model.events import comparable, read_value
from rookery.model.schema import NOW, Attribute, Schema
from rookery.model.types import (
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    Key,
    LeafType,
    StringType,
    TimestampType,
    float_key,
)
from rookery.model.values import TOP
from rookery.space.numbers import enum_keys

if TYPE_CHECKING:
    from rookery.matching.rows import Rows

__all__ = ["HIGHEST_CODE", "LOWEST_CODE", "TIME", "TOPIC", "CodeSpace", "code_bounds"]

LOWEST_CODE = NULL_CODE + 1
HIGHEST_CODE = (1 << 63) - 1
_NARROW_DIGITS = 18  # the decimals whose steps fit an int64

#: The event's topic and its time in microseconds; no filter can name them.
TOPIC = Attribute(("$topic",), StringType())
TIME = Attribute(("$time",), TimestampType("us"))
_HIDDEN = {one.path: one for one in (TOPIC, TIME, TEXT)}


def is_wide(kind: LeafType) -> bool:
    """Say whether a type's codes do not tell all its values apart."""
    return isinstance(kind, DecimalType) and kind.precision > _NARROW_DIGITS


def code_bounds(kind: LeafType, low: Key, high: Key) -> tuple[int, int, bool]:
    """Return the codes that enclose an interval of keys that are no strings, and whether they do so exactly."""
    if is_wide(kind):
        assert isinstance(kind, DecimalType)
        scale = 10**kind.scale
        return float_key(float(Fraction(low, scale))), float_key(float(Fraction(high, scale))), False
    if isinstance(kind, IntegerType) and kind.bits == 64:
        if not kind.signed:
            top = kind.highest
            return (
                min(low - top + HIGHEST_CODE + 1, HIGHEST_CODE),
                min(high - top + HIGHEST_CODE + 1, HIGHEST_CODE),
                not (low == top or high == top - 1),
            )
    elif not isinstance(kind, TimestampType):
        return low, high, True
    return max(low, LOWEST_CODE), max(high, LOWEST_CODE), not (low == LOWEST_CODE or high == NULL_CODE)


class CodeSpace:
    """The attributes that a set's subscriptions use, their numbers, and the labels of their strings.

    Readers share a space with each other and with later states of the set. So an edit takes `edited()` first, and what
    it registers or labels is then in that space alone.
    """

    __slots__ = (
        "_coder",
        "_numbers",
        "_present",
        "_shared_attributes",
        "_shared_labels",
        "_texts",
        "attributes",
        "labels",
        "reads_now",
        "schema",
    )

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.attributes: list[Attribute] = []
        self._numbers: dict[tuple[str | int, ...], int] = {}
        self.labels: dict[int, Labels] = {}
        #: Whether some subscription asks for now(), which a caller then gives.
        self.reads_now = False
        self._shared_attributes = self._shared_labels = False
        self._texts: tuple[Labels, TextIndex] | None = None
        #: None until it is asked for, False where the attributes are not such that there is one.
        self._coder: EventCoder | bool | None = None
        self._present: Present | None = None

    def __len__(self) -> int:
        return len(self.attributes)

    @property
    def nbytes(self) -> int:
        texts = 0 if self._texts is None else self._texts[1].nbytes
        return sum(labels.nbytes for labels in self.labels.values()) + texts

    def edited(self) -> CodeSpace:
        """Return an equal space that may be edited; what it does not change it shares with this one."""
        twin = CodeSpace(self.schema)
        twin.attributes, twin._numbers, twin.labels = self.attributes, self._numbers, self.labels
        twin.reads_now, twin._coder, twin._present = self.reads_now, self._coder, self._present
        twin._shared_attributes = twin._shared_labels = True
        return twin

    def number(self, path: tuple[str | int, ...]) -> int:
        """Return an attribute's number, giving it one at first use."""
        found = self._numbers.get(path)
        if found is None:
            found = self.register(self.attribute(path))
        return found

    def attribute(self, path: tuple[str | int, ...]) -> Attribute:
        """Return the attribute at a path, the hidden and the computed ones included."""
        if path in _HIDDEN:
            return _HIDDEN[path]
        return computed_attribute(self.schema, path) if path[0] == COMPUTED else self.schema.attribute(path)

    def read_attributes(self) -> list[Attribute]:
        """Return the attributes of events that are read, those that others are computed from included."""
        number = self.known(TEXT.path)
        sought = [] if number is None else text_attributes(self.labels[number], self.attribute)
        found: dict[tuple[str | int, ...], Attribute] = {}
        for one in (*self.attributes, *sought):
            for field in one.fields if isinstance(one, ComputedAttribute) else (one,):
                if field.path not in _HIDDEN and field is not NOW:
                    found[field.path] = field
        return list(found.values())

    def column(self, batch: Batch, attribute: Attribute, missing: str, on_error: str) -> pa.Array:
        """Return an attribute of a batch, computed or as the events have it."""
        if isinstance(attribute, ComputedAttribute):
            arrays = {
                one.path: event_column(batch, one, missing=missing, on_error=on_error) for one in attribute.fields
            }
            return computed_column(attribute, arrays, batch.num_rows)
        return event_column(batch, attribute, missing=missing, on_error=on_error)

    @property
    def texts(self) -> TextIndex | None:
        """The conditions on texts, None where there are none."""
        number = self.known(TEXT.path)
        if number is None:
            return None
        labels, held = self.labels[number], self._texts
        if held is None or held[0] is not labels:
            held = self._texts = labels, TextIndex(labels)  # who comes second makes the same
        return held[1]

    def register(self, attribute: Attribute, labels: Labels | None = None) -> int:
        """Give an attribute the next number, and a string attribute its labels."""
        number = len(self.attributes)
        if number > ATTRIBUTE_MASK:
            raise SchemaError(f"one set may test at most {ATTRIBUTE_MASK + 1:,} attributes")
        if self._shared_attributes:
            self.attributes, self._numbers = list(self.attributes), dict(self._numbers)
            self._shared_attributes = False
        self._coder = self._present = None
        self.attributes.append(attribute)
        self._numbers[attribute.path] = number
        if NOW in (attribute.fields if isinstance(attribute, ComputedAttribute) else (attribute,)):
            self.reads_now = True
        if isinstance(attribute.type, StringType):
            self._label(number, Labels(two=attribute is TEXT) if labels is None else labels)
        return number

    def _label(self, number: int, labels: Labels) -> None:
        if self._shared_labels:
            self.labels, self._shared_labels = dict(self.labels), False
        self.labels[number] = labels

    def used_by(self, rows: Rows) -> tuple[CodeSpace, Rows]:
        """Return a space of what rows use, attributes and texts, and the rows as they are in it."""
        used = distinct(rows.attribute & ATTRIBUTE_MASK).tolist()
        space, number = CodeSpace(self.schema), np.zeros(len(self), np.int64)
        for old in used:
            labels = self.labels.get(old)
            if labels is not None:
                bounds = rows.bounds_of(old)
                if self.attributes[old] is TEXT:  # every set with conditions on texts has it
                    bounds = np.concatenate([bounds, np.full((1, 2), labels[NO_TEXT], np.int64)])
                labels = labels.kept(bounds)
            number[old] = space.register(self.attributes[old], labels)
        return space, rows.renumbered(number)

    def use_order(self, number: int) -> None:
        """Note that some subscription uses the order of a string attribute."""
        if not self.labels[number].ordered:
            self._label(number, self.labels[number].in_order())

    def known(self, path: tuple[str | int, ...]) -> int | None:
        """Return an attribute's number if some subscription uses it."""
        return self._numbers.get(path)

    def label_bounds(self, number: int, low: Key, high: Key) -> tuple[int, int]:
        """Return the codes of an interval of string keys, whose texts must have labels."""
        if is_everything(low, high):
            return LOWEST_CODE, HIGHEST_CODE
        if low != high:
            self.use_order(number)
        labels = self.labels[number]
        bottom = LOWEST_CODE if low == StringType.lowest and low != high else labels[low[0]] + low[1]
        return bottom, HIGHEST_CODE if high is TOP else labels[high[0]] + high[1]

    def encode(
        self,
        events: Events,
        hidden: Mapping[str, Any],
        *,
        missing: str = "error",
        on_error: str = "raise",
        tested: Container[int] | None = None,
    ) -> np.ndarray[Any, Any]:
        """Return the codes of a batch, one row per event, one column per attribute.

        `hidden` gives the arrays (or one value for all) of the topic and the time by their attributes' names. With
        `tested`, attributes of other numbers are not read.
        """
        batch = batch_of(events)
        codes = np.empty((batch.num_rows, max(1, len(self.attributes))), np.int64)
        for number, attribute in enumerate(self.attributes):
            if attribute.text in hidden:
                values = hidden[attribute.text]
                if not isinstance(values, pa.Array | pa.ChunkedArray):
                    codes[:, number] = self.code(number, values)
                    continue
                array = read_column(attribute, values)
            elif attribute is TEXT:
                codes[:, number] = self.labels[number][NO_TEXT]
                continue
            elif (
                attribute is TOPIC
                or attribute is TIME
                or (tested is not None and number not in tested)
                or (missing == "null" and attribute.path[0] not in batch and attribute.path[0] != COMPUTED)
            ):
                codes[:, number] = NULL_CODE
                continue
            else:
                array = self.column(batch, attribute, missing, on_error)
            self.encode_column(array, number, codes, number)
        return codes

    def encode_column(self, array: pa.Array, number: int, codes: np.ndarray[Any, Any], column: int) -> None:
        """Write the codes of one attribute, as `event_column` gives it, into a column of `codes`."""
        kind = self.attributes[number].type
        if isinstance(kind, StringType | EnumType):
            codes[:, column] = self._encode_texts(array, number)
            return
        valid = (
            np.ones(len(array), np.bool_) if not array.null_count else array.is_valid().to_numpy(zero_copy_only=False)
        )
        if isinstance(kind, DecimalType):
            codes[:, column] = _encode_decimals(array, kind)
            return
        if isinstance(kind, FloatType):
            values = array.cast(pa.float64()) if kind.bits == 32 else array
            values = values.fill_null(0.0) if values.null_count else values
            encode_doubles(values.to_numpy(zero_copy_only=False), valid, codes, column)
            return
        if isinstance(kind, IntegerType) and kind.bits == 64 and not kind.signed:
            whole = (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)
            shifted = (whole ^ np.uint64(1 << 63)).view(np.int64)
            codes[:, column] = np.where(valid, np.where(shifted == HIGHEST_CODE, shifted, shifted + 1), NULL_CODE)
            return
        integers = array.cast(pa.int64()) if array.type != pa.int64() else array
        integers = integers.fill_null(0) if integers.null_count else integers
        encode_integers(integers.to_numpy(zero_copy_only=False), valid, codes, column)

    def _encode_texts(self, array: pa.Array, number: int) -> np.ndarray[Any, Any]:
        if not pa.types.is_dictionary(array.type):
            return self._text_codes(array, number)
        if len(array.dictionary) > len(array):  # a slice of a longer column, whose dictionary it shares
            return self._text_codes(array.dictionary_decode(), number)
        by_index = np.append(self._text_codes(array.dictionary, number), NULL_CODE)
        indices = array.indices
        if indices.null_count:
            indices = pc.fill_null(indices.cast(pa.int64()), len(by_index) - 1)
        codes: np.ndarray[Any, Any] = by_index[indices.to_numpy(zero_copy_only=False)]
        return codes

    def _text_codes(self, texts: pa.Array, number: int) -> np.ndarray[Any, Any]:
        """Return the codes of an array of strings that is no dictionary."""
        kind = self.attributes[number].type
        if not isinstance(kind, EnumType):
            return self.labels[number].codes(texts, NULL_CODE)
        codes: np.ndarray[Any, Any] = enum_keys(kind, texts)
        if texts.null_count:
            codes[texts.is_null().to_numpy(zero_copy_only=False)] = NULL_CODE
        return codes

    def code(self, number: int, value: Any) -> int:
        """Return the code of one value as the language compares it (None = NULL)."""
        if value is None:
            return NULL_CODE
        kind = self.attributes[number].type
        match kind:
            case FloatType():
                return float_key(float(value))
            case StringType():
                return self.labels[number].code(value)
            case IntegerType():
                return code_bounds(kind, value, value)[0]
            case TimestampType():
                return int(max(value // kind.nanoseconds, LOWEST_CODE))
            case EnumType():
                return kind.labels.index(value) if value in kind.labels else len(kind.labels)
            case DecimalType():
                return code_bounds(kind, kind.enclose(value)[0], kind.enclose(value)[0])[0]
        return int(value)

    def encode_event(
        self,
        event: Mapping[str, Any],
        hidden: Mapping[str, Any],
        *,
        on_error: str = "raise",
        tested: Container[int] | None = None,
    ) -> np.ndarray[Any, Any]:
        """Return the codes of one dict event; with `tested`, attributes of other numbers are not read."""
        codes = np.full((1, max(1, len(self.attributes))), NULL_CODE, np.int64)
        present = self._present
        if present is None:
            present = self._present = Present(self.attributes)  # who comes second makes the same
        for path, hidden_one in _HIDDEN.items():
            number = self._numbers.get(path)
            if number is not None:
                codes[0, number] = self.code(number, NO_TEXT if hidden_one is TEXT else hidden.get(hidden_one.text))
        value: Any
        for number in present(event):
            attribute = self.attributes[number]
            path = attribute.path
            if path in _HIDDEN or (tested is not None and number not in tested):
                continue
            if isinstance(attribute, ComputedAttribute):
                value = computed_value(attribute, lambda one: read_value(event, one, on_error))
            elif len(path) == 1:
                value = event.get(path[0])  # type: ignore[arg-type]
                kind = type(value)
                # The usual values are what the language compares already; the rest is checked and converted.
                if kind is str and number in self.labels and value.isascii():
                    codes[0, number] = self.labels[number].code(value)
                    continue
                if not (kind is float and value == value and _is_double(attribute)):
                    value = (
                        comparable(attribute, value) if on_error == "raise" else read_value(event, attribute, on_error)
                    )
            else:
                value = read_value(event, attribute, on_error)
            codes[0, number] = self.code(number, value)
        return codes

    def encode_usual(self, event: Mapping[str, Any], topic: str | None) -> np.ndarray[Any, Any] | None:
        """Return the codes of an event as it usually is, None of any other: `encode_event` knows them all."""
        coder = self._coder
        if coder is None:
            coder = self._coder = self._made_coder()  # who comes second makes the same
        if isinstance(coder, bool) or type(event) is not dict:
            return None
        return coder.codes(event, self.labels, topic)

    def _made_coder(self) -> EventCoder | bool:
        try:
            return EventCoder([one for one in self.attributes if one is not TOPIC], self.known(TOPIC.path))
        except ValueError:
            return False

    def insert_texts(self, texts: Mapping[int, Iterable[str]]) -> dict[int, Moves]:
        """Give labels to texts by attribute number; return the moves of the attributes whose labels moved."""
        moves: dict[int, Moves] = {}
        for number, found in texts.items():
            labels, moved = self.labels[number].insert(found)
            if labels is not self.labels[number]:
                self._label(number, labels)
            if moved is not None:
                moves[number] = moved
        return moves


def is_everything(low: Key, high: Key) -> bool:
    """Say whether an interval of string keys holds every text: then it needs no labels."""
    return high is TOP and bool(low == StringType.lowest)


def _is_double(attribute: Attribute) -> bool:
    return isinstance(attribute.type, FloatType) and attribute.type.bits == 64


def _encode_decimals(array: pa.Array, kind: DecimalType) -> np.ndarray[Any, Any]:
    steps = narrow_steps(array, kind)
    if steps is None:
        scale = 10**kind.scale
        return np.array(
            [
                NULL_CODE if value is None else float_key(float(Fraction(kind.enclose(value)[0], scale)))
                for value in array.to_pylist()
            ],
            np.int64,
        )
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), steps, NULL_CODE)
