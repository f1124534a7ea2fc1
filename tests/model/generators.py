"""Random schemas, filters and events from one source of randomness.

Each function takes a `random.Random`: a seeded one for the sweeps, Hypothesis' own (which shrinks) for the properties.
Filters and events draw from the same few values, ends of types among them, so that equality, boundaries and NULL occur
all the time.
"""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from rookery.model.arrow_types import type_to_arrow
from rookery.model.expressions import field_text, timestamp_text
from rookery.model.schema import Schema
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    LeafType,
    ListType,
    StringType,
    StructType,
    TimestampType,
    Type,
)

__all__ = ["leaves", "random_event", "random_filter", "random_schema", "random_value", "table_of"]

_TEXTS = ["", "a", "ab", "abc", "b", "ba", "Z", "é", "it's", "a%b", "_", "x\ny", "\uffff", "\U0001f600", "\U0010ffff"]
_TEXTS += ["10.0.0.1", "10", "::1", "256.1.1.1"]
_PATTERNS = ["a%", "%b", "a_", "%", "", "_%", "a%c", "%a%b%", "ab", "\U0010ffff%", "it's%", "__"]
_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    0.1,
    1e300,
    -1e300,
    5e-324,
    2.0**53,
    2.0**53 + 2,
    float("inf"),
    -float("inf"),
]
_FLOAT_LITERALS = [
    "0",
    "1",
    "-1",
    "0.5",
    "2.5",
    "0.1",
    "1e300",
    "-1e300",
    "9007199254740993",
    "9007199254740992.0",
    "1e-9",
]
_INSTANTS = [0, -1, 1, 10**9, -(10**9), 86_400 * 10**9, 1_767_225_600 * 10**9, 1_767_225_600_123_456_789, 1500]
_KINDS: list[Any] = [
    "int8", "int16", "int32", "int64", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "float64",
    "bool", "string", "string", "timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]", "decimal(6,2)",
    "decimal(18,3)", "decimal(30,4)", {"$enum": ["on", "off", "it's"]},
    {"p": "int64", "q": "string"}, ["int32"], [{"v": "float64"}],
]  # fmt: skip


def random_schema(random: Random, *, most: int = 5) -> Schema:
    """Return a schema of one to `most` attributes of any types."""
    return Schema.from_dict({name: random.choice(_KINDS) for name in "abcdefghij"[: random.randint(1, most)]})


def leaves(schema: Schema) -> list[tuple[str, LeafType]]:
    """Return what a filter may name: the leaves, with list items 0 and 1."""

    def below(path: tuple[str | int, ...], kind: Type) -> list[tuple[str, LeafType]]:
        match kind:
            case StructType(fields):
                return [leaf for name, inner in fields for leaf in below((*path, name), inner)]
            case ListType(item):
                return [leaf for index in (0, 1) for leaf in below((*path, index), item)]
        return [(field_text(path), kind)]  # type: ignore[list-item]

    return [leaf for name, kind in schema.types.items() for leaf in below((name,), kind)]


def _integers(kind: IntegerType) -> list[int]:
    pool = [0, 1, 2, 3, -1, -2, 7, 100, kind.lowest, kind.lowest + 1, kind.highest, kind.highest - 1, 2**53, 2**53 + 1]
    return [one for one in pool if kind.lowest <= one <= kind.highest]


def _decimals(kind: DecimalType) -> list[Decimal]:
    steps = [0, 1, -1, 10**kind.scale, 5 * 10**kind.scale + 1, kind.highest, kind.lowest, kind.highest - 1]
    return [Decimal(f"{step}e{-kind.scale}") for step in steps]


def _instants(kind: TimestampType) -> list[int]:
    """Nanoseconds that the unit can hold."""
    pool = [one // kind.nanoseconds * kind.nanoseconds for one in _INSTANTS]
    return [one for one in pool if kind.lowest <= one // kind.nanoseconds <= kind.highest]


def random_value(random: Random, kind: Type) -> Any:
    """Return a value of a type as a dict event holds it."""
    if random.random() < 0.12:
        return None
    match kind:
        case StructType(fields):
            return {name: random_value(random, inner) for name, inner in fields if random.random() < 0.9}
        case ListType(item):
            return [random_value(random, item) for _ in range(random.randint(0, 3))]
        case BooleanType():
            return random.random() < 0.5
        case IntegerType():
            return random.choice(_integers(kind))
        case FloatType():
            value = float("nan") if random.random() < 0.05 else random.choice(_FLOATS)
            return max(-3e38, min(3e38, value)) if kind.bits == 32 and abs(value) < float("inf") else value
        case DecimalType():
            return random.choice(_decimals(kind))
        case TimestampType():
            return timestamp_text(random.choice(_instants(kind)))
        case EnumType(labels):
            return random.choice([*labels, "unlisted"])
    return random.choice(_TEXTS)


def random_event(random: Random, schema: Schema) -> dict[str, Any]:
    """Return an event, some of whose attributes are NULL or missing."""
    return {name: random_value(random, kind) for name, kind in schema.types.items() if random.random() < 0.95}


def table_of(schema: Schema, events: list[dict[str, Any]]) -> pa.Table:
    """Return events as a table, `event_id` being the place in the list."""
    columns: dict[str, Any] = {"event_id": pa.array(range(len(events)), pa.int64())}
    for name, kind in schema.types.items():
        values = [event.get(name) for event in events]
        if isinstance(kind, TimestampType):
            from rookery.model.instants import parse_instant

            whole = [None if one is None else parse_instant(one) // kind.nanoseconds for one in values]
            columns[name] = pa.array(whole, pa.int64()).cast(type_to_arrow(kind))
        else:
            columns[name] = pa.array(values, type_to_arrow(kind))
    return pa.table(columns)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _literal(random: Random, kind: LeafType) -> tuple[str, object]:
    """Return a value as the language writes it, and as a parameter gives it."""
    match kind:
        case BooleanType():
            text = random.choice(["TRUE", "FALSE", "true"])
            return text, text
        case IntegerType():
            value = random.choice(_integers(kind)) + random.choice([0, 0, 0, 0, 1, -1])
            text = f"{value}{random.choice(['', '', '', '', '.5', '.0'])}"
            return text, text
        case FloatType():
            text = random.choice(_FLOAT_LITERALS)
            return text, text
        case DecimalType():
            text = f"{random.choice(_decimals(kind)):f}"
            if "." in text:
                text += random.choice(["", "", "5"])
            return text, text
        case TimestampType():
            stamp = timestamp_text(random.choice(_INSTANTS))
            return f"TIMESTAMP '{stamp}'", random.choice([stamp, f"'{stamp}'"])
        case EnumType(labels):
            label = random.choice(labels)
            return _quoted(label), random.choice([label, _quoted(label)])
    text = random.choice(_TEXTS)
    return _quoted(text), random.choice([_quoted(text), text])


class _Writer:
    """Writes one filter; collects its parameters."""

    def __init__(self, random: Random, schema: Schema, with_parameters: bool, with_computed: bool) -> None:
        self.random, self.with_parameters, self.with_computed = random, with_parameters, with_computed
        self.leaves = leaves(schema)
        #: Lists, as ANY names what it asks of their elements, and its type.
        self.lists: list[tuple[str, LeafType]] = []
        for name, kind in schema.types.items():
            if isinstance(kind, ListType):
                inner = kind.item.fields[0] if isinstance(kind.item, StructType) else ("", kind.item)
                self.lists.append((f"{name}.{inner[0]}" if inner[0] else name, inner[1]))  # type: ignore[arg-type]
        self.parameters: list[object] = []

    def value(self, kind: LeafType) -> str:
        text, parameter = _literal(self.random, kind)
        if self.with_parameters and len(self.parameters) < 100 and self.random.random() < 0.2:
            self.parameters.append(parameter)
            return f"%{len(self.parameters) - 1}"
        return text

    def computed(self, name: str, kind: LeafType) -> str:
        """Return a predicate that no set of values of one field holds, or one that is said in other words."""
        random = self.random
        negated = random.choice(["", "", "NOT "])
        sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
        value = self.value(kind)
        if isinstance(kind, StringType):
            pattern = _quoted(random.choice(_PATTERNS))
            regex = _quoted(random.choice(["a", "a.*b", "^a", "b$", "[a-c]+", "(?i)AB|c", "é?a", "a|\U0010ffff"]))
            return random.choice(
                [
                    f"{name} {negated}ILIKE {pattern}",
                    f"{name} {negated}RLIKE {regex}",
                    f"lower({name}) {sign} {value}",
                    f"upper({name}) {negated}LIKE {pattern}",
                    f"length({name}) {sign} {random.randint(0, 3)}",
                    f"{name} || 'a' {sign} {value}",
                    f"{name} || '.0.0.1' {negated}IN CIDR '10.0.0.0/8'",
                    f"{name} {negated}IN CIDR ('10.0.0.0/8', '::/16', '255.255.255.255')",
                    f"coalesce({name}, 'a') {sign} {value}",
                    f"substring({name}, {random.randint(-2, 2)}, 1) {sign} 'a'",
                ]
            )
        if kind.family == "boolean":
            return random.choice([name, f"({name})", f"{name} IS {negated}TRUE", f"{name} IS {negated}FALSE"])
        if kind.family == "number":
            return random.choice(
                [
                    f"{name} + 1 {sign} {value}",
                    f"{name} * 2 - {name} {sign} {value}",
                    f"-{name} {sign} {value}",
                    f"abs({name}) {sign} {value}",
                    f"{name} % 3 {sign} 1",
                    f"{name} / 2 {sign} {value}",
                    f"coalesce({name}, 1) {sign} {value}",
                    f"nullif({name}, 1) IS {negated}NULL",
                    f"floor({name}) {sign} {value}",
                ]
            )
        if isinstance(kind, TimestampType) and random.random() < 0.6:
            stamp = f"TIMESTAMP {_quoted(timestamp_text(random.choice(_INSTANTS)))}"
            length = f"INTERVAL '{random.choice(['1 day', '-90 seconds', '1 month', '2 hours 1.5 seconds'])}'"
            unit = random.choice(["year", "month", "day", "hour", "minute", "second"])
            return random.choice(
                [
                    f"{name} + {length} {sign} {value}",
                    f"{name} - {stamp} {sign} INTERVAL '1 day'",
                    f"{name} {sign} {name} - {length}",
                    f"{unit}({name}) {sign} {random.choice([1, 12, 1970, 2026])}",
                    f"date_trunc('{random.choice([unit, 'week', 'quarter'])}', {name}) {sign} {value}",
                ]
            )
        return random.choice([f"{name} <=> {value}", f"({name}) == ({value})", f"{value} = {name} -- said" + "\n"])

    def predicate(self) -> str:
        random = self.random
        name, kind = random.choice(self.leaves)
        if self.with_computed and self.lists and random.random() < 0.1:
            place, kind = random.choice(self.lists)
            sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
            return random.choice(
                [
                    f"ANY({place}) {sign} {self.value(kind)}",
                    f"ANY({place}, item {sign} {self.value(kind)} OR NOT item = {self.value(kind)})",
                    f"ANY({place}) IN ({self.value(kind)}, {self.value(kind)})",
                    f"ANY({place}) IS {random.choice(['', 'NOT '])}NULL",
                    f"size({place.partition('.')[0]}) {sign} {random.randint(0, 3)}",
                ]
            )
        if self.with_computed and random.random() < 0.15:
            return self.computed(name, kind)
        shape = random.random()
        negated = random.choice(["", "", "NOT "])
        if shape < 0.08:
            return f"{name} IS {negated}NULL"
        if shape < 0.16:
            other = [text for text, same in self.leaves if same.family == kind.family != "enum" or same == kind]
            sign = random.choice(["=", "<>", "<", "<=", ">", ">="])
            return f"{name} {sign} {random.choice(other)}"
        if shape < 0.30:
            values = [self.value(kind) for _ in range(random.choice([1, 2, 3, 10]))]
            return f"{name} {negated}IN ({', '.join(values)})"
        if isinstance(kind, StringType) and shape < 0.5:
            if random.random() < 0.3:
                return f"{name} {negated}LIKE {_quoted(random.choice(['a!%', '!_%', 'a!!%', '%!%%']))} ESCAPE '!'"
            return f"{name} {negated}LIKE {_quoted(random.choice(_PATTERNS))}"
        if shape < 0.6:
            return f"{name} {negated}BETWEEN {self.value(kind)} AND {self.value(kind)}"
        sign = random.choice(["=", "=", "<>", "!=", "<", "<=", ">", ">="])
        if random.random() < 0.15:
            return f"{self.value(kind)} {sign} {name}"
        return f"{name} {sign} {self.value(kind)}"

    def condition(self, depth: int) -> str:
        random = self.random
        shape = random.random()
        if depth <= 0 or shape < 0.3:
            return self.predicate() if random.random() < 0.97 else random.choice(["TRUE", "FALSE"])
        if shape < 0.42:
            return f"NOT ({self.condition(depth - 1)})"
        word = " AND " if shape < 0.75 else " OR "
        return word.join(f"({self.condition(depth - 1)})" for _ in range(random.choice([2, 2, 3, 4])))


def random_filter(
    random: Random, schema: Schema, *, depth: int = 2, with_parameters: bool = True, with_computed: bool = True
) -> tuple[str, list[object] | None]:
    """Return a filter that the schema accepts, and its parameters; `with_computed` also what no box holds."""
    writer = _Writer(random, schema, with_parameters, with_computed)
    text = writer.condition(depth)
    return text, writer.parameters or None
