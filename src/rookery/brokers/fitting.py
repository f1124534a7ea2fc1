"""Does an event fit the schema? Said at a glance where it does, and where it does not with the attribute's name.

Theory. Nearly all events fit, so the answer has to be cheap for those: a decoder of MessagePack that takes nothing but
values of the schema's types reads the bytes that are sent anyway. What it refuses may fit all the same (an integer that
is written as a float), and what it does not know is not in it (decimals, instants, labels, members of structs): those
are looked at one by one, as a condition reads them.

Rule: what is said to fit fits. Members of lists and maps are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from rookery.brokers.batches import MALFORMED
from rookery.model.events import comparable, step_into
from rookery.model.schema import Schema
from rookery.model.types import BooleanType, FloatType, IntegerType, ListType, MapType, StringType, StructType, Type

__all__ = ["EventCheck", "plain_kind", "struct_of"]

#: All integers below this are doubles.
_EXACT = 2.0**53


class EventCheck:
    """The check of events of one schema."""

    def __init__(self, schema: Schema) -> None:
        plain = {name: found for name, kind in schema.types.items() if (found := plain_kind(kind)) is not None}
        self._plain = msgspec.msgpack.Decoder(struct_of({name: (kind, None) for name, kind in plain.items()}))
        leaves = [schema.attribute(path) for path in _leaves(schema.types, ())]
        self._others = [leaf for leaf in leaves if len(leaf.path) > 1 or leaf.path[0] not in plain]
        self._all = leaves

    def __call__(self, event: Mapping[str, Any], encoded: bytes) -> None:
        """Raise an `EventError` for the first attribute that does not fit; the event is given encoded too."""
        try:
            self._plain.decode(encoded)
            attributes = self._others
        except MALFORMED:
            attributes = self._all
        for attribute in attributes:
            comparable(attribute, step_into(event, attribute.path))


def plain_kind(kind: Type) -> Any:
    """Return the Python type, with None, whose values MessagePack tells apart as those of a type; None without one."""
    match kind:
        case StringType():
            return str | None
        case BooleanType():
            return bool | None
        case FloatType() if kind.bits == 64:
            # An integer is taken for a float, and rounded; those of 2^53 and more are looked at, as are such floats.
            return Annotated[float, msgspec.Meta(gt=-_EXACT, lt=_EXACT)] | None
        case IntegerType():
            highest = kind.highest if kind.highest < 1 << 63 else None  # no integer of MessagePack is greater than that
            return Annotated[int, msgspec.Meta(ge=kind.lowest, le=highest)] | None
    return None


def struct_of(fields: Mapping[str, tuple[Any, Any]]) -> type[msgspec.Struct]:
    """Return a struct of types and defaults by names, which may be any texts."""
    named: list[Any] = [(f"field{number}", *one) for number, one in enumerate(fields.values())]
    return msgspec.defstruct("Plain", named, rename={f"field{number}": name for number, name in enumerate(fields)})


def _leaves(types: Mapping[str, Type], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, kind in types.items():
        if isinstance(kind, StructType):
            yield from _leaves(dict(kind.fields), (*path, name))
        elif not isinstance(kind, ListType | MapType):
            yield (*path, name)
