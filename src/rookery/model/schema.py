"""Schema: the attributes of an event and their types.

Rule 1: a schema is a value: equal schemas describe equal events, and none changes after it is made.
Rule 2: it is read from what users have: keyword arguments, a dict, an Arrow schema, the head of a file. Whatever it
cannot describe is refused by name; an Arrow column of a type that no condition can compare is left out, and a condition
that names it is refused with that reason.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rookery.errors import SchemaError, SubscriptionError
from rookery.model.expressions import EACH, ITEM, NOW_PATH, SIZE, field_text
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    LeafType,
    ListType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    Type,
)

if TYPE_CHECKING:
    from os import PathLike

    import pyarrow as pa

__all__ = ["NOW", "Attribute", "Schema"]

_BY_PYTHON_TYPE: dict[object, Type] = {
    str: StringType(),
    int: IntegerType(),
    float: FloatType(),
    bool: BooleanType(),
    datetime: TimestampType("us"),
    Decimal: DecimalType(18, 6),
}
_BY_NAME: dict[str, Type] = {
    "string": StringType(),
    "str": StringType(),
    "bool": BooleanType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "float": FloatType(),
    "double": FloatType(),
    "float32": FloatType(32),
    "float64": FloatType(),
    "timestamp": TimestampType("us"),
    **{f"int{bits}": IntegerType(bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": IntegerType(bits, signed=False) for bits in (8, 16, 32, 64)},
    **{f"timestamp[{unit}]": TimestampType(unit) for unit in ("s", "ms", "us", "ns")},
}
_DECIMAL = re.compile(r"decimal(?:128|256)?\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\)")
_COMMA = re.compile(r",(?![^()]*\))")  # not the one in decimal(10,2)
_DECIMAL_DIGITS = 76  # Arrow's decimal256


class Attribute:
    """A leaf of the schema that a filter names: its path, its text and its type."""

    __slots__ = ("path", "text", "type")

    def __init__(self, path: tuple[str | int, ...], leaf: LeafType) -> None:
        self.path = path
        self.text = field_text(path)
        self.type = leaf

    def __repr__(self) -> str:
        return f"Attribute({self.text}: {self.type.name})"


_SIZE_TYPE = IntegerType(32)
#: The wall time of a batch, which `now()` is.
NOW = Attribute(NOW_PATH, TimestampType("ns"))


class Schema:
    """The attributes of an event and their types.

    >>> Schema(symbol=str, price=float, volume=int)
    Schema(symbol=string, price=float64, volume=int64)
    """

    __slots__ = ("_attributes", "_left_out", "_types")

    def __init__(self, **attributes: object) -> None:
        self._fill({name: _type_of(name, kind) for name, kind in attributes.items()})

    def _fill(self, types: dict[str, Type], left_out: Mapping[str, str] | None = None) -> None:
        self._left_out = left_out or {}
        if not types:
            if left_out:
                kinds = ", ".join(f"{name}: {kind}" for name, kind in left_out.items())
                raise SchemaError(f"no column has a type that conditions can compare ({kinds})")
            raise SchemaError("a schema needs at least one attribute, for example Schema(price=float)")
        self._types = types
        self._attributes: dict[tuple[str | int, ...], Attribute] = {}

    @classmethod
    def from_dict(cls, types: Mapping[str, object]) -> Schema:
        """Make a schema from names and types: `{"symbol": "string", "at": {"x": "float64"}, "tags": ["string"]}`."""
        schema = cls.__new__(cls)
        schema._fill({name: _type_of(name, kind) for name, kind in types.items()})
        return schema

    @classmethod
    def from_arrow(cls, arrow: pa.Schema) -> Schema:
        """Make a schema from an Arrow schema; columns of types that no condition can compare are left out."""
        from rookery.model.arrow_types import type_from_arrow

        repeated = {name for name in arrow.names if arrow.names.count(name) > 1}
        if repeated:
            raise SchemaError(f"the Arrow schema repeats the columns {sorted(repeated)}")
        types: dict[str, Type] = {}
        left_out: dict[str, str] = {}
        for column in arrow:
            try:
                types[column.name] = type_from_arrow(column.name, column.type)
            except SchemaError:
                left_out[column.name] = str(column.type)
        schema = cls.__new__(cls)
        schema._fill(types, left_out)
        return schema

    @classmethod
    def infer(cls, path: str | PathLike[str]) -> Schema:
        """Infer a schema from the head of a Parquet, CSV, JSON lines or Arrow file (or of the first in a folder)."""
        from rookery.model.arrow_types import infer_arrow_schema

        return cls.from_arrow(infer_arrow_schema(path))

    @classmethod
    def from_subscriptions(cls, source: Any, *, dialect: str | None = None) -> Schema:
        """Draw a schema from the conditions of subscriptions: the fields that they name, as they compare them."""
        from rookery.model.drawn import drawn_types
        from rookery.model.parser import parse
        from rookery.model.tables import checked_subscriptions, read_subscriptions

        conditions = []
        for one in checked_subscriptions(read_subscriptions(source, dialect=dialect)):
            if isinstance(one, SubscriptionError) or one.where is None:
                continue
            try:
                conditions.append((one.subscription_id, parse(one.where)))
            except SubscriptionError:
                continue  # whoever compiles it says what is wrong
        return cls.from_dict(drawn_types(conditions))

    @classmethod
    def read(cls, given: str) -> Schema:
        """Read a schema as a user writes it: a JSON file of names and types, a file or a folder of events, or text.

        >>> Schema.read("symbol:string,price:decimal(10,2)")
        Schema(symbol=string, price=decimal(10,2))
        """
        from rookery.model.arrow_types import schema_document
        from rookery.model.storage import path_of

        path = path_of(given)
        if path.suffix.lower() == ".json" and path.is_file():
            return cls.from_dict(schema_document(given))
        if path.exists():
            return cls.infer(given)
        if ":" not in given:
            raise SchemaError(
                f"{given}: no such file, and no list of attributes; a schema is a JSON file, a file of events, "
                "or text such as 'price:float64,symbol:string'"
            )
        types: dict[str, str] = {}
        for part in _COMMA.split(given):
            name, _, kind = part.partition(":")
            if name.strip() in types:
                raise SchemaError(f"the schema repeats {name.strip()!r}")
            types[name.strip()] = kind.strip()
        return cls.from_dict(types)

    def to_arrow(self) -> pa.Schema:
        """Return the Arrow schema that holds such events."""
        import pyarrow

        from rookery.model.arrow_types import type_to_arrow

        return pyarrow.schema([(name, type_to_arrow(kind)) for name, kind in self._types.items()])

    def to_dict(self) -> dict[str, Any]:
        """Return names and types as plain data that `from_dict` takes."""
        return {name: _plain(kind) for name, kind in self._types.items()}

    @property
    def types(self) -> Mapping[str, Type]:
        """The top-level attributes and their types, in order."""
        return self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._types == other._types

    def __hash__(self) -> int:
        return hash(tuple(self._types.items()))

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{name}={kind.name}' for name, kind in self._types.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.from_dict, (self.to_dict(),)

    def attribute(self, path: tuple[str | int, ...]) -> Attribute:
        """Return the leaf at `path`; SchemaError says which step is wrong and what was perhaps meant."""
        found = NOW if path == NOW_PATH else self._attributes.get(path)
        if found is None:
            leaf: Any = self._leaf(path)
            for _ in range(path.count(EACH)):  # one list of values for every item of a list
                leaf = ListType(leaf)
            found = self._attributes[path] = Attribute(path, leaf)
        return found

    def elements(self, path: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Schema, bool]:
        """Return the path to the items of the list at `path`, and their schema; whether they are structs.

        The list may stand before the path's end: of `items.price` it is `items`, and its items' prices are meant.
        """
        kind: Type = StructType(tuple(self._types.items()))
        found: list[str | int] = []
        for depth, step in enumerate(path):
            if isinstance(kind, ListType) and isinstance(step, str):
                if EACH in found:
                    name = field_text(path[:depth])
                    raise SchemaError(f"{name} is a list in a list; write ANY(outer, ANY(inner) …)")
                kind = kind.item
                found.append(EACH)
            if isinstance(kind, StructType) and isinstance(step, str):
                self._known(kind, step, path[:depth])
                kind = dict(kind.fields)[step]
            elif isinstance(kind, MapType) and isinstance(step, str):
                kind = kind.value
            elif isinstance(kind, ListType) and isinstance(step, int):
                kind = kind.item
            else:
                raise SchemaError(f"{field_text(path[:depth])} is {_article(kind)}, so it has no {step!r}")
            found.append(step)
        if EACH not in found:
            if not isinstance(kind, ListType):
                raise SchemaError(f"ANY takes a list, and {field_text(path)} is {_article(kind)}")
            kind = kind.item
            found.append(EACH)
        schema = Schema.__new__(Schema)
        schema._fill(dict(kind.fields) if isinstance(kind, StructType) else {ITEM: kind})
        return tuple(found), schema, isinstance(kind, StructType)

    def _known(self, kind: StructType, step: str, above: tuple[str | int, ...]) -> None:
        """Refuse a name that a struct does not have."""
        names = [name for name, _ in kind.fields]
        if not above and step in self._left_out:
            raise SchemaError(f"{step} is {self._left_out[step]} in the events, which no condition can compare")
        if step not in names:
            where = f" in {field_text(above)}" if above else ""
            raise SchemaError(f"unknown field {step!r}{where}{_suggestion(step, names)}")

    def _leaf(self, path: tuple[str | int, ...]) -> LeafType:
        kind: Type = StructType(tuple(self._types.items()))
        for depth, step in enumerate(path):
            if step == SIZE:
                if not isinstance(kind, ListType | MapType):
                    raise SchemaError(f"size takes a list or a map, and {field_text(path[:depth])} is {_article(kind)}")
                return _SIZE_TYPE
            if isinstance(step, int):
                if not isinstance(kind, ListType):
                    raise SchemaError(f"{field_text(path[:depth])} is no list, so it has no [{step}]")
                kind = kind.item
                continue
            if isinstance(kind, MapType):
                kind = kind.value
                continue
            if isinstance(kind, ListType):
                name = field_text(path[:depth])
                raise SchemaError(
                    f"{name} is a list; ask any of its items, ANY({name}.{step}) = …, or one, {name}[0].{step}"
                )
            if not isinstance(kind, StructType):
                raise SchemaError(f"{field_text(path[:depth])} is {_article(kind)}, so it has no field {step!r}")
            self._known(kind, step, path[:depth])
            kind = dict(kind.fields)[step]
        if isinstance(kind, ListType):
            name = field_text(path)
            raise SchemaError(f"{name} is a list; ask any of its items, ANY({name}) = …, or name one, {name}[0]")
        if isinstance(kind, MapType):
            raise SchemaError(f"{field_text(path)} is a map; name one key, for example {field_text(path)}['key']")
        if isinstance(kind, StructType):
            inner = kind.fields[0][0] if kind.fields else "…"
            raise SchemaError(f"{field_text(path)} is a struct; name one field, for example {field_text(path)}.{inner}")
        return kind


def _article(kind: Type) -> str:
    return f"an {kind.name}" if kind.name[0] in "aeiou" else f"a {kind.name}"


def _suggestion(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, n=1, cutoff=0.6) or [one for one in names if one.lower() == name.lower()]
    if close:
        return f"; did you mean {close[0]!r}?"
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    return f"; the schema has {shown}"


def _type_of(name: str, kind: object) -> Type:
    if not isinstance(name, str) or not name:
        raise SchemaError(f"an attribute's name is a string that is not empty, got {name!r}")
    if isinstance(kind, str):
        return _named(name, kind)
    if isinstance(kind, Mapping):
        if set(kind) == {"$enum"}:
            return _enum(name, kind["$enum"])
        if set(kind) == {"$map"}:
            return MapType(_type_of(name, kind["$map"]))
        if not kind:
            raise SchemaError(f"{name}: a struct needs at least one field")
        return StructType(tuple((inner, _type_of(inner, one)) for inner, one in kind.items()))
    if isinstance(kind, list | tuple):
        if len(kind) != 1:
            raise SchemaError(f"{name}: a list type is written with its item type in brackets, for example [float]")
        return ListType(_type_of(name, kind[0]))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum(name, [str(member.value) if isinstance(member.value, str) else member.name for member in kind])
    known = _BY_PYTHON_TYPE.get(kind)
    if known is not None:
        return known
    if hasattr(kind, "enclose"):
        return kind  # type: ignore[return-value]
    raise SchemaError(
        f"{name}: no such type: {kind!r}; use str, int, float, bool, datetime, Decimal, or a name as 'int32'"
    )


def _named(name: str, text: str) -> Type:
    known = _BY_NAME.get(text.strip().lower())
    if known is not None:
        return known
    found = _DECIMAL.fullmatch(text.strip().lower())
    if found:
        precision, scale = int(found[1]), int(found[2] or 0)
        if not 1 <= precision <= _DECIMAL_DIGITS or not 0 <= scale <= precision:
            raise SchemaError(f"{name}: {text} is out of range: 1 to {_DECIMAL_DIGITS} digits, scale 0 to the digits")
        return DecimalType(precision, scale)
    raise SchemaError(f"{name}: no such type: {text!r}{_suggestion(text, sorted(_BY_NAME))}")


def _enum(name: str, labels: object) -> EnumType:
    if not isinstance(labels, list | tuple) or not labels or not all(isinstance(label, str) for label in labels):
        raise SchemaError(f"{name}: an enum is a list of labels that are strings")
    if len(set(labels)) != len(labels):
        raise SchemaError(f"{name}: the enum repeats a label")
    return EnumType(tuple(labels))


def _plain(kind: Type) -> Any:
    if isinstance(kind, StructType):
        return {name: _plain(inner) for name, inner in kind.fields}
    if isinstance(kind, ListType):
        return [_plain(kind.item)]
    if isinstance(kind, MapType):
        return {"$map": _plain(kind.value)}
    if isinstance(kind, EnumType):
        return {"$enum": list(kind.labels)}
    return kind.name
