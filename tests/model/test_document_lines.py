"""Lines of JSON that kernels read: the same columns, rows and errors as the documents that msgspec decodes."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import EventError
from rookery.model.document_kernels import read_documents
from rookery.model.document_lines import DocumentLines
from rookery.model.documents import documents_of, laid_out
from rookery.model.schema import Schema

NAMES = ["a", "b", "a.b", "b.a", "é", "Image", "EventID"]
SCALARS = [
    '"x"', '""', '"5"', '"2.5"', '"-7"', '"1_0"', '" 3 "', '"nan"', '"é😀"', r'"\u00e9\n\"\\\/\b\f\r\t"',
    r'"\u0041\u20ac"', r'"\ud83d\ude00"', "0", "-0", "5", "-17", "123456789012345678", "9007199254740993",
    "123456789012345678901234567890", "1.5", "-2.50", "-0.0", "1e3", "1E-7", "0.1", "3.141592653589793", "1e22",
    "1e23", "5e-324", "true", "false", "null", '"2020-09-15T19:28:17+02:00"',
]  # fmt: skip
COLUMNS: dict[str, Any] = {
    "a": "string", "b": "float64", "a.b": "string", "b.a": "bool", "b.b.a": "string", "é": "string",
    "a#number": "float64", "b#instant": "timestamp", "Image": "string", "EventID": "string", "Provider_Name": "string",
    "Event.EventData.Image": "string", "_event": "string", "a.a": "int64", "Event": "string",
}  # fmt: skip
CHOICES = [
    f"{path}{what}" for path in ("a", "b", "a.b", "b.a", "a.b.a") for what in ("#text", "#value", "#leaf", "#absent")
]


def blank(dice: random.Random) -> str:
    return dice.choice(["", "", "", " ", "\t", "\r"])


def value(dice: random.Random, depth: int) -> str:
    way = dice.random()
    if depth < 4 and way < 0.25:
        return document(dice, depth + 1)
    if depth < 4 and way < 0.45:
        inside = (value(dice, depth + 1) for _ in range(dice.randint(0, 3)))
        return f"[{blank(dice)}" + ",".join(blank(dice) + one + blank(dice) for one in inside) + "]"
    return dice.choice(SCALARS)


def document(dice: random.Random, depth: int = 0) -> str:
    """Return an object as JSON; a name seldom stands twice."""
    names = dice.sample(NAMES, dice.randint(0 if depth else 1, 4))
    if dice.random() < 0.05:
        names.append(names[0] if names else "a")
    parts = [f"{blank(dice)}{json.dumps(name, ensure_ascii=False)}{blank(dice)}:{value(dice, depth)}" for name in names]
    return "{" + f"{blank(dice)},".join(parts) + blank(dice) + "}"


def exported(dice: random.Random) -> str:
    """Return a Windows event as a viewer exports it, nearly."""
    system = [
        '"EventID":{"#text":7,"#attributes":{"Qualifiers":0}}',
        '"EventID":4624',
        '"EventID":null',
        '"EventID":[1]',
    ]
    provider = ['"Provider":{"#attributes":{"Name":"P","Guid":"G"}}', '"Provider":{"#attributes":5}', '"Provider":"P"']
    homes = [
        f'"System":{{{dice.choice(system)},{dice.choice(provider)}}}',
        f'"EventData":{dice.choice(["null", document(dice, 2), document(dice, 3)])}',
        f'"UserData":{{"Any":{value(dice, 3)}}}',
        f'"UserData":{{"Any":{document(dice, 3)},"Other":{document(dice, 3)}}}',
    ]
    return f'{{"Event":{{{",".join(dice.sample(homes, dice.randint(0, 3)))}}},"b":{value(dice, 2)}}}'


def rows_of(table: pa.Table, origins: list[int] | None) -> Any:
    """Return the rows; where documents have several, those of each document as a set. NaN is written out."""
    rows = [repr([row[name] for name in table.column_names]) for row in table.to_pylist()]
    if origins is None:
        return rows
    found: dict[int, set[str]] = {}
    for row, origin in zip(rows, origins, strict=True):
        found.setdefault(origin, set()).add(row)
    return found


def outcome(read: Any, lines: list[bytes]) -> Any:
    try:
        table, origins = read(lines)
    except EventError as error:
        return str(error)
    assert origins is None or origins == sorted(origins)
    return table.schema, rows_of(table, origins)


def both(schema: Schema, lines: list[bytes]) -> Any:
    wanted = outcome(lambda given: laid_out(documents_of(given), schema), lines)
    assert outcome(DocumentLines(schema), lines) == wanted
    return wanted


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_random_documents_are_read_as_their_twin_reads_them(count: int) -> None:
    dice = random.Random(count)
    decided = 0
    for _ in range(count // 40):
        plain = {name: COLUMNS[name] for name in dice.sample(sorted(COLUMNS), dice.randint(1, len(COLUMNS)))}
        chosen = {
            name: {"#value": "float64", "#absent": "bool"}.get(name[name.index("#") :], "string")
            for name in dice.sample(CHOICES, dice.randint(1, 12))
        }
        schema = rookery.Schema.from_dict(dice.choice([plain, plain, chosen, chosen, {**plain, **chosen}]))
        lines = [dice.choice([document, document, exported])(dice).encode() for _ in range(40)]
        assert not isinstance(both(schema, lines), str)
        reader = DocumentLines(schema)
        assert reader._table is not None
        stops = np.cumsum([len(one) for one in lines])
        starts = stops - [len(one) for one in lines]
        data = np.frombuffer(b"".join(lines), np.uint8)
        decided += int((read_documents(data, starts, stops, reader._table.table, reader._table.slots)[1] > 0).sum())
    assert decided > 0.6 * count


def test_columns_are_matched_as_those_of_the_twin_are() -> None:
    schema = rookery.Schema.from_dict({"a": "string", "b": "string", "_event": "string"})
    matcher = rookery.matcher(schema)
    for number, condition in enumerate(("a ILIKE '%X%'", "b ILIKE 'é%'", "NOT b ILIKE '5'", "_event ILIKE '%É%'")):
        matcher.add(number, condition)
    dice = random.Random(3)
    lines = [document(dice).encode() for _ in range(300)]

    def matches(table: pa.Table) -> Any:
        return matcher.match_many(table.append_column("event_id", [list(range(len(lines)))])).to_pylist()

    found = matches(DocumentLines(schema)(lines)[0])
    assert found == matches(laid_out(documents_of(lines), schema)[0])
    assert len({one["subscription_id"] for one in found}) == 4


def test_what_is_no_document_is_said_alike() -> None:
    schema = rookery.Schema.from_dict({name: COLUMNS[name] for name in ("a", "b", "_event")})
    dice = random.Random(7)
    refused = 0
    for number in range(1_500):
        line = bytearray(document(dice).encode())
        for _ in range(dice.randint(1, 2)):
            place = dice.randrange(len(line))
            way = dice.random()
            if way < 0.4:
                del line[place]
            elif way < 0.8:
                line[place] = dice.choice(b'{}[]",:\\0e-+.tnu\x01\xff\xc3 ')
            else:
                line.insert(place, dice.choice(b'{}[]",:\\0e-+.tnu\x01\xff\xc3 '))
        said = both(schema, [b"{}", bytes(line).replace(b"\n", b" "), b'{"a":1}', b"{}"])
        if isinstance(said, str):
            refused += 1
            assert "line 2 " in said, number
    assert refused > 300


def test_blank_lines_are_no_documents_and_few_lines_are_read_alike() -> None:
    text = rookery.Schema.from_dict({"a": "string"})
    lines = [b'{"a":1}', b"  ", b'{"a":"x","a":"y"}', b"", b'{"a":[1, 2]}', b"{}", b'{"a":{"b":1.50}}']
    assert both(text, lines)[1] == ["['1']", "['y']", "['[1,2]']", "[None]", "['{\"b\":1.5}']"]
    assert both(text, lines[:3])[1] == ["['1']", "['y']"]
    assert both(text, []) == (text.to_arrow(), [])
    chosen = rookery.Schema.from_dict({"a#text": "string"})
    assert both(chosen, [b"", b'{"a":["x","y"]}', b'{"a":[["z"]]}', b" ", b'{"a":"w"}'])[1] == {
        0: {"['x']", "['y']"}, 1: {"['z']"}, 2: {"['w']"},
    }  # fmt: skip


def test_more_choices_than_the_kernels_make_are_made_by_the_twin() -> None:
    schema = rookery.Schema.from_dict({"t#text": "string", "u#text": "string", "d.a#value": "float64"})
    many = json.dumps(
        {"t": [str(one) for one in range(100)], "u": ["x"], "d": [{"a": 1}, {"a": 2}, {"z": 3}, {"z": 4}]}
    )
    some = json.dumps({"t": [str(one) for one in range(40)], "u": [str(one) for one in range(40)]})
    few = json.dumps({"t": ["x", "x", "y"], "u": "z", "d": [{"a": 1}, {"a": 1}, {"z": 3}, 5]})
    found = both(schema, [one.encode() for one in (many, some, few, few)])[1]
    assert [len(found[one]) for one in range(4)] == [300, 1600, 4, 4]


def test_a_schema_with_structs_is_read_by_the_twin() -> None:
    schema = rookery.Schema.from_dict({"a": {"b": "int64"}, "Event.UserData.x.y": "string"})
    lines = [b'{"a":{"b":5}}'] * 5 + [b'{"Event":{"UserData":{"x":{"y":1}}}}']
    assert both(schema, lines)[1][0] == "[{'b': 5}, None]"


def test_numbers_that_a_column_cannot_hold() -> None:
    schema = rookery.Schema.from_dict({"f": "float64", "i": "int64", "d": "decimal(4,1)"})
    lines = [b'{"f":9007199254740993,"i":2.5,"d":1.25}', b'{"f":1e39,"i":1e39,"d":123456}', b'{"f":7,"i":7,"d":7}']
    assert both(schema, lines + lines)[1][:3] == [
        "[9007199254740992.0, None, None]", "[1e+39, None, None]", "[7.0, 7, Decimal('7.0')]",
    ]  # fmt: skip


def test_a_number_in_a_text_is_read_exactly() -> None:
    schema = rookery.Schema.from_dict({"i": "int64", "u": "uint64", "d": "decimal(18,3)"})
    lines = [
        b'{"i":"9007199254740993","u":"18446744073709551615","d":"0.1"}',
        b'{"i":" -9223372036854775808 ","u":"1e3","d":-2.5}',
        b'{"i":"9223372036854775808","u":"-1","d":"0.0001"}',
        b'{"i":"1.0","u":"2.5","d":"nan"}',
        b'{"i":"x","u":"","d":"x"}',
    ]
    assert both(schema, lines)[1] == [
        "[9007199254740993, 18446744073709551615, Decimal('0.100')]",
        "[-9223372036854775808, 1000, Decimal('-2.500')]",
        "[None, None, None]",
        "[1, None, None]",
        "[None, None, None]",
    ]


def test_an_empty_name_that_stands_twice_has_its_last_value() -> None:
    schema = rookery.Schema.from_dict({"_event": "string"})
    assert both(schema, [b'{"":1,"":2,"a":{"":3,"":4}}'] * 5)[1] == ["['2\\x1e4']"] * 5
