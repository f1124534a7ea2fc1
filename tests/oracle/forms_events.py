"""The events that conditions of every form are judged on, and what DuckDB says of them.

One table holds what the forms need: texts that repeat and are NULL, whole numbers at the ends of an int64, infinities
and NaN, decimals and doubles that are whole eighths (DuckDB and Spark compare them as doubles, and are exact then).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from ipaddress import ip_address
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .forms import Form

__all__ = ["FORMS_SCHEMA", "FORMS_TEXTS", "forms_events", "satisfied_forms"]

FORMS_SCHEMA: dict[str, Any] = {
    "note": "string", "other": "string", "a": "int64", "b": "int32", "n": "int64", "odd name": "int16", "x": "float64",
    "y": "float32", "d": "decimal(10,2)", "e": "decimal(12,3)", "flag": "bool", "done": "bool",
    "moment": "timestamp[us]", "since": "timestamp[us]", "level": {"$enum": ["low", "mid", "high"]},
    "pos": {"x": "float64", "name": "string"},
    "tags": ["string"], "ip": "string", "items": [{"name": "string", "price": "float64", "codes": ["int64"]}],
    "props": {"$map": "int64"},
}  # fmt: skip
FORMS_TEXTS = [
    "bean", "apple", "an apple", "", "a", "Bean", "BANANA", " bean ", "plum", "aéc", "ÉCLAIR", "éa", "50%", "b", "ab",
    "nb", "abc", "x", "eexan", "a_c", "axce", "it's", "ЖУК", "жу", "banana bean", "pp", "e", "an",
]  # fmt: skip
_ADDRESSES = [
    "10.0.0.1", "10.1.255.255", "11.0.0.0", "192.168.0.77", "192.168.1.0", "0.0.0.0", "255.255.255.255", "10.0.0.7",
    "::1", "::", "fd12::9", "FD12:0:0::9", "2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0002", "::ffff:10.0.0.1",
    "10.0.0.256", "10.0.0", "010.0.0.1", "host", "", "10.0.0.1:22", "fe80::1%eth0", " 10.0.0.1", "1::2::3",
]  # fmt: skip
_ITEMS = pa.list_(pa.struct([("name", pa.string()), ("price", pa.float64()), ("codes", pa.list_(pa.int64()))]))
_PROPS = [[], [("eu", 1)], [("eu", 4), ("us", -2)], [("us", None)], [("odd key", 3), ("eu", 0)]]
_AT_ONCE = 60
_DAY = 1_777_593_600_000_000  # 2026-05-01, in microseconds


def forms_events(generator: np.random.Generator, count: int, *, plain: bool = False) -> pa.Table:
    """Return events; with `plain` none has what Spark SQL takes otherwise."""

    def column(values: Sequence[Any], kind: pa.DataType, share: float = 0.1) -> pa.Array:
        base = pa.array(values, kind)
        return base.take(pa.array(generator.integers(0, len(values), count), mask=generator.random(count) < share))

    quarters = [step / 4 for step in range(-6, 16)]
    strange = [] if plain else [float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324]
    texts = FORMS_TEXTS if plain else [*FORMS_TEXTS, "ee\nan", "a\nc", "\\", "bean\n"]
    moments = [_DAY + step * 21_600_000_000 for step in range(-3, 6)] + [
        _DAY - 500_000,
        -43_200_000_000,
        0,
        _DAY + 3_723_000_001,
    ]
    instant = pa.timestamp("us", "UTC")
    names, places = column(texts, pa.string()), column([*quarters, *strange[:3]], pa.float64())
    sizes = generator.integers(0, 4, count)

    def column_of(values: Sequence[str], size: int) -> pa.Array:
        drawn = pa.array(generator.integers(0, len(values), size), mask=generator.random(size) < 0.05)
        return pa.array(values, pa.string()).take(drawn)

    tags = pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32()),
        column_of(texts, int(sizes.sum())),
    )
    ends = [2**63 - 1, -(2**63), 2**63 - 2, 2**62, -(2**62), 3037000500, -3037000500, 2**53 + 1, 0, 1, -1, 7]
    return pa.table(
        {
            "event_id": pa.array(np.arange(count)),
            "note": column(texts, pa.string()),
            "other": column(texts, pa.string()).dictionary_encode() if not plain else column(texts, pa.string()),
            "a": column(range(-3, 10), pa.int64()),
            "b": column(range(7), pa.int32()),
            "n": column(ends, pa.int64()),
            "odd name": column(range(-2, 6), pa.int16()),
            "x": column([*quarters, *strange], pa.float64()),
            "y": column([*quarters, *strange[:3]], pa.float32()),
            "d": column([Decimal(step) / 4 for step in range(-6, 30)], pa.decimal128(10, 2)),
            "e": column([Decimal(step) / 8 for step in range(-6, 30)], pa.decimal128(12, 3)),
            "flag": column([True, False], pa.bool_(), 0.2),
            "done": column([True, False], pa.bool_(), 0.2),
            "moment": column(moments, pa.int64()).cast(instant),
            "since": column(moments, pa.int64()).cast(instant),
            "level": column(["low", "mid", "high"], pa.string()),
            "pos": pa.StructArray.from_arrays([places, names], ["x", "name"]),
            "tags": pc.if_else(pa.array(generator.random(count) < 0.1), pa.scalar(None, tags.type), tags),
            "ip": column(_ADDRESSES, pa.string()),
            "items": column(_drawn_items(generator, texts, quarters), _ITEMS),
            "props": column(_PROPS, pa.map_(pa.string(), pa.int64())),
        }
    )


def _drawn_items(generator: np.random.Generator, texts: Sequence[str], prices: Sequence[float]) -> list[Any]:
    """Return forty lists of structs, in which structs and fields may be NULL."""

    def item() -> dict[str, Any] | None:
        name, price = str(generator.choice(texts)), float(generator.choice(prices))
        shape = generator.random()
        codes = [
            None if generator.random() < 0.1 else int(generator.integers(0, 5)) for _ in range(generator.integers(4))
        ]
        if shape < 0.1:
            return None
        named, priced = None if shape < 0.2 else name, None if shape > 0.9 else price
        return {"name": named, "price": priced, "codes": None if 0.5 < shape < 0.6 else codes}

    return [[item() for _ in range(generator.integers(0, 4))] for _ in range(40)]


def _read_addresses(column: pa.ChunkedArray) -> pa.Array:
    """Return addresses as digits in their order, as Python's own library reads them: NULL where it does not."""

    def read(text: str | None) -> str | None:
        try:
            found = ip_address(text or "")
        except ValueError:
            return None
        scoped = found.version == 6 and found.scope_id is not None
        return None if scoped else f"{found.version}{found.packed.hex()}"

    known = {text: read(text) for text in column.unique().to_pylist()}
    return pa.array([known[text] for text in column.to_pylist()], pa.string())


def satisfied_forms(table: pa.Table, forms: Sequence[Form]) -> list[np.ndarray[Any, Any]]:
    """Return for each form the events of which it is TRUE, as DuckDB reads them from the raw table."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1; SET TimeZone = 'UTC'")
    connection.execute(
        "CREATE MACRO fit(v) AS CASE WHEN v BETWEEN -9223372036854775808::HUGEINT AND 9223372036854775807::HUGEINT"
        " THEN v END"
    )
    connection.execute("CREATE MACRO num(v) AS CASE WHEN NOT isnan(v) THEN v END")
    connection.register("raw", table.append_column("ip_read", _read_addresses(table["ip"])))
    connection.execute(
        "CREATE TABLE events AS SELECT event_id, note, other::VARCHAR AS other, a::HUGEINT AS a, b::HUGEINT AS b,"
        ' n::HUGEINT AS n, "odd name"::HUGEINT AS "odd name", num(x) AS x, num(y::DOUBLE) AS y, d, e, flag, done,'
        " (moment AT TIME ZONE 'UTC')::TIMESTAMP AS moment, (since AT TIME ZONE 'UTC')::TIMESTAMP AS since, level,"
        " num(pos.x) AS pos_x, pos.name AS pos_name, tags[1] AS tags_0, tags[3] AS tags_2, ip_read, tags, items,"
        " num(items[1].price) AS items_0_price, items[2].name AS items_1_name, props FROM raw"
    )
    found = []
    for first in range(0, len(forms), _AT_ONCE):
        columns = ", ".join(f"{one.sql} AS f{place}" for place, one in enumerate(forms[first : first + _AT_ONCE]))
        verdicts = connection.sql(f"SELECT event_id, {columns} FROM events").to_arrow_table().combine_chunks()
        ids = verdicts["event_id"].to_numpy()
        for column in verdicts.columns[1:]:
            true = pc.fill_null(column.combine_chunks(), False).to_numpy(zero_copy_only=False)
            found.append(np.sort(ids[true]))
    connection.close()
    return found
