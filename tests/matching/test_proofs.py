"""An index that is safe to follow and answers otherwise than its rows is refused with `verify=True`."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rookery
from model.generators import random_filter, random_schema
from rookery.errors import CompiledSetError
from rookery.matching import CompiledSet
from rookery.matching.bitmap import build, positions
from rookery.matching.bitmap.position_kernels import STATED
from rookery.matching.kernels import NULL_CODE, SET_FLAG

from .test_checks import Change, cells, crafted, head, put
from .test_damage import SCHEMA, small_set

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def compiled() -> CompiledSet:
    """Return a set with summaries: made from the first block on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "SUMMARY_BLOCKS", (build.DIRECT_ROWS + 1) / build.BLOCK_ROWS)
        return small_set()


def a_set(arrays: dict[str, Array], side: int) -> int:
    """Return where in the pool some set of intervals begins or ends."""
    return int(arrays["bounds"][(arrays["attribute"] & SET_FLAG) != 0][0, side])


def swap_first_intervals(header: Any, arrays: dict[str, Array]) -> None:
    first = a_set(arrays, 0)
    arrays["pool"][[first, first + 1]] = arrays["pool"][[first + 1, first]]


def null_and_values(header: Any, arrays: dict[str, Array]) -> None:
    arrays["pool"][a_set(arrays, 0), 0] = NULL_CODE


def turned_interval(header: Any, arrays: dict[str, Array]) -> None:
    arrays["pool"][a_set(arrays, 1) - 1] = 5, 4


def shared_set(header: Any, arrays: dict[str, Array]) -> None:
    flagged = np.flatnonzero(arrays["attribute"] & SET_FLAG)
    arrays["bounds"][flagged[1]] = arrays["bounds"][flagged[0]]


def rolled_table(header: Any, arrays: dict[str, Array]) -> None:
    """Let every partition of the largest hash table stand one place further."""
    largest = int(np.argmax(np.diff(arrays["table_first"])))
    first, last = arrays["table_first"][largest : largest + 2]
    arrays["table"][first:last] = np.roll(arrays["table"][first:last], 1)


def other_key(header: Any, arrays: dict[str, Array]) -> None:
    """Give a partition that has a key another one."""
    keyed = arrays["table"][arrays["table_first"][1] :]
    arrays["partition_key"][keyed[keyed >= 0][0], 0] += 4


def excluded_row(header: Any, arrays: dict[str, Array]) -> None:
    arrays["lines"] |= np.uint64(1)


def excluded_block(header: Any, arrays: dict[str, Array]) -> None:
    arrays["group_lines"] |= np.uint64(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swap_first_intervals, "out of order"),
        (null_and_values, "holds NULL and values|out of order"),
        (turned_interval, "ends before it begins"),
        (shared_set, "overlap"),
        (rolled_table, "does not lead to it"),
        (head(seed=2), "does not lead to it"),
        (other_key, "does not lead to it|is no text's"),
        (excluded_row, "the lines of block 0"),
        (excluded_block, "a summary is not that of its blocks"),
        (put("group_partition", 0, 1), "summary"),
        (put("partition_group", 0, -1), "summary"),
        (head(ordered=[]), "k is ordered, and not said to be"),
        (cells("topic", lambda values: [None, *values[1:]]), "another topic than its record"),
        (cells("topic", lambda values: ["new", *values[1:]]), "another topic than its record"),
        (cells("topic", lambda values: [None] * 300), "another topic than its record"),
        (cells("subscription_id", lambda values: [values[1], *values[1:]]), "stands twice"),
    ],
)
def test_what_answers_otherwise_is_refused(compiled: CompiledSet, change: Change, message: str) -> None:
    assert crafted(compiled, change, verify=False) is not None  # it is safe, and wrong
    with pytest.raises(CompiledSetError, match=message):
        crafted(compiled, change)


def test_a_lost_match_was_taken_for_right(compiled: CompiledSet) -> None:
    """The reason for all this: with the bits of one row set, its matches are gone and nothing is said."""
    events = pa.table({"event_id": range(60), "v": [float(place) for place in range(60)], "n": range(60)})
    asked = {"topic": "t", "as_of": "2026-01-02T00:00:00Z", "missing": "null"}
    whole = compiled.match_many(events, **asked)
    lost = crafted(compiled, excluded_row, verify=False).match_many(events, **asked)
    assert 0 < lost.num_rows < whole.num_rows


def test_a_summary_that_ends_early_is_refused() -> None:
    """With two groups the second is forgotten, or given to another."""
    matcher = rookery.matcher(SCHEMA)
    lower = [float(place % 50) for place in range(9000)]
    matcher.add_boxes(list(range(9000)), lower={"v": lower}, upper={"n": [place % 70 for place in range(9000)]})
    compiled = matcher.compile()
    assert len(compiled._parts()[1]["group_block"]) == 1
    assert len(crafted(compiled, lambda header, arrays: None)) == 9000

    def shorter(header: Any, arrays: dict[str, Array]) -> None:
        arrays["group_block"][0, 1] -= 1

    with pytest.raises(CompiledSetError, match="summary"):
        crafted(compiled, shorter)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (cells("where", lambda values: ["v > 1000", *values[1:]]), "the rows of 's1' are not those of its text"),
        (cells("where", lambda values: ["v >", *values[1:]]), "s1"),
        (cells("where", lambda values: ["k = 'nobody'", *values[1:]]), "the rows of 's1' are not those of its text"),
        (lambda header, arrays: arrays.update(inexact=arrays["inexact"][1:]), "is not verified"),
        (lambda header, arrays: arrays["program_jumps"].__setitem__((slice(None), 1), -1), "program of .* is not its"),
    ],
)
def test_rows_that_no_text_gave_are_refused(compiled: CompiledSet, change: Change, message: str) -> None:
    assert crafted(compiled, change) is not None  # a set of its own, for all that its index can tell
    with pytest.raises(CompiledSetError, match=message):
        crafted(compiled, change, verify="texts")


def test_a_bound_that_is_changed_in_a_row_is_found_by_its_text() -> None:
    """A row outside the blocks has no lines to disagree with; only its text tells."""
    matcher = rookery.matcher(SCHEMA)
    matcher.add("a", "n > 5")
    compiled = matcher.compile()
    assert crafted(compiled, put("bounds", 0, 7)).match({"n": 6}) == []
    with pytest.raises(CompiledSetError, match="the rows of 'a' are not those of its text"):
        crafted(compiled, put("bounds", 0, 7), verify="texts")


@pytest.fixture(scope="module")
def short() -> CompiledSet:
    """Return a set whose bounds are positions, on a grid and among stated points, with keys that fill their range."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "LEAST_PREDICATES", 0)
        patch.setattr(positions, "LARGEST_SHARE", 10)
        matcher = rookery.matcher(rookery.Schema(number=int, price=float, key=int))
        for place in range(200):
            where = f"number >= {place * 3} AND price < {place % 50 / 10}"
            matcher.add(place, f"key = {place - 100} AND {where}" if place % 2 else where)
        return matcher.compile()


def between_points(header: Any, arrays: dict[str, Array]) -> None:
    """Put an upper bound on a stated point between two."""
    number = int(np.flatnonzero(arrays["position_grid"][2] == STATED)[0])
    place = np.flatnonzero(arrays["attribute"] == number)[0]
    arrays["bounds"][place, 1] -= 1


def turned_points(header: Any, arrays: dict[str, Array]) -> None:
    arrays["position_points"][[3, 4]] = arrays["position_points"][[4, 3]]


def other_step(header: Any, arrays: dict[str, Array]) -> None:
    arrays["position_grid"][2, arrays["position_grid"][2] > 0] = 0


def other_end(header: Any, arrays: dict[str, Array]) -> None:
    arrays["position_grid"][1, arrays["position_grid"][2] == STATED] += 1


def turned_grid(header: Any, arrays: dict[str, Array]) -> None:
    arrays["position_grid"][[0, 1]] = arrays["position_grid"][[1, 0]]


def counted_points(header: Any, arrays: dict[str, Array]) -> None:
    arrays["position_grid"][2, arrays["position_grid"][2] == STATED] = 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (between_points, "no point of its grid"),
        (turned_points, "points of a grid step back"),
        (other_step, "a wrong step"),
        (other_end, "does not end with its points"),
        (turned_grid, "ends before it begins"),
        (counted_points, "stated and counted"),
        (put("position_first", -1, 1), "position_first"),
        (put("position_numbers", 0, 2), "not the attributes that rows test"),
        (put("key_low", 0, 7), "does not lead to it"),
        (put("key_span", 0, 1 << 20), "no place for each key"),
        (put("key_span", 0, 0), "does not lead to it"),
        (put("partition_first", 1, 0), "no rows|wrong ends|steps back"),
    ],
)
def test_positions_and_places_that_are_not_those_of_the_rows_are_refused(
    short: CompiledSet, change: Change, message: str
) -> None:
    index: Any = short._view.engine
    assert index.index.key_span.any()
    assert {index.index.bounds.dtype, index.index.start.dtype} == {np.dtype(np.int32)}
    assert len(CompiledSet.from_bytes(short.to_bytes(), verify="texts")) == 200
    with pytest.raises(CompiledSetError, match=message):
        crafted(short, change)


def test_a_version_that_is_verified_needs_no_program() -> None:
    """Of two versions the first holds from time itself on, which its rows do not say exactly: its text is asked."""
    matcher = rookery.matcher(rookery.Schema(word=str))
    matcher.add(7, "word NOT ILIKE 'a%'")
    matcher.add(7, "word NOT ILIKE 'a%'", version=2, valid_from="2026-02-01T00:00:00Z")
    first = matcher.compile().take(np.array([0]))
    loaded = CompiledSet.from_bytes(first.to_bytes(), verify="texts")
    assert [loaded.match({"word": word}, time="2026-01-01T00:00:00Z") for word in ("b", "A")] == [[7], []]


@settings(max_examples=25)
@given(st.randoms(use_true_random=False))
def test_every_set_that_is_compiled_is_proved(random: Random) -> None:
    """No proof refuses what the compiler makes: of any schema, with topics, dates, versions, boxes, and parts of it."""
    schema = random_schema(random, most=4)
    matcher = rookery.matcher(schema)
    for place in range(random.choice((3, 40))):
        where, parameters = random_filter(random, schema, depth=random.randint(0, 2))
        topic = random.choice((None, "t", "u"))
        dates = {"valid_from": random.choice((None, "2026-01-01T00:00:00Z"))}
        matcher.add(place, where, parameters=parameters, topic=topic, **dates)
        if random.random() < 0.1:
            matcher.add(place, where, parameters=parameters, version=2, valid_from="2026-02-01T00:00:00Z")
    compiled = matcher.compile()
    assert len(CompiledSet.from_bytes(compiled.to_bytes(), verify="texts")) == len(compiled)
    part = compiled.take(np.array(random.sample(range(len(compiled)), len(compiled) // 2), np.int64))
    assert len(CompiledSet.from_bytes(part.to_bytes(), verify="texts")) == len(part)
