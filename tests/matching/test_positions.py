"""Positions: a predicate on them holds just where it holds on codes, and codes come back from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins import positions as twin

import rookery
from rookery.matching.bitmap import position_kernels as kernels
from rookery.matching.bitmap import positions
from rookery.matching.bitmap.positions import PositionGrid, coded_rows, grid_of, wide_rows
from rookery.matching.kernels import NULL_CODE, SET_FLAG
from rookery.matching.rows import Rows

Array = np.ndarray[Any, Any]
LOWEST, HIGHEST = NULL_CODE + 1, (1 << 63) - 1

#: Codes as attributes have them: whole numbers, doubles of few digits, anything.
CODES = [
    st.integers(-9, 9),
    st.integers(-40, 40).map(lambda value: value << 40),
    st.integers(-500, 500).map(lambda value: int(np.float64(abs(value) / 8).view(np.int64)) * (-1 if value < 0 else 1)),
    st.integers(LOWEST, HIGHEST),
]


@st.composite
def drawn_rows(draw: st.DrawFn) -> tuple[Rows, Array]:
    """Draw rows over one attribute of each kind, one with sets of intervals, and codes at and beside their bounds."""
    attribute: list[int] = []
    bounds: list[tuple[int, int]] = []
    pool: list[tuple[int, int]] = []
    seen: list[list[int]] = [[] for _ in CODES]

    def interval(number: int) -> tuple[int, int]:
        kind = draw(st.sampled_from(["between", "above", "below", "point", "null", "known or null"]))
        low, high = sorted((draw(CODES[number]), draw(CODES[number])))
        strict = draw(st.booleans())
        low, high = max(LOWEST, min(low + strict, HIGHEST)), max(LOWEST, high - strict)
        seen[number] += [low, high]
        return {
            "between": (low, high), "above": (low, HIGHEST), "below": (LOWEST, high), "point": (low, low),
            "null": (NULL_CODE, NULL_CODE), "known or null": (NULL_CODE, high),
        }[kind]  # fmt: skip

    for _ in range(draw(st.integers(1, 12))):
        number = draw(st.integers(0, len(CODES) - 1))
        if draw(st.integers(0, 3)):
            attribute.append(number)
            bounds.append(interval(number))
        else:
            attribute.append(number | SET_FLAG)
            many = draw(st.integers(1, 4))
            bounds.append((len(pool), len(pool) + many))
            pool += [interval(number) for _ in range(many)]
    count = len(attribute)
    rows = Rows(
        np.arange(count, dtype=np.int32),
        np.arange(count + 1),
        np.array(attribute, np.uint16),
        np.array(bounds, np.int64),
        np.array(pool, np.int64).reshape(-1, 2),
    )
    events = [
        [
            min(HIGHEST, max(NULL_CODE, draw(st.sampled_from([NULL_CODE, LOWEST, HIGHEST, *mine])) + draw(STEP)))
            for mine in seen
        ]
        for _ in range(8)
    ]
    return rows, np.array(events, np.int64)


STEP = st.sampled_from([0, 0, 1, -1, 5, -(1 << 41), 1 << 50])


def grid_at_any_price(rows: Rows, attributes: int) -> PositionGrid:
    """Return the grid of rows, however few they are and whatever it takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "LEAST_PREDICATES", 0)
        patch.setattr(positions, "LARGEST_SHARE", 10)
        return grid_of(rows, attributes)


@given(drawn_rows())
def test_positions_are_in_the_order_of_codes(drawn: tuple[Rows, Array]) -> None:
    rows, codes = drawn
    grid = grid_at_any_price(rows, len(CODES))
    assert grid.position_grid.size
    short = coded_rows(rows, grid)
    assert short.bounds.dtype == short.pool.dtype == short.start.dtype == np.int32
    places = np.zeros(codes.shape, np.int32)
    stated = (grid.position_grid, grid.position_first, grid.position_points)
    kernels.write_positions(codes, grid.position_numbers, *stated, places)
    for number in grid.position_numbers.tolist():
        for event in range(len(codes)):
            code, place = int(codes[event, number]), int(places[event, number])
            mine = rows.attribute == number
            for side in (0, 1):
                bounds, coded = rows.bounds[mine, side].tolist(), short.bounds[mine, side].tolist()
                for bound, at in zip(bounds, coded, strict=True):
                    # What a lower bound asks is whether a code is below it, an upper one whether it is above.
                    assert (code < bound if side == 0 else code > bound) == (place < at if side == 0 else place > at)
    wide = wide_rows(short, grid)
    for name in ("slot", "start", "attribute", "bounds", "pool"):
        assert np.array_equal(getattr(wide, name), getattr(rows, name))
        assert getattr(wide, name).dtype == getattr(rows, name).dtype


@given(drawn_rows())
def test_positions_are_those_of_the_twin(drawn: tuple[Rows, Array]) -> None:
    rows, codes = drawn
    surveyed = []
    for survey in (kernels.survey_bounds, twin.survey_bounds):
        grid = np.stack([np.full(4, HIGHEST), np.full(4, NULL_CODE), np.zeros(4, np.int64)])
        bits = np.full(4, 1 << 62, np.uint64)
        survey(rows.attribute, rows.bounds, rows.pool, grid, bits)
        surveyed.append((grid.tolist(), bits.tolist()))
    assert surveyed[0] == surveyed[1]
    grid = grid_at_any_price(rows, len(CODES))
    stated = (grid.position_grid, grid.position_first, grid.position_points)
    short = coded_rows(rows, grid)
    for mine, theirs, kind, given_ in (
        (kernels.code_positions, twin.code_positions, np.int32, rows),
        (kernels.wide_bounds, twin.wide_bounds, np.int64, short),
    ):
        found = []
        for one in (mine, theirs):
            bounds, pool = np.zeros(rows.bounds.shape, kind), np.zeros(rows.pool.shape, kind)
            one(given_.attribute, given_.bounds, given_.pool, *stated, bounds, pool)
            found.append((bounds.tolist(), pool.tolist()))
        assert found[0] == found[1]
    places = [np.zeros(codes.shape, np.int32), np.zeros(codes.shape, np.int32)]
    for one, out in zip((kernels.write_positions, twin.write_positions), places, strict=True):
        one(codes, grid.position_numbers, *stated, out)
    assert np.array_equal(*places)


def test_bounds_take_four_bytes_where_that_saves_memory() -> None:
    """Whole numbers and doubles of few digits lie on a grid, few prices are stated, very many stay as they are."""
    random = np.random.default_rng(1)
    count = positions.LEAST_PREDICATES // 2

    def bounds_of(values: Array) -> tuple[str, int]:
        matcher = rookery.matcher(rookery.Schema(least=float, value=float))
        sides = {"value": values, "least": random.permutation(values)}
        matcher.add_boxes(subscription_id=np.arange(count), lower=sides)
        index: Any = matcher.compile()._view.engine
        return index.index.bounds.dtype.name, len(index.index.position_points)

    assert bounds_of(random.integers(0, 64_000, count) / 64) == ("int32", 0)
    assert bounds_of(random.integers(0, 500, count) / 10) == ("int32", 1000)
    assert bounds_of(random.random(count)) == ("int64", 0)
    assert bounds_of(random.random(count)[:1].repeat(count)) == ("int32", 0)
