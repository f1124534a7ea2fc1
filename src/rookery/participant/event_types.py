"""The type of a topic, seen from both sides: a schema for subscriptions, a struct for the wire.

A schema says what a WHERE clause may name; an IDL struct says which octets a sample has. Either is made from the other.
An instant travels as a 64-bit integer in the schema's own unit, an enumeration as the number of its label. NULL is an
optional member that is absent: a struct says which are, a schema makes none. DDS has no decimal: a schema that needs
one cannot be a topic, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rookery.errors import EventError, TopicError, WireFormatError
from rookery.model import Schema
from rookery.model import types as model
from rookery.model.instants import instant_of
from rookery.rtps import types as idl
from rookery.rtps.cdr import decode_key, decode_sample, encode_key, encode_sample, key_hash, representation_of
from rookery.rtps.cdr_flat import FlatCodec, flat_codec
from rookery.rtps.qos import XCDR1, XCDR2, QualityOfService

__all__ = ["EventType", "event_type", "infer_schema"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS = {
    (8, True): idl.Primitive.INT8,
    (8, False): idl.Primitive.UINT8,
    (16, True): idl.Primitive.INT16,
    (16, False): idl.Primitive.UINT16,
    (32, True): idl.Primitive.INT32,
    (32, False): idl.Primitive.UINT32,
    (64, True): idl.Primitive.INT64,
    (64, False): idl.Primitive.UINT64,
}
_NAMES = {primitive: f"{'' if signed else 'u'}int{bits}" for (bits, signed), primitive in _INTEGERS.items()}
_NAMES[idl.Primitive.OCTET] = "uint8"


@dataclass(frozen=True, slots=True)
class EventType:
    """What the events of a topic are; `moments` are the top-level attributes that are instants, with their units.

    `representation` is the version of XCDR in which they are written; both are read.
    """

    struct: idl.CdrStruct
    schema: Schema
    moments: tuple[tuple[str, int], ...] = ()
    representation: int = XCDR1
    #: The short ways, in the version that is written and in the other one; None where the type has none.
    _flat: FlatCodec | None = field(init=False, repr=False, compare=False)
    _flat_other: FlatCodec | None = field(init=False, repr=False, compare=False)
    is_keyed: bool = field(init=False, repr=False, compare=False)
    """Whether the topic has instances."""

    def __post_init__(self) -> None:
        other = XCDR1 if self.representation == XCDR2 else XCDR2
        object.__setattr__(self, "_flat", flat_codec(self.struct, self.representation))
        object.__setattr__(self, "_flat_other", flat_codec(self.struct, other))
        object.__setattr__(self, "is_keyed", self.struct.is_keyed)

    @property
    def name(self) -> str:
        """The type's name on the wire."""
        return self.struct.name

    def encode(self, event: Mapping[str, Any]) -> bytes:
        """Return the payload of an event; raise `EventError` where the event does not fit."""
        try:
            given = self._with_numbers(event) if self.moments else event
            if self._flat is not None and (payload := self._flat.encode(given)) is not None:
                return payload
            return encode_sample(self.struct, given, representation=self.representation)
        except UnicodeEncodeError as error:
            raise EventError(f"{self.name}: a text cannot be sent: {error.reason}") from None
        except EventError:
            empty = next((name for name, value in event.items() if value is None), None)
            if empty is None:
                raise
            raise EventError(f"{self.name}.{empty} is NULL, and that member is not optional: give a value") from None

    def instance(self, event: Mapping[str, Any]) -> bytes:
        """Return the name of the event's instance; empty for a topic without keys."""
        if not self.is_keyed:
            return b""
        return key_hash(self.struct, self._with_numbers(event), representation=self.representation)

    def offered(self, qos: QualityOfService) -> QualityOfService:
        """Return the policies of a writer, with the version of XCDR that it writes."""
        return replace(qos, representations=(self.representation,))

    def requested(self, qos: QualityOfService) -> QualityOfService:
        """Return the policies of a reader: it takes both versions of XCDR."""
        return replace(qos, representations=(XCDR1, XCDR2))

    def decode(self, payload: bytes) -> dict[str, Any]:
        """Return the event of a payload; raise `WireFormatError` where it is none."""
        for flat in (self._flat, self._flat_other):
            event = None if flat is None else flat.decode(payload)
            if event is not None:
                return self._with_instants(event) if self.moments else event
        return self._with_instants(decode_sample(self.struct, payload))

    def encode_key(self, event: Mapping[str, Any]) -> bytes:
        """Return the payload that names the event's instance alone."""
        return encode_key(self.struct, self._with_numbers(event), representation=self.representation)

    def decode_key(self, payload: bytes) -> dict[str, Any]:
        """Return the keys of a payload that names an instance alone; raise `WireFormatError` where it does not."""
        return self._with_instants(decode_key(self.struct, payload))

    def _with_instants(self, event: dict[str, Any]) -> dict[str, Any]:
        for name, nanoseconds in self.moments:
            if name not in event:
                continue
            try:
                event[name] = _EPOCH + timedelta(microseconds=event[name] * nanoseconds // 1_000)
            except OverflowError:
                raise WireFormatError(f"{name} lies outside the years 1 to 9999") from None
        return event

    def _with_numbers(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.moments:
            return event
        changed = dict(event)
        for name, nanoseconds in self.moments:
            if name not in event:
                continue  # the encoder says that it is missing
            try:
                count, rest = divmod(instant_of(event[name]), nanoseconds)
            except (TypeError, ValueError) as error:
                raise EventError(f"{name}: {error}") from None
            if rest:
                raise EventError(f"{name}: {event[name]} is finer than the topic's unit")
            changed[name] = count
        return changed


def event_type(
    schema: Schema | idl.CdrStruct | Mapping[str, object],
    *,
    type_name: str,
    key: Iterable[str] = (),
    representation: int | None = None,
) -> EventType:
    """Make the type of a topic from a schema (or its dict) and the names of its keys, or from a struct with both.

    It is written in the version of XCDR that suits it, or in the one that is named.
    """
    if isinstance(schema, idl.CdrStruct):
        if tuple(key):
            raise TopicError("a struct marks its keys itself: Field(…, key=True)")
        _require_readable(schema, schema.name)
        chosen = representation_of(schema) if representation is None else representation
        return EventType(schema, Schema.from_dict(_described(schema)), representation=chosen)
    if not isinstance(schema, Schema):
        schema = Schema.from_dict(schema)
    keys = tuple(key)
    unknown = [name for name in keys if name not in schema]
    if unknown:
        raise TopicError(f"the keys {unknown} are no attributes; there are {list(schema)}")
    fields, moments = [], []
    for name, kind in schema.types.items():
        if isinstance(kind, model.TimestampType):
            if kind.unit == "ns":
                raise TopicError(f"{name}: nanoseconds do not fit a Python datetime; declare timestamp[us]")
            moments.append((name, kind.nanoseconds))
        fields.append(idl.CdrMember(name, _idl_type(f"{type_name}_{name}", kind), key=name in keys))
    return EventType(idl.CdrStruct(type_name, tuple(fields)), schema, tuple(moments), representation or XCDR1)


def _require_readable(of: idl.Type, path: str) -> None:
    """Raise `TopicError` for a type that has members which are not read here."""
    match of:
        case idl.CdrForeign():
            raise TopicError(f"{path} is {of.kind}, which is not read here")
        case idl.CdrSequence() | idl.CdrArray():
            _require_readable(of.element, path)
        case idl.CdrStruct():
            for field in of.fields:
                _require_readable(field.type, f"{path}.{field.name}")


def infer_schema(event: Mapping[str, Any]) -> Schema:
    """Return the schema that one event shows: strings, integers, floats, booleans, instants."""
    if not all(isinstance(value, str | int | float | datetime) for value in event.values()):
        raise TopicError("the type of this event cannot be guessed; say it: node.advertise(topic, schema=…)")
    return Schema(**{name: type(value) for name, value in event.items()})


def _idl_type(name: str, kind: model.Type) -> idl.Type:
    match kind:
        case model.BooleanType():
            return idl.Primitive.BOOLEAN
        case model.IntegerType():
            return _INTEGERS[kind.bits, kind.signed]
        case model.FloatType():
            return idl.Primitive.FLOAT64 if kind.bits == 64 else idl.Primitive.FLOAT32
        case model.StringType():
            return idl.CdrString()
        case model.TimestampType():
            return idl.Primitive.INT64
        case model.EnumType():
            return idl.CdrEnum(name, tuple((label, number) for number, label in enumerate(kind.labels)))
        case model.ListType(item=model.TimestampType()):
            raise TopicError(f"{name}: instants are supported as attributes of their own, not inside others")
        case model.ListType():
            return idl.CdrSequence(_idl_type(f"{name}_item", kind.item))
        case model.StructType():
            if any(isinstance(inner, model.TimestampType) for _, inner in kind.fields):
                raise TopicError(f"{name}: instants are supported as attributes of their own, not inside others")
            fields = tuple(idl.CdrMember(inner, _idl_type(f"{name}_{inner}", each)) for inner, each in kind.fields)
            return idl.CdrStruct(name, fields)
    if isinstance(kind, model.MapType):
        raise TopicError(f"{name}: a map does not travel over DDS here; declare a list of structs of key and value")
    raise TopicError(f"{name}: DDS has no {kind.name}; declare float64, or an integer of the smallest step")


def _described(struct: idl.CdrStruct) -> dict[str, object]:
    """Return the schema of a struct as plain data; octet sequences are left out, since no filter compares them."""
    return {field.name: described for field in struct.fields if (described := _described_type(field.type)) is not None}


def _described_type(of: idl.Type) -> object:
    match of:
        case idl.Primitive.BOOLEAN:
            return "bool"
        case idl.Primitive.FLOAT32 | idl.Primitive.FLOAT64:
            return f"float{8 * of.size}"
        case idl.Primitive.CHAR | idl.CdrString() | idl.CdrEnum():
            return "string"
        case idl.Primitive():
            return _NAMES[of]
        case idl.CdrSequence(element=idl.Primitive.OCTET) | idl.CdrArray(element=idl.Primitive.OCTET):
            return None
        case idl.CdrSequence() | idl.CdrArray():
            element = _described_type(of.element)
            return None if element is None else [element]
        case idl.CdrStruct():
            return _described(of) or None
        case idl.CdrForeign():
            return None
