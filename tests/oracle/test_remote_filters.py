"""The filters of a writer's remote readers, with DuckDB as the judge: a million pairs of a filter and a sample.

DuckDB reads the filters as they are announced, parameters put in, and the events; the writer reads samples.
"""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa

from rookery.model import Schema
from rookery.participant.content_filters import WriterFilters
from rookery.participant.event_types import event_type
from rookery.rtps.announcements import ContentFilter
from rookery.rtps.identity import Guid

READERS, SAMPLES, AT_ONCE = 1_000, 1_000, 100
TYPE = event_type(Schema(symbol=str, price=float, size=int, lot="int16"), type_name="Quote")
SYMBOLS = ["", "A", "ACME", "acme", "Ünder", "a b", "z", "%", "A%"]
PRICES = [0.0, -0.0, 0.1, 1.5, 9.99, 10.0, 1e-300, -1e300, 5e-324, 2.0**53]
SIZES = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
LOTS = [0, 7, -32_768, 32_767]
POOLS = {"symbol": SYMBOLS, "price": PRICES, "size": SIZES, "lot": LOTS}
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]


def spelled(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else repr(value)


def condition(dice: random.Random, parameters: list[str], depth: int = 0) -> str:
    if depth < 2 and dice.random() < 0.5:
        parts = [condition(dice, parameters, depth + 1) for _ in range(dice.randint(2, 3))]
        joined = f" {dice.choice(['AND', 'OR'])} ".join(f"({part})" for part in parts)
        return f"NOT ({joined})" if dice.random() < 0.2 else joined
    name = dice.choice(list(POOLS))

    def literal() -> str:
        said = spelled(dice.choice(POOLS[name]))
        if len(parameters) < 9 and dice.random() < 0.3:
            parameters.append(said)
            return f"%{len(parameters) - 1}"
        return said

    if dice.random() < 0.2:
        return f"{name} BETWEEN {literal()} AND {literal()}"
    return f"{name} {dice.choice(OPERATORS)} {literal()}"


def test_a_million_pairs_are_what_duckdb_says() -> None:
    dice = random.Random(21)
    filters = WriterFilters(TYPE.struct)
    readers = [Guid(number.to_bytes(12, "big"), 0x107) for number in range(READERS)]
    texts = []
    for reader in readers:
        parameters: list[str] = []
        text = condition(dice, parameters)
        filters.set(reader, ContentFilter("quotes", text, tuple(parameters)))
        for number, said in enumerate(parameters):
            text = text.replace(f"%{number}", said)
        texts.append(text)
    assert len(filters) == READERS, "every filter compiles"
    events = [{name: dice.choice(pool) for name, pool in POOLS.items()} for _ in range(SAMPLES)]

    found: list[set[int]] = []
    payloads = [TYPE.encode(event) for event in events]
    while payloads:  # by one and by the batch
        count = dice.choice([1, 3, 15, 16, 200])
        for choice in filters.choices(payloads[:count]):
            found.append({number for number, reader in enumerate(readers) if choice.includes(reader)})
        del payloads[:count]

    kinds = {"symbol": pa.string(), "price": pa.float64(), "size": pa.int64(), "lot": pa.int16()}
    events_table = pa.table({name: pa.array([event[name] for event in events], kind) for name, kind in kinds.items()})
    due: list[set[int]] = [set() for _ in events]
    with duckdb.connect() as judge:
        judge.execute("SET threads = 1")
        judge.register("events", events_table)
        for first in range(0, READERS, AT_ONCE):
            columns = ", ".join(f"({text})" for text in texts[first : first + AT_ONCE])
            for row, verdicts in enumerate(judge.execute(f"SELECT {columns} FROM events").fetchall()):
                due[row] |= {first + place for place, verdict in enumerate(verdicts) if verdict}
    assert found == due
    matches = sum(map(len, due))
    assert READERS * SAMPLES / 10 < matches < READERS * SAMPLES * 9 / 10
