"""Documents as events: each has what the columns of its rows hold, and matches what they match."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tests.model.dialects.random_patterns import random_event, random_pattern
from tests.model.test_document_lines import CHOICES, COLUMNS, document, exported

import rookery
from rookery.errors import EventError
from rookery.model.batches import batch_of, event_column
from rookery.model.document_rows import DocumentRows
from rookery.model.documents import documents_of, laid_out
from rookery.model.event_columns import comparables
from rookery.model.events import read_value
from rookery.model.schema import Attribute, Schema
from rookery.model.types import StructType

STRUCTS: dict[str, Any] = {
    "a": {"b": "int64", "at": "timestamp[ms]", "c": "float32"}, "n": "float32", "t": "timestamp[s]",
    "d": "decimal(6,2)", "e": "uint8", "f": "bool",
}  # fmt: skip


def attributes_of(schema: Schema) -> list[Attribute]:
    """Return all attributes, those inside of structs too."""
    paths: list[tuple[str, ...]] = []
    for name, kind in schema.types.items():
        paths += [(name, one) for one, _ in kind.fields] if isinstance(kind, StructType) else [(name,)]
    return [schema.attribute(path) for path in paths]


def values_of(schema: Schema, events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the attributes of events as the language compares them."""
    return [tuple(read_value(event, one) for one in attributes_of(schema)) for event in events]


def check(schema: Schema, line: str) -> None:
    try:
        table, _ = laid_out(documents_of([line]), schema)
    except EventError:
        with pytest.raises(EventError, match=r"choices of items|is no JSON"):
            DocumentRows(schema)(line)
        return
    batch = batch_of(table)
    columns = [comparables(one, event_column(batch, one)) for one in attributes_of(schema)]
    wanted = list(zip(*columns, strict=True))
    assert values_of(schema, DocumentRows(schema)(line.encode())) == wanted, line


@pytest.mark.parametrize(
    "columns", [COLUMNS, dict.fromkeys(CHOICES, "string"), STRUCTS], ids=["plain", "choices", "odd"]
)
def test_the_events_of_a_document_have_what_its_rows_have(columns: dict[str, Any]) -> None:
    kinds = {"#value": "float64", "#absent": "bool"}
    typed = {name: kinds.get(name[name.rfind("#") :], kind) if "#" in name else kind for name, kind in columns.items()}
    typed |= {name: kind for name, kind in columns.items() if name in ("a#number", "b#instant")}
    schema = rookery.Schema.from_dict(typed)
    dice = random.Random(8)
    for _ in range(600):
        check(schema, document(dice) if dice.random() < 0.8 else exported(dice))
    for odd in (
        '{"a": {"b": 5, "at": "2020-01-01T00:00:00.5Z", "c": 0.1}, "n": 1e300, "t": "2020-01-01", "d": 1.25, "e": 300}',
        '{"a": {"b": 5.5, "at": 3, "c": "-1e99"}, "n": "0.1", "t": "2020-01-01T00:00:00.5Z", "d": 12345.678, "f": 1}',
        '{"a": null, "e": 255, "f": true, "d": "7"}', "{}", " ", "[]", "{", '{"a": [' + "[1]," * 9 + "2]}",
    ):  # fmt: skip
        check(schema, odd)


def test_patterns_match_events_one_by_one_as_they_match_batches() -> None:
    dice = random.Random(3)
    rules = [
        {"subscription_id": number, "where": json.dumps(random_pattern(dice)), "dialect": "eventbridge"}
        for number in range(300)
    ]
    schema = rookery.Schema.from_subscriptions(rules)
    matcher = rookery.matcher(schema, on_error="quarantine")
    matcher.add_many(rules)
    documents = [random_event(dice) for _ in range(200)]
    table, origins = laid_out(documents, schema)
    assert origins is not None
    batch: list[set[Any]] = [set() for _ in documents]
    for row in matcher.match_many(table.append_column("event_id", [origins])).to_pylist():
        batch[row["event_id"]].add(row["subscription_id"])
    rows = DocumentRows(schema)
    assert [{name for event in rows(one) for name in matcher.match(event)} for one in documents] == batch
    assert sum(map(len, batch)) > 1_000
