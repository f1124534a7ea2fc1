"""The seed's algorithms in plain Python answer as their kernels do, and the matrix tests no predicate twice."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.matching.baselines import Counting, PredicateIndex, PredicateMatrix
from rookery.matching.baselines.kernels import LEAST, MOST, OTHER, covered_columns
from rookery.matching.baselines.matrix import panels
from rookery.matching.baselines.predicates import Domains, distinct_predicates
from rookery.matching.codes import HIGHEST_CODE, LOWEST_CODE
from rookery.matching.kernels import NULL_CODE, SET_FLAG, scan_rows
from rookery.matching.rows import Rows
from rookery.papers.interpreted import PlainCounting, PlainIndex, PlainMatrix, PlainScan

ATTRIBUTES = 4
PAIRS = [(PlainCounting, Counting), (PlainIndex, PredicateIndex), (PlainMatrix, PredicateMatrix)]

intervals = st.tuples(st.integers(0, 9), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
predicates = st.tuples(st.integers(0, ATTRIBUTES - 1), st.lists(intervals, min_size=1, max_size=2, unique=True))
row_lists = st.lists(st.lists(predicates, max_size=4, unique_by=lambda one: one[0]), min_size=1, max_size=12)
#: What a structure takes for the ends of an attribute: too narrow, right, or too wide.
ends = st.sampled_from([(0, 13), (3, 9), (0, 14), (LOWEST_CODE, HIGHEST_CODE)])
WIDE = Domains.uniform(4, 0, 14)
event_lists = st.lists(st.tuples(*[st.integers(0, 14)] * ATTRIBUTES), min_size=1, max_size=6)


def rows_of(listed: list[list[tuple[int, list[tuple[int, int]]]]]) -> Rows:
    attribute: list[int] = []
    bounds: list[tuple[int, int]] = []
    pool: list[tuple[int, int]] = []
    start = [0]
    for row in listed:
        for number, spans in row:
            apart = sorted(spans)
            if len(apart) == 2 and apart[0][1] + 1 < apart[1][0]:  # two intervals that do not touch are a set
                attribute.append(number | SET_FLAG)
                bounds.append((len(pool), len(pool) + 2))
                pool += apart
            else:
                attribute.append(number)
                bounds.append(apart[0])
        start.append(len(attribute))
    return Rows(
        np.arange(len(listed), dtype=np.int32),
        np.array(start, np.int64),
        np.array(attribute, np.uint16),
        np.array(bounds, np.int64).reshape(-1, 2),
        np.array(pool, np.int64).reshape(-1, 2),
    )


@pytest.mark.parametrize(("plain", "compiled"), PAIRS, ids=lambda one: one.__name__)
@given(
    listed=row_lists, events=event_lists, dead=st.sets(st.integers(0, 11)), topic=st.sampled_from([None, 0]), ends=ends
)
@settings(max_examples=100)
def test_plain_and_compiled_agree(
    plain: Any, compiled: Any, listed: Any, events: Any, dead: set[int], topic: int | None, ends: tuple[int, int]
) -> None:
    """With a topic and without, whatever the structure takes for the ends of the attributes."""
    rows, codes = rows_of(listed), np.array(events, np.int64)
    domains = Domains.uniform(ATTRIBUTES, *ends, topic=topic)
    alive = np.array([number not in dead for number in range(len(rows))], np.uint8)
    wanted = scan_rows(codes, 0, len(rows), rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    expected = np.sort(wanted).tolist()
    assert np.sort(compiled(rows, domains).probe(codes, alive)).tolist() == expected
    assert np.sort(plain(rows, domains).probe(codes, alive)).tolist() == expected
    assert np.sort(PlainScan(rows, domains).probe(codes, alive)).tolist() == expected


@pytest.mark.parametrize("compiled", [compiled for _, compiled in PAIRS], ids=lambda one: one.__name__)
@pytest.mark.parametrize("topics", [None, 3])
def test_classes_of_many_words_and_panels_equal_the_scan(compiled: Any, topics: int | None) -> None:
    """More rows than a word and than a panel has, with few and with many touched, at the ends of the codes too."""
    random = Random(topics)
    rows = rows_of(
        [
            [
                (0, [(topic := random.randrange(topics or 1), topic)]),
                (1, [(random.choice([LOWEST_CODE, 3]), random.choice([5, HIGHEST_CODE]))]),
                (2, [(value := random.randrange(700), value)]),
                (3, [(NULL_CODE, NULL_CODE)] if random.random() < 0.1 else [(3, 4), (8, HIGHEST_CODE)]),
            ][: random.choice([1, 2, 3, 4])]
            for _ in range(1300)
        ]
    )
    values = [
        (random.randrange(4), random.choice([LOWEST_CODE, 4, 6, HIGHEST_CODE]), random.randrange(700), code)
        for code in (NULL_CODE, 3, 6, HIGHEST_CODE) * 8
    ]
    codes, alive = np.array(values, np.int64), np.ones(len(rows), np.uint8)
    domains = Domains.uniform(ATTRIBUTES, LOWEST_CODE, HIGHEST_CODE, topic=None if topics is None else 0)
    wanted = scan_rows(codes, 0, len(rows), rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    assert len(wanted) > 1000
    assert np.sort(compiled(rows, domains).probe(codes, alive)).tolist() == np.sort(wanted).tolist()


@given(listed=row_lists, events=event_lists)
@settings(max_examples=60)
def test_the_matrix_tests_a_distinct_predicate_at_most_once(listed: Any, events: Any) -> None:
    rows = rows_of(listed)
    alive, everyone = np.ones(len(rows), np.uint8), np.array([0, len(rows)])
    for event in events:
        matrix, counting = PlainMatrix(rows, WIDE), PlainCounting(rows, WIDE)
        for one in (matrix, counting):
            one.probe(np.array([event], np.int64), alive)
        assert matrix.tests <= counting.tests == len(distinct_predicates(rows, everyone, WIDE))


def test_an_event_is_tested_against_its_own_topic_alone() -> None:
    """Ten topics with a limit each, and a row without a topic: two predicates are looked at, not eleven."""
    rows = rows_of([*([(0, [(topic, topic)]), (1, [(topic, 14)])] for topic in range(10)), [(2, [(0, 5)])]])
    alive = np.ones(len(rows), np.uint8)
    for build in (PlainMatrix, PlainCounting, PlainScan):
        one = build(rows, Domains.uniform(ATTRIBUTES, 0, 14, topic=0))
        assert sorted((one.probe(np.array([[7, 9, 1, 0]], np.int64), alive) & 0xFFFFFFFF).tolist()) == [7, 10]
        assert one.tests == 2
        one.probe(np.array([[99, 9, 1, 0]], np.int64), alive)  # a topic that no row is for
        assert one.tests == 3


def test_a_range_is_two_columns_and_equal_sets_are_one() -> None:
    """`x > 2 AND x < 7` shares each limit; `<> 5` of two rows lies twice in the pool, and is one column."""
    unequal = [(0, 4), (6, 14)]
    rows = rows_of(
        [[(1, [(3, 6)])], [(1, [(3, 14)])], [(1, [(0, 6)])], [(2, unequal)], [(2, unequal)], [(2, [(7, 9)])]]
    )
    found = distinct_predicates(rows, np.array([0, len(rows)]), WIDE)
    assert found.kind.tolist() == [LEAST, MOST, LEAST, MOST, OTHER]
    assert np.diff(found.post_start).tolist() == [2, 2, 1, 1, 2]
    assert found.sizes.tolist() == [2, 1, 1, 1, 1, 2]


def test_a_failed_set_deletes_what_it_covers() -> None:
    """`<> 5` covers `<> 5 AND <> 9` and `= 7`: an event with 5 fails the first, and the others are not tested."""
    rows = rows_of([[(1, [(0, 4), (6, 14)])], [(1, [(0, 4), (6, 14)])], [(1, [(7, 7)])], [(1, [(0, 4), (6, 8)])]])
    one = PlainMatrix(rows, WIDE)
    assert not len(one.probe(np.array([[0, 5, 0, 0]], np.int64), np.ones(4, np.uint8)))
    assert one.tests == 1
    covering = PredicateMatrix(rows, WIDE).probe(
        np.array([[0, code, 0, 0] for code in range(15)]), np.ones(4, np.uint8)
    )
    plain = one.probe(np.array([[0, code, 0, 0] for code in range(15)]), np.ones(4, np.uint8))
    assert sorted(covering.tolist()) == sorted(plain.tolist())


@given(listed=row_lists)
@settings(max_examples=60)
def test_rows_with_many_predicates_come_first(listed: Any) -> None:
    rows = rows_of(listed)
    ordered, ends, _ = panels(rows, np.array([0, len(rows)]), WIDE)
    sizes = distinct_predicates(ordered, ends, WIDE).sizes.tolist()
    assert sizes == sorted(sizes, reverse=True)
    assert sorted(ordered.slot.tolist()) == list(range(len(rows)))


def test_the_predicate_of_most_rows_is_tested_first() -> None:
    """It fails, and takes all rows with it, before any that one row has."""
    rows = rows_of([[(0, [(number, number)]), (1, [(0, 3)])] for number in range(5)])
    one = PlainMatrix(rows, WIDE)
    assert one.probe(np.array([[2, 9, 0, 0]]), np.ones(5, np.uint8)).size == 0
    assert one.tests == 1


@given(listed=row_lists)
@settings(max_examples=60)
def test_a_column_dooms_the_rows_of_whatever_it_covers(listed: Any) -> None:
    """By the codes that satisfy each predicate: q is covered by p where p holds for all that q holds for."""
    rows = rows_of(listed)
    found = distinct_predicates(rows, np.array([0, len(rows)]), WIDE)
    starts, held = found.post_start.tolist(), []
    for first, last in pairwise(starts):
        held.append(sum(1 << row for row in found.post_row[first:last].tolist()))
    columns = np.array(held, np.uint64)
    doomed = columns.copy()
    covered_columns(
        found.group, found.attribute, found.bounds, found.is_set, found.pool, np.arange(len(held) + 1), columns, doomed
    )
    codes = [
        {code for low, high in (found.pool[slice(*ends)] if is_set else [ends]) for code in range(low, high + 1)}
        for ends, is_set in zip(found.bounds.tolist(), found.is_set.tolist(), strict=True)
    ]
    for wide, number in enumerate(found.attribute.tolist()):
        covered = [
            narrow
            for narrow, other in enumerate(found.attribute.tolist())
            if other == number and codes[narrow] <= codes[wide]
        ]
        assert doomed[wide] == np.bitwise_or.reduce(columns[covered])
