"""Lists of values as keys: what is filed under them is found, restored, saved and proved as any other row."""

from __future__ import annotations

from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import lists as twin
from tests.twins import rows as twins

import rookery
from rookery.errors import CompiledSetError
from rookery.matching import CompiledSet
from rookery.matching.bitmap import list_kernels
from rookery.matching.bitmap.build import build_index
from rookery.matching.bitmap.engine import BitmapEngine, index_rows
from rookery.matching.bitmap.lists import choose_lists, list_table
from rookery.matching.kernels import NULL_CODE, SET_FLAG
from rookery.matching.rows import Rows

from .test_checks import Change, crafted, put

Array = np.ndarray[Any, Any]
Tests = list[tuple[int, list[tuple[int, int]]]]
ATTRIBUTES = 4


def rows_of(tests: list[Tests]) -> Rows:
    """Return rows from plain data: for each row its attributes with their intervals."""
    start, numbers, bounds, pool = [0], [], [], []
    for row in tests:
        for number, intervals in row:
            if len(intervals) == 1:
                numbers.append(number)
                bounds.append(intervals[0])
            else:
                numbers.append(number | SET_FLAG)
                bounds.append((len(pool), len(pool) + len(intervals)))
                pool += intervals
        start.append(len(numbers))
    return Rows(
        np.arange(len(tests), dtype=np.int32), np.array(start, np.int64), np.array(numbers, np.uint16),
        np.array(bounds, np.int64).reshape(-1, 2), np.array(pool, np.int64).reshape(-1, 2),
    )  # fmt: skip


def joined(pieces: list[list[int]]) -> tuple[tuple[int, int], ...]:
    """Return intervals of whole numbers, those beside each other as one."""
    found: list[tuple[int, int]] = []
    for low, high in pieces:
        if found and found[-1][1] == low - 1 and found[-1][1] != NULL_CODE:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)


def plain(rows: Rows) -> dict[int, list[tuple[int, tuple[tuple[int, int], ...]]]]:
    """Return rows as plain data by slot, without the order of their predicates."""
    found = {}
    for row, slot in enumerate(rows.slot.tolist()):
        tests = []
        for place in range(rows.start[row], rows.start[row + 1]):
            number, (low, high) = int(rows.attribute[place]), rows.bounds[place].tolist()
            pieces = rows.pool[low:high].tolist() if number & SET_FLAG else [[low, high]]
            tests.append((number & ~SET_FLAG, joined(pieces)))
        assert slot not in found
        found[slot] = sorted(tests)
    return found


def random_tests(random: Random, count: int) -> list[Tests]:
    found: list[Tests] = []
    for _ in range(count):
        row: Tests = []
        for number in random.sample(range(ATTRIBUTES), random.choice([1, 1, 2, 3])):
            shape = random.random()
            if shape < 0.55:
                values = random.sample(range(200), random.choice([2, 8, 9, 10, 30, 120]))
                points = [(value, value) for value in sorted(values)]
                row.append((number, [(NULL_CODE, NULL_CODE), *points] if random.random() < 0.1 else points))
            elif shape < 0.7:
                value = random.randrange(4)
                row.append((number, [(value, value)]))
            elif shape < 0.85:
                low = random.randrange(200)
                row.append((number, [(low, low + random.randrange(100))]))
            else:
                wide = random.choice([1, 80])  # a list with neighbors in it, or a set of ranges
                row.append((number, [(value, value + wide) for value in range(0, 900, 90)]))
        found.append(sorted(row))
    return found


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_rows_under_lists_are_found_and_come_back_as_they_were(random: Random) -> None:
    rows = rows_of(random_tests(random, random.choice([1, 5, 60, 150])))
    index = build_index(rows, ATTRIBUTES)
    assert plain(index_rows(index)) == plain(rows)
    codes = np.array(
        [[random.choice([NULL_CODE, *range(210)]) for _ in range(ATTRIBUTES)] for _ in range(40)], np.int64
    )
    alive = np.array([random.random() < 0.8 for _ in range(len(rows))], np.uint8)
    wanted = twins.scan_rows(codes, 0, len(rows), rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    assert sorted(BitmapEngine(index).probe(codes, alive).tolist()) == sorted(wanted.tolist())
    i = index
    filed = (
        codes, codes, alive, i.list_numbers, i.list_keys, i.list_code, i.list_first, i.list_table, i.list_posting,
        i.slot, i.start, i.attribute, i.bounds, i.pool,
    )  # fmt: skip
    assert sorted(list_kernels.match_lists(*filed).tolist()) == sorted(twin.match_lists(*filed).tolist())


@given(st.integers(0, 0x7FFF), st.integers(-(2**63), 2**63 - 1))
def test_a_value_has_the_twins_hash(number: int, code: int) -> None:
    assert int(list_kernels.list_hash(number, code)) == twin.list_hash(number, code)
    table = list_table(np.array([number]), np.array([0, 1]), np.array([code], np.int64))
    assert table.tolist().index(0) == twin.list_hash(number, code) & (len(table) - 1)


def points(values: range) -> list[tuple[int, int]]:
    return [(value, value) for value in values]


@pytest.mark.parametrize(
    ("tests", "chosen"),
    [
        ([[(0, points(range(9)))]], [0]),
        ([[(0, points(range(8)))]], []),  # short ones are a row a value before they come here
        ([[(0, [*points(range(9)), (20, 22)])]], [0]),  # whole numbers beside each other
        ([[(0, [(1, 2), (5, 6)])]], [0]),
        ([[(0, [*points(range(9)), (20, 90)])]], []),  # not single values alone
        ([[(0, [(NULL_CODE, NULL_CODE), (5, 2**63 - 1)])]], []),
        ([[(0, [(-(2**62), -7), (5, 2**63 - 1)])]], []),
        # Beside a range, a list of a small share of what lists name is a key, one of a large share is none.
        ([[(0, points(range(9))), (1, [(0, 50)])], [(0, points(range(9, 99)))]], [0, 2]),
        ([[(0, points(range(9))), (1, [(0, 50)])], [(0, points(range(9, 39)))]], [2]),
        # Of two lists the one that leaves less; an equality that leaves less than the list is the key.
        ([[(0, points(range(20))), (1, points(range(9)))], [(1, points(range(9, 200)))]], [1, 2]),
        ([[(0, [(place, place)]), (1, points(range(9)))] for place in range(3)], []),
    ],
)
def test_lists_are_keys_where_they_leave_little(tests: list[Tests], chosen: list[int]) -> None:
    assert choose_lists(rows_of(tests)).tolist() == chosen


def test_a_range_of_texts_is_no_list_of_values() -> None:
    rows = rows_of([[(0, [(4, 4), (9, 11)])], [(1, points(range(0, 40, 4)))]])
    assert choose_lists(rows, labelled={0, 1}).tolist() == [1]
    assert choose_lists(rows).tolist() == [0, 1]


def listed_set() -> tuple[Any, list[str]]:
    """Return a matcher of lists of eight values to 300, with other tests beside, and the conditions as SQL."""
    random = Random(5)
    matcher = rookery.matcher(rookery.Schema(code=int, name=str, price=float))
    conditions = []
    for place in range(260):
        values = random.sample(range(3_000), random.choice([8, 9, 10, 60, 300]))
        codes = f"code IN ({', '.join(map(str, values))})"
        names = f"name IN ({', '.join(repr(f'n{value % 700}') for value in values)})"
        conditions.append(
            (
                codes,
                names,
                f"{codes} AND price < {place}",
                f"{names} AND {codes}",
                f"NOT ({codes}) AND price < 9",
                f"{codes} OR name = 'n{place}'",
                f"code <> {place} AND {names}",
                f"({codes} OR code IS NULL) AND price > 50",
            )[place % 8]
        )
    matcher.add_many([{"subscription_id": place, "where": one} for place, one in enumerate(conditions)])
    return matcher, conditions


def events_of(count: int) -> pa.Table:
    random = Random(6)
    return pa.table(
        {
            "event_id": range(count),
            "code": pa.array([None if place % 11 == 0 else random.randrange(3_100) for place in range(count)]),
            "name": pa.array([None if place % 13 == 0 else f"n{random.randrange(720)}" for place in range(count)]),
            "price": pa.array([None if place % 17 == 0 else random.random() * 300 for place in range(count)]),
        }
    )


def pairs(table: pa.Table) -> list[tuple[int, int]]:
    return sorted(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))


def test_lists_match_what_duckdb_says_and_so_after_edits_and_a_file(tmp_path: Any) -> None:
    matcher, conditions = listed_set()
    events = events_of(400)
    with duckdb.connect() as connection:
        connection.register("events", events)
        wanted = sorted(
            (event, place)
            for place, one in enumerate(conditions)
            for (event,) in connection.execute(f"SELECT event_id FROM events WHERE {one}").fetchall()
        )
    assert len(wanted) > 3_000
    assert pairs(matcher.match_many(events)) == wanted
    compiled = matcher.compile()
    assert len(compiled._view.engine.index.list_posting) > 5_000
    compiled.save(tmp_path / "set")
    loaded = CompiledSet.load(tmp_path / "set", verify="texts")
    assert pairs(loaded.match_many(events)) == wanted
    rows = [{name: value for name, value in one.items() if name != "event_id"} for one in events.to_pylist()]
    assert [(at, one) for at, row in enumerate(rows) for one in loaded.match(row)] == wanted
    part = loaded.take(np.arange(0, 260, 3))
    assert pairs(part.match_many(events)) == [one for one in wanted if one[1] % 3 == 0]
    # Texts that sort between the others move labels; removed ones are packed away.
    again: Any = rookery.matcher(loaded)
    for place in range(0, 260, 2):
        again.remove(place)
    for place in range(60):
        again.add(1_000 + place, f"name IN ({', '.join(repr(f'n{place}x{one}') for one in range(40))})")
    again.compact()
    assert pairs(again.match_many(events)) == [one for one in wanted if one[1] % 2]
    assert again.match({"code": None, "name": "n7x33", "price": None}) == [1_007]


def test_nine_values_are_no_other_structure_than_nine_hundred() -> None:
    for values in (9, 900):
        matcher = rookery.matcher(rookery.Schema(code=int))
        matcher.add_many(
            [
                {
                    "subscription_id": place,
                    "where": f"code IN ({', '.join(str(place + 7 * one) for one in range(values))})",
                }
                for place in range(100)
            ]
        )
        index = matcher.compile()._view.engine.index  # type: ignore[attr-defined]
        assert (index.listed_from, len(index.list_posting), len(index.pool)) == (0, 100 * values, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("list_numbers", 0, 4_000), "list_numbers points outside"),
        (put("list_keys", 0, 1), "list_keys has wrong ends"),
        (put("list_first", 1, 10**6), "list_first steps back"),
        (put("list_posting", 0, 0), "list_posting points outside"),
        (put("list_posting", 0, 10**6), "list_posting points outside"),
        (put("list_table", 0, 10**6), "list_table points outside"),
        (lambda header, arrays: arrays["list_table"].fill(0), "table of lists is full"),
        (lambda header, arrays: arrays.update(list_table=arrays["list_table"][1:]), "no power of two"),
        (put("list_code", 0, 2**62), "values of lists are out of order"),
        (lambda header, arrays: arrays["list_posting"].fill(arrays["list_posting"][0]), "out of order"),
    ],
)
def test_lists_that_cannot_be_followed_are_refused(change: Change, message: str) -> None:
    compiled = listed_set()[0].compile()
    for verify in (True, False):
        with pytest.raises(CompiledSetError, match=message):
            crafted(compiled, change, verify=verify)


def test_a_row_filed_under_two_attributes_or_none_or_twice_is_refused() -> None:
    compiled = listed_set()[0].compile()
    index = compiled._view.engine.index
    assert len(index.list_numbers) == 2

    def other_row(header: Any, arrays: dict[str, Array]) -> None:
        """File the row of the first posting under one of the other attribute's values too, in another's place."""
        key = int(arrays["list_keys"][1])
        at = int(arrays["list_first"][key])
        arrays["list_posting"][at] = arrays["list_posting"][0]

    def same_attribute(header: Any, arrays: dict[str, Array]) -> None:
        """Let what a filed row tests beside its list be the attribute of the list."""
        row = int(np.flatnonzero(np.diff(arrays["start"])[index.listed_from :])[0]) + index.listed_from
        key = np.searchsorted(arrays["list_first"], np.flatnonzero(arrays["list_posting"] == row)[0], side="right") - 1
        owner = np.searchsorted(arrays["list_keys"], key, side="right") - 1
        arrays["attribute"][arrays["start"][row]] = arrays["list_numbers"][owner]

    for change, message in ((other_row, "two attributes|in no list|out of order"), (same_attribute, "attribute twice")):
        with pytest.raises(CompiledSetError, match=message):
            crafted(compiled, change, verify=False)


def test_a_value_that_a_look_up_misses_is_refused_when_verified() -> None:
    compiled = listed_set()[0].compile()

    def rolled(header: Any, arrays: dict[str, Array]) -> None:
        arrays["list_table"][:] = np.roll(arrays["list_table"], 1)

    crafted(compiled, rolled, verify=False)
    with pytest.raises(CompiledSetError, match="does not lead to its rows"):
        crafted(compiled, rolled, verify=True)
