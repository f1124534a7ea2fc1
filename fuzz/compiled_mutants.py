"""The sets that `compiled.py` starts from, the events that it asks them, and what it does to a set.

The sets are small and have every structure: keys, hash tables, blocks, summaries (made from the first block on), sets
of intervals, lists of values, labels, topics, dates, versions, boxes, subscriptions to verify.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

import rookery
from rookery.matching.bitmap import build
from rookery.matching.bitmap.build import BitmapIndex, build_index
from rookery.matching.bitmap.engine import index_rows
from rookery.matching.compiled import _read_table, _table_bytes
from rookery.matching.rows import Rows

Array = np.ndarray[Any, Any]
Parts = tuple[dict[str, Any], dict[str, Array]]

SCHEMA = {
    "k": "string", "s": "string", "v": "float64", "n": "int64", "u": "uint64", "d": "decimal(20,2)", "b": "bool",
    "e": {"$enum": ["red", "green"]}, "p": {"x": "int32"}, "l": ["float32"],
}  # fmt: skip
EXTREMES = (0, 1, -1, 2, 31, 32, 33, 511, 512, 513, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32, 2**62, -(2**62))
EXTREMES += (2**63 - 1, -(2**63), -(2**63) + 1, 2**52, 4 << 36)
_NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def rows_of_events() -> list[dict[str, Any]]:
    """Return events that meet the sets' bounds from both sides, with NULLs and unknown texts among them."""
    found = []
    for place in range(24):
        found.append(
            {
                "event_id": place,
                "k": [None, "k1", "k2", "k3", "kk", "", "zzz", "k"][place % 8],
                "s": ["m", "ma", None, "b", "é", "k5"][place % 6],
                "v": [0.0, 1.5, 7.0, None, 12.5, -3.0, float("inf"), 30.0, float("nan")][place % 9],
                "n": [1, 3, None, 9, -(2**63), 2**63 - 1, 14, 40][place % 8],
                "u": [0, 5, 2**64 - 1, None, 2**63][place % 5],
                "d": [None, Decimal("1.50"), Decimal("-7.25"), Decimal("123456789012345678.90")][place % 4],
                "b": [True, False, None][place % 3],
                "e": ["red", None, "green"][place % 3],
                "p": {"x": place} if place % 5 else None,
                "l": [[1.0], None, [], [0.5, 2.0]][place % 4],
                "topic": ["t", "u", "t", "w"][place % 4],
                "at": _NOON + timedelta(days=place - 12),
            }
        )
    return found


ROWS = rows_of_events()
EVENTS = pa.table(
    {
        name: pa.array([row[name] for row in ROWS], kind)
        for name, kind in {
            "event_id": pa.int64(), "k": pa.string(), "s": pa.string(), "v": pa.float64(), "n": pa.int64(),
            "u": pa.uint64(), "d": pa.decimal128(20, 2), "b": pa.bool_(), "e": pa.string(),
            "p": pa.struct([("x", pa.int32())]), "l": pa.list_(pa.float32()), "topic": pa.string(),
            "at": pa.timestamp("us", tz="UTC"),
        }.items()
    }
)  # fmt: skip


def bases() -> list[Parts]:
    """Return the sets that mutants are made of, the richest first."""
    kept = build.SUMMARY_BLOCKS
    build.SUMMARY_BLOCKS = (build.DIRECT_ROWS + 1) / 512  # type: ignore[misc]  # a summary for every partition with lines
    try:
        return [compiled._parts() for compiled in (_rich(), _plain(), _few(), _numbers())]
    finally:
        build.SUMMARY_BLOCKS = kept


def _matcher() -> Any:
    return rookery.matcher(rookery.Schema.from_dict(SCHEMA))


def _rich() -> Any:
    matcher = _matcher()
    texts = []
    for place in range(36):
        texts.append(f"k = 'k{place % 5}' AND v > {place % 9}")
        texts.append(f"v BETWEEN {place % 7} AND {place % 7 + 9} AND n <> 3 AND s >= '{'abkm'[place % 4]}'")
    texts += [
        "v < n",
        "n < u OR d > 1.5",
        "d = -7.25 AND b = TRUE",
        "k IS NULL OR k LIKE 'k%'",
        "FALSE",
        "e = 'red' AND p.x > 3",
    ]
    texts += ["l[0] < 1", "n IN (1, 3, 5, 7, 9, 11, 13, 15, 40)", "s NOT IN ('b', 'm')", "", "n = -9223372036854775808"]
    texts += [
        "s IN ('m', 'ma', 'b', 'é', 'k5', 'q1', 'q2', 'q3', 'q4', 'q5') AND v < 20",
        "n IN (1, 3, 4, 5, 9, 14, 20, 22, 24, 26, 28) AND v > 0",
    ]
    table = pa.table(
        {
            "subscription_id": [f"s{place}" for place in range(len(texts))],
            "where": texts,
            "topic": [("t", "u", None)[place % 3] if place % 2 else None for place in range(len(texts))],
            "valid_from": [_NOON - timedelta(days=4) if place % 12 == 5 else None for place in range(len(texts))],
        }
    )
    matcher.add_many(table)
    matcher.add("s1", "v > %0", parameters=["2"], version=2, valid_from=_NOON + timedelta(days=3))
    matcher.add_boxes(["box0", "box1"], lower={"v": [1.0, None]}, upper={"n": [3, 9]}, equals={"k": ["k1", None]})
    return matcher.compile()


def _plain() -> Any:
    """Return a set without keys whose rows all stand in blocks, with ids that are numbers."""
    matcher = _matcher()
    texts = [f"v > {place % 11} AND n < {place} AND s <> '{'abm'[place % 3]}'" for place in range(70)]
    matcher.add_many(pa.table({"subscription_id": list(range(70)), "where": texts}))
    return matcher.compile()


def _few() -> Any:
    matcher = _matcher()
    matcher.add("one", "k = 'k1' OR v > 3", topic="t")
    matcher.add("two", "v < n", topic="u")
    return matcher.compile()


def _numbers() -> Any:
    """Return a set of one key of three attributes, without a string."""
    matcher = _matcher()
    matcher.add_boxes(
        list(range(80)),
        equals={"n": [place % 3 for place in range(80)], "p.x": [place % 2 for place in range(80)]},
        lower={"v": [place / 4 for place in range(80)]},
    )
    return matcher.compile()


# ---- what is done to a set -------------------------------------------------------------------------------------------


def mutant(random: Random, sets: list[Parts]) -> Parts:
    """Return a set with one or a few things changed."""
    header, arrays = random.choices(sets, (6, 3, 1, 2))[0]
    header, arrays = dict(header), dict(arrays)
    changes = random.choices(_CHANGES, _WEIGHTS, k=random.choices((1, 2, 3), (8, 2, 1))[0])
    if random.random() < 0.15:
        rebuilt(random, header, arrays, sets)
        changes = changes[1:]
    for change in changes:
        change(random, header, arrays, sets)
    return header, arrays


def _value(random: Random, array: Array, place: int) -> int:
    flat = array.reshape(-1)
    kind = random.randrange(6)
    old = int(flat[place])
    if kind < 2:
        value = old + random.choice((-1, 1, -1, 1, 2, -2, 8, 64))
    elif kind == 2:
        value = int(flat[random.randrange(len(flat))])
    elif kind == 3:
        value = random.choice(EXTREMES)
    elif kind == 4:
        value = old ^ (1 << random.randrange(array.dtype.itemsize * 8))
    else:
        value = random.randrange(-1, 130)
    bits = array.dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if array.dtype.kind == "i" and value >> (bits - 1) else value


def _pick(random: Random, arrays: dict[str, Array]) -> str:
    return random.choice([name for name in arrays if name not in ("records",)])


def numbers(random: Random, header: dict[str, Any], arrays: dict[str, Array], sets: list[Parts]) -> None:
    """Change one number of an array, or a few."""
    name = _pick(random, arrays)
    array = arrays[name]
    if not array.size:
        return
    array = arrays[name] = array.copy()
    for _ in range(random.choices((1, 2, 5), (6, 2, 1))[0]):
        place = random.randrange(array.size)
        array.reshape(-1)[place] = _value(random, array, place)


def swapped(random: Random, header: dict[str, Any], arrays: dict[str, Array], sets: list[Parts]) -> None:
    """Swap two items, roll, reverse or permute an array."""
    name = _pick(random, arrays)
    array = arrays[name]
    if len(array) < 2:
        return
    order = list(range(len(array)))
    kind = random.randrange(4)
    if kind == 0:
        one, other = random.randrange(len(array)), random.randrange(len(array))
        order[one], order[other] = order[other], order[one]
    elif kind == 1:
        order = order[1:] + order[:1]
    elif kind == 2:
        order.reverse()
    else:
        random.shuffle(order)
    arrays[name] = array[np.array(order)]


def resized(random: Random, header: dict[str, Any], arrays: dict[str, Array], sets: list[Parts]) -> None:
    """Truncate, extend, empty, remove, rename or add an array, or give it another shape or type."""
    name = _pick(random, arrays)
    array = arrays[name]
    kind = random.randrange(9)
    if kind == 0:
        arrays[name] = array[: random.randrange(len(array) + 1)]
    elif kind == 1 and len(array):
        arrays[name] = np.concatenate([array, array[-random.randint(1, len(array)) :]])
    elif kind == 2:
        del arrays[name]
    elif kind == 3:
        arrays[random.choice((*arrays, "other"))] = arrays.pop(name)
    elif kind == 4:
        arrays[name] = array.reshape(random.choice(((-1,), (1, *array.shape), (*array.shape, 1), array.shape[::-1])))
    elif kind == 5:
        arrays[name] = array.astype(random.choice((np.int64, np.int32, np.uint16, np.uint64, np.uint8)))
    elif kind == 6:
        arrays[name] = array.reshape(-1).view(random.choice((np.uint8, np.uint16)))
    elif kind == 7:
        arrays[name] = np.full_like(array, random.choice((0, 1)))
    else:
        arrays[random.choice(("other", "texts/99", "labels/0"))] = array


def spliced(random: Random, header: dict[str, Any], arrays: dict[str, Array], sets: list[Parts]) -> None:
    """Put an array of another set, or another array of this one, in an array's place."""
    name = random.choice(list(arrays))
    other = random.choice(sets)[1] if random.random() < 0.6 else arrays
    source = name if name in other and other is not arrays else random.choice(list(other))
    arrays[name] = other[source]


def headed(random: Random, header: dict[str, Any], arrays: dict[str, Array], sets: list[Parts]) -> None:
    """Change an entry of the header."""
    name = random.choice(list(header))
    value = header[name] = copy.deepcopy(header[name])
    kind = random.randrange(8)
    if kind == 0:
        header[name] = random.choice(sets)[0].get(name) if random.random() < 0.9 else header.pop(name)
    elif kind == 1:
        header[name] = random.choice((None, True, "1", 1.0, [], {}, 10**30, -1, [[]], {"": 1}, [["k"], ["k"]], 1e999))
    elif kind == 2:
        header["more"] = 1
    elif isinstance(value, int):
        header[name] = random.choice((value + 1, value - 1, random.choice(EXTREMES), random.randrange(200)))
    elif isinstance(value, list):
        items: list[Any] = [
            ["k"],
            ["v"],
            ["$topic"],
            ["$time"],
            ["p", "x"],
            ["l", 0],
            ["l", 7],
            ["nope"],
            [],
            0,
            1,
            3,
            "k",
        ]
        if value and random.random() < 0.5:
            value[random.randrange(len(value))] = random.choice((*items, *value))
        elif value and random.random() < 0.5:
            value.pop(random.randrange(len(value)))
        else:
            value.insert(random.randrange(len(value) + 1), random.choice(items))
    elif isinstance(value, dict) and value:
        field = random.choice(list(value))
        kinds = (
            "string",
            "float64",
            "int8",
            "uint64",
            "decimal(30,4)",
            "timestamp",
            "bool",
            {"x": "int64"},
            ["string"],
            3,
        )
        if random.random() < 0.7:
            value[field] = random.choice(kinds)
        else:
            value[random.choice(("q", "", "$topic"))] = value.pop(field)


def recorded(random: Random, header: dict[str, Any], arrays: dict[str, Array], sets: list[Parts]) -> None:
    """Change the records, or the texts that have labels: a cell, a column, a row, a byte."""
    names = [name for name in arrays if name == "records" or name.startswith("texts/")]
    if not names:
        return
    name = "records" if random.random() < 0.7 and "records" in arrays else random.choice(names)
    kind = random.randrange(8)
    data = arrays[name]
    if kind == 0 or data.dtype != np.uint8:
        data = arrays[name] = data.copy()
        for _ in range(random.randint(1, 3)):
            if data.size:
                data.reshape(-1)[random.randrange(data.size)] = random.choice((0, 1, 255, 127, 8))
        return
    try:
        table = _read_table(data)
    except Exception:  # spoiled before
        return
    if not table.num_rows or not table.num_columns:
        return
    column = random.choice(table.schema.names)
    place = table.schema.names.index(column)
    if kind <= 4:
        values = table.column(place).to_pylist()
        values[random.randrange(len(values))] = random.choice((None, random.choice(values), *_CELLS))
        try:
            table = table.set_column(place, column, pa.array(values, table.column(place).type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return
    elif kind == 5:
        table = random.choice((table.remove_column(place), table.append_column(column, table.column(place))))
    elif kind == 6:
        table = random.choice(
            (
                table.slice(1),
                pa.concat_tables([table, table.slice(0, 1)]),
                table.take(pa.array(range(table.num_rows)[::-1])),
            )
        )
    else:
        try:
            table = table.set_column(
                place,
                random.choice((column, "topic", "other")),
                table.column(place).cast(random.choice((pa.string(), pa.int64(), pa.large_string(), pa.float64()))),
            )
        except pa.ArrowException:
            return
    arrays[name] = _table_bytes(table)


_CELLS = (
    "",
    "k1",
    "v > 1",
    "v >",
    "nope = 1",
    "n < v",
    "t",
    1,
    2,
    0,
    -1,
    2**63 - 1,
    _NOON,
    ["1"],
    [None],
    [],
    "n IN (1, 3)",
)


def rebuilt(random: Random, header: dict[str, Any], arrays: dict[str, Array], sets: list[Parts]) -> None:
    """Change bounds or slots of rows and build their index anew: a sound index of rows that no text gave.

    Only of a set that nothing was done to yet: building does not look where it reads.
    """
    index = BitmapIndex.of(arrays, seed=header["seed"], blocked_rows=header["blocked_rows"])
    rows = index_rows(index)
    bounds, slot = rows.bounds.copy(), rows.slot.copy()
    plain = np.flatnonzero(rows.attribute < 2**15)
    for _ in range(random.randint(1, 3)):
        if random.random() < 0.8 and len(plain):
            place = random.choice(plain.tolist())
            side = random.randrange(2)
            bounds[place, side] = _value(random, bounds, 2 * place + side)
        elif len(slot):
            slot[random.randrange(len(slot))] = random.randrange(header["slots"])
    pool = rows.pool.copy()
    if len(pool) and random.random() < 0.4:
        place = random.randrange(pool.size)
        pool.reshape(-1)[place] = _value(random, pool, place)
    fresh = build_index(Rows(slot, rows.start, rows.attribute, bounds, pool), len(header["attributes"]))
    arrays.update(fresh.arrays())
    header.update(seed=fresh.seed, blocked_rows=fresh.blocked_rows)


_Change = Callable[[Random, dict[str, Any], dict[str, Array], list[Parts]], None]
_CHANGES: list[_Change] = [numbers, swapped, resized, spliced, headed, recorded]
_WEIGHTS = (10, 2, 2, 1, 2, 4)
