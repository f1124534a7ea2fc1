"""Interests as WHERE clauses: an event that satisfies one lies in a cell of it, and the ids are those of the scan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery import Schema, matcher
from rookery.errors import RookeryError
from rookery.overlay.interests import WhereInterests
from rookery.space.grid import CategoricalAxis, Grid, NumericAxis

SCHEMA = Schema(symbol=str, price=float)
GRID = Grid([CategoricalAxis("symbol", ("A", "B")), NumericAxis("price", (0.0, 10.0, 20.0, 30.0))])
CLAUSES = (
    "symbol = 'A' AND price < 12",
    "price BETWEEN 5 AND 25",
    "symbol IS NULL",
    "symbol LIKE 'B%'",
    "TRUE",
    "price > 99",
)

events = st.fixed_dictionaries(
    {"symbol": st.sampled_from(["A", "B", "C", None]), "price": st.none() | st.floats(-5, 105)}
)


@given(st.sets(st.sampled_from(CLAUSES)), events)
def test_what_matches_lies_in_a_cell(clauses: set[str], event: dict[str, object]) -> None:
    conditions: dict[str | int, str] = dict(enumerate(sorted(clauses)))
    interests = WhereInterests(SCHEMA, GRID, conditions)
    scan = matcher(SCHEMA, engine="scan")
    for name, where in conditions.items():
        scan.add(name, where)
    found = interests.matching(event)
    assert sorted(found) == sorted(scan.match(event))
    assert not found or interests.cell(event) in interests.cells


def test_a_bad_condition_raises_at_once() -> None:
    with pytest.raises(RookeryError):
        WhereInterests(SCHEMA, GRID, {1: "price <"})
