"""The usual event, a dict of plain values, to codes without a loop over its attributes.

Rule: the coder takes an event whose values are just of the types that their attributes are usually given in (`float`
for a float64, `int` for an integer, `bool`, `str`). Then three calls read, check and lay down all of them, and a kernel
turns what lies there into codes. Anything else (a missing key, None, a NumPy number, an integer where a double is
wanted, what does not fit) it hands back untouched: `CodeSpace.encode_event` knows what that means, and what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from rookery.matching.code_kernels import AS_IT_IS, DOUBLE, WHOLE, code_event
from rookery.matching.kernels import NULL_CODE
from rookery.matching.labels import Labels
from rookery.matching.texts.index import TEXT
from rookery.model.check import ComputedAttribute
from rookery.model.schema import Attribute
from rookery.model.types import BooleanType, EnumType, FloatType, IntegerType, StringType

__all__ = ["EventCoder"]

Array = np.ndarray[Any, Any]


class EventCoder:
    """How the plain attributes of a code space are read from a dict; it never changes."""

    __slots__ = ("_enums", "_forms", "_pack", "_read", "_texts", "_topic", "_types")

    def __init__(self, plain: Sequence[Attribute], topic: int | None) -> None:
        """Take the attributes in the order of their numbers, the topic left out, and the topic's number if it has one.

        ValueError says that an attribute is none that this knows.
        """
        forms, types, letters = [], [], []
        texts, enums = [], []
        for place, attribute in enumerate(plain):
            usual = _usual(attribute)
            if usual is None:
                raise ValueError(f"{attribute.text} is not plain")
            types.append(usual[0])
            letters.append(usual[1])
            forms.append(usual[2])
            number = place if topic is None or place < topic else place + 1
            if isinstance(attribute.type, StringType):
                texts.append((place, number))
            elif isinstance(attribute.type, EnumType):
                enums.append((place, {label: code for code, label in enumerate(attribute.type.labels)}))
        if topic is not None:
            letters.insert(topic, "q")
            forms.insert(topic, (AS_IT_IS, 0, 0))
        self._types = tuple(types)
        self._texts, self._enums, self._topic = texts, enums, topic
        self._forms = np.array(forms, np.int64).reshape(-1, 3)
        self._pack = struct.Struct("=" + "".join(letters)).pack_into
        self._read = _reader([str(one.path[0]) for one in plain])

    def codes(self, event: dict[str, Any], labels: Mapping[int, Labels], topic: str | None) -> Array | None:
        """Return the codes of an event, None where it is not a usual one."""
        try:
            values: Any = self._read(event)
        except KeyError:
            return None
        if tuple(map(type, values)) != self._types:
            return None
        if self._texts or self._enums or self._topic is not None:
            values = list(values)
            for place, number in self._texts:
                text = values[place]
                if not text.isascii():  # it may be none that UTF-8 can hold
                    return None
                values[place] = labels[number].code(text)
            for place, known in self._enums:
                code = known.get(values[place])
                if code is None:
                    return None
                values[place] = code
            if self._topic is not None:
                values.insert(self._topic, NULL_CODE if topic is None else labels[self._topic].code(topic))
        codes: Any = np.empty((1, len(self._forms)), np.int64)
        try:
            self._pack(codes, 0, *values)
        except struct.error:
            return None  # an integer of more than 64 bits
        return codes if code_event(codes, self._forms) else None


def _usual(attribute: Attribute) -> tuple[type, str, tuple[int, int, int]] | None:
    """Return the usual type of an attribute's values, how they are laid down, and what the kernel makes of them."""
    if len(attribute.path) != 1 or isinstance(attribute, ComputedAttribute) or attribute is TEXT:
        return None
    match attribute.type:
        case FloatType(bits=64):
            return float, "d", (DOUBLE, 0, 0)
        case IntegerType(bits=bits, signed=signed) as kind if bits < 64 or signed:
            return int, "q", (WHOLE, kind.lowest, kind.highest)
        case BooleanType():
            return bool, "q", (AS_IT_IS, 0, 0)
        case StringType() | EnumType():
            return str, "q", (AS_IT_IS, 0, 0)
    return None


def _reader(names: list[str]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return what reads some keys of a dict as a tuple; KeyError if one is missing."""
    if len(names) > 1:
        return itemgetter(*names)
    if not names:
        return lambda event: ()
    name = names[0]
    return lambda event: (event[name],)
