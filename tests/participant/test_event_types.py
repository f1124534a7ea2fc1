"""Schemas and structs: an event survives the way to the wire and back, and what cannot be a topic says so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import EventError, TopicError, WireFormatError
from rookery.model import Schema
from rookery.participant.event_types import event_type, infer_schema
from rookery.rtps import CdrArray, CdrEnum, CdrMember, CdrSequence, CdrString, CdrStruct, Primitive
from rookery.rtps.cdr import encode_sample

INTEGERS = {f"{sign}int{bits}": (bits, sign == "") for bits in (8, 16, 32, 64) for sign in ("", "u")}


def integers(name: str) -> st.SearchStrategy[int]:
    bits, signed = INTEGERS[name]
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else st.integers(0, (1 << bits) - 1)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(codec="utf-8"), max_size=9),
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "float32": st.floats(width=32, allow_nan=False),
    "timestamp[us]": st.datetimes(timezones=st.just(UTC)),
    "timestamp[s]": st.datetimes(timezones=st.just(UTC)).map(lambda moment: moment.replace(microsecond=0)),
    **{name: integers(name) for name in INTEGERS},
}


@given(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=6), st.data())
def test_events_come_back(kinds: list[str], choose: st.DataObject) -> None:
    names = {f"a{number}": kind for number, kind in enumerate(kinds)}
    kind = event_type(names, type_name="T", key=["a0"])
    event = {name: choose.draw(VALUES[each]) for name, each in names.items()}
    assert kind.decode(kind.encode(event)) == event
    assert len(kind.instance(event)) == 16
    assert kind.instance(event) == kind.instance(dict(event))


def test_nested_events_come_back() -> None:
    kind = event_type({"at": {"x": "float64", "y": "int16"}, "tags": ["string"]}, type_name="T")
    event = {"at": {"x": 0.5, "y": -3}, "tags": ["a", "", "ccc"]}
    assert kind.decode(kind.encode(event)) == event
    assert not kind.is_keyed
    assert kind.instance(event) == b""


def test_a_struct_shows_its_schema() -> None:
    struct = CdrStruct(
        "S",
        (
            CdrMember("id", Primitive.UINT16, key=True),
            CdrMember("color", CdrEnum("C", (("RED", 1), ("BLUE", 4)))),
            CdrMember("letter", Primitive.CHAR),
            CdrMember("row", CdrArray(Primitive.FLOAT32, 2)),
            CdrMember("raw", CdrSequence(Primitive.OCTET)),
            CdrMember(
                "place",
                CdrStruct("P", (CdrMember("name", CdrString()), CdrMember("deep", CdrSequence(Primitive.BOOLEAN)))),
            ),
        ),
    )
    kind = event_type(struct, type_name="ignored")
    assert kind.name == "S"
    assert kind.is_keyed
    assert kind.schema == Schema.from_dict(
        {
            "id": "uint16",
            "color": "string",
            "letter": "string",
            "row": ["float32"],
            "place": {"name": "string", "deep": ["bool"]},
        }
    )


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"a": "decimal(9,2)"}, "DDS has no decimal"),
        ({"a": "timestamp[ns]"}, "declare timestamp"),
        ({"a": ["timestamp"]}, "attributes of their own"),
        ({"a": {"b": "timestamp"}}, "attributes of their own"),
    ],
)
def test_what_cannot_be_a_topic(schema: dict[str, object], reason: str) -> None:
    with pytest.raises(TopicError, match=reason):
        event_type(schema, type_name="T")


def test_keys_are_said_once() -> None:
    struct = CdrStruct("S", (CdrMember("id", Primitive.INT32, key=True),))
    with pytest.raises(TopicError, match="marks its keys itself"):
        event_type(struct, type_name="S", key=["id"])


def test_instants_that_do_not_fit() -> None:
    kind = event_type({"at": "timestamp[s]"}, type_name="T")
    with pytest.raises(EventError, match="finer than"):
        kind.encode({"at": datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC)})
    with pytest.raises(EventError, match="at: expected a date"):
        kind.encode({"at": 5})
    with pytest.raises(EventError, match="missing"):
        kind.encode({})
    with pytest.raises(WireFormatError, match="outside the years"):
        kind.decode(encode_sample(kind.struct, {"at": 1 << 60}))


def test_the_schema_of_an_event() -> None:
    event = {"a": "x", "b": 1, "c": 1.5, "d": True, "e": datetime(2026, 1, 1, tzinfo=UTC)}
    assert infer_schema(event) == Schema(a=str, b=int, c=float, d=bool, e=datetime)
    with pytest.raises(TopicError, match="cannot be guessed"):
        infer_schema({"a": None})
