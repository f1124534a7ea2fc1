"""The grid: one cell for an event, and every cell of a subscription that an event satisfying it can have."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery import Schema, matcher
from rookery.errors import SpaceError
from rookery.model.lower import lower
from rookery.model.parser import parse
from rookery.space.grid import CategoricalAxis, Grid, NumericAxis, TextAxis

SCHEMA = Schema(symbol=str, price=float, volume=int)
GRID = Grid([CategoricalAxis("symbol", ("AAA", "MMM", "ZZZ")), NumericAxis("price", (0.0, 1.5, 10.0, 20.0))])
LETTERED = Grid([TextAxis("symbol", ("A", "B", "MMM", "a")), NumericAxis("price", (0.0, 20.0))])
VOLUMES = Grid([NumericAxis("volume", (0, 2**53, 2**53 + 1, 2**62))])
WHERE = [
    "symbol = 'AAA' AND price < 1.5",
    "symbol <> 'MMM'",
    "symbol LIKE 'M%' AND price BETWEEN 1 AND 12",
    "symbol LIKE '%Z'",
    "price > 20 OR symbol IN ('AAA', 'other')",
    "NOT (price >= 1.5)",
    "price IS NULL",
    "symbol IS NOT NULL AND volume > 7",
    "symbol > 'B' AND symbol <= 'MMM'",
    "volume < price",
    "TRUE",
    "FALSE",
]
events = st.fixed_dictionaries(
    {
        "symbol": st.sampled_from(["AAA", "MMM", "ZZZ", "other", "M", "B", None]),
        "price": st.sampled_from([-5.0, 0.0, 1.0, 1.5, 1.4999, 9.9, 10.0, 20.0, 99.0, float("nan"), None]),
        "volume": st.sampled_from([None, -1, 0, 7, 8, 2**53 - 1, 2**53, 2**53 + 1, 2**62]),
    }
)


@pytest.mark.parametrize("where", WHERE)
@given(event=events)
def test_an_event_that_satisfies_has_a_cell_of_the_subscription(where: str, event: dict[str, object]) -> None:
    scan = matcher(SCHEMA, engine="scan")
    scan.add(1, where)
    for grid in (GRID, LETTERED):
        cells = grid.cells(lower(parse(where), SCHEMA), SCHEMA)
        if scan.match(event):
            assert grid.cell(event) in cells


@given(bounds=st.tuples(st.integers(-5, 2**63 - 1), st.integers(-5, 2**63 - 1)), event=events)
def test_whole_numbers_past_the_doubles_keep_their_cell(bounds: tuple[int, int], event: dict[str, object]) -> None:
    where = f"volume BETWEEN {min(bounds)} AND {max(bounds)}"
    scan = matcher(SCHEMA, engine="scan")
    scan.add(1, where)
    if scan.match(event):
        assert VOLUMES.cell(event) in VOLUMES.cells(lower(parse(where), SCHEMA), SCHEMA)


def test_a_narrow_subscription_has_few_cells() -> None:
    cells = GRID.cells(lower(parse("symbol = 'AAA' AND price < 1.5"), SCHEMA), SCHEMA)
    assert cells == {GRID.cell({"symbol": "AAA", "price": 0.0})}
    assert GRID.cells(lower(parse("FALSE"), SCHEMA), SCHEMA) == frozenset()


def test_the_last_bucket_is_closed_and_what_lies_outside_is_clamped() -> None:
    axis = NumericAxis("price", (0.0, 1.0, 2.0))
    assert [axis.bucket(value) for value in (-9, 0.0, 0.5, 1.0, 2.0, 9, None, float("nan"))] == [0, 0, 0, 1, 1, 1, 2, 2]


def test_cells_are_numbered_without_gap_or_overlap() -> None:
    dice = random.Random(0)
    symbols, prices = ["AAA", "MMM", "ZZZ", "other", None], [0.5, 5.0, 15.0, None]
    numbers = {GRID.cell({"symbol": symbol, "price": price}) for symbol in symbols for price in prices}
    assert numbers == set(range(GRID.cell_count))
    assert GRID.cell({"symbol": dice.choice(symbols)}) in numbers


@pytest.mark.parametrize(
    "make",
    [
        lambda: NumericAxis("price", (1.0,)),
        lambda: NumericAxis("price", (2.0, 1.0)),
        lambda: CategoricalAxis("symbol", ("B", "A")),
        lambda: Grid([]),
        lambda: Grid([NumericAxis("a", (0, 1)), NumericAxis("a", (0, 1))]),
        lambda: Grid([NumericAxis("symbol", (0, 1))]).cells(lower(parse("symbol = 'A'"), SCHEMA), SCHEMA),
    ],
)
def test_a_grid_that_cannot_be_is_refused(make: object) -> None:
    with pytest.raises(SpaceError):
        make()  # type: ignore[operator]
