"""The seed's algorithms in plain Python answer as their kernels do, and the matrix tests no predicate twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.matching.baselines import Counting, PredicateIndex, PredicateMatrix
from rookery.matching.baselines.plain import PlainCounting, PlainIndex, PlainMatrix, PlainScan
from rookery.matching.baselines.predicates import distinct_predicates
from rookery.matching.kernels import SET_FLAG
from rookery.matching.rows import Rows

ATTRIBUTES = 4
PAIRS = [(PlainCounting, Counting), (PlainIndex, PredicateIndex), (PlainMatrix, PredicateMatrix)]

intervals = st.tuples(st.integers(0, 9), st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
predicates = st.tuples(st.integers(0, ATTRIBUTES - 1), st.lists(intervals, min_size=1, max_size=2, unique=True))
row_lists = st.lists(st.lists(predicates, max_size=4, unique_by=lambda one: one[0]), min_size=1, max_size=12)
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
@given(listed=row_lists, events=event_lists, dead=st.sets(st.integers(0, 11)))
@settings(max_examples=60)
def test_plain_and_compiled_agree(plain: Any, compiled: Any, listed: Any, events: Any, dead: set[int]) -> None:
    rows, codes = rows_of(listed), np.array(events, np.int64)
    alive = np.array([number not in dead for number in range(len(rows))], np.uint8)
    expected = np.sort(compiled(rows, ATTRIBUTES).probe(codes, alive))
    assert np.sort(plain(rows, ATTRIBUTES).probe(codes, alive)).tolist() == expected.tolist()
    assert np.sort(PlainScan(rows, ATTRIBUTES).probe(codes, alive)).tolist() == expected.tolist()


@given(listed=row_lists, events=event_lists)
@settings(max_examples=60)
def test_the_matrix_tests_a_distinct_predicate_at_most_once(listed: Any, events: Any) -> None:
    rows = rows_of(listed)
    alive = np.ones(len(rows), np.uint8)
    for event in events:
        matrix, counting = PlainMatrix(rows, ATTRIBUTES), PlainCounting(rows, ATTRIBUTES)
        for one in (matrix, counting):
            one.probe(np.array([event], np.int64), alive)
        assert matrix.tests <= counting.tests == len(distinct_predicates(rows))
