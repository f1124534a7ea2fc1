"""The notation of an event space: brokers and the overlay read the same text."""

from __future__ import annotations

import json

import pytest

from rookery import Schema
from rookery.errors import RookeryError, SpaceError
from rookery.model.lower import lower
from rookery.model.parser import parse
from rookery.space import EventSpace, KdTree, TextCode
from rookery.space.axes import Axis
from rookery.space.grid import CategoricalAxis, NumericAxis, TextAxis
from rookery.space.notation import read_grid, read_space

SCHEMA = Schema(symbol=str, price=float, volume=int, halted=bool)
CODE = TextCode(("ACME", "BOLT"), (0.25, 0.5))


@pytest.mark.parametrize(
    ("text", "ranges", "buckets"),
    [
        ("price:0:1000,symbol", [Axis("price", 0, 1000), Axis("symbol")], [17, 29]),
        ("symbol:BOLT|ACME, price:0:100/4", [Axis("symbol", code=CODE), Axis("price", 0, 100)], [4, 5]),
        ("price: 0 : 100", [Axis("price", 0, 100)], [17]),
        ("price:0|10|100|1000", [Axis("price", 0, 1000)], [4]),
        ("volume:-5:5", [Axis("volume", -5, 5)], [17]),
    ],
)
def test_brokers_and_the_overlay_read_the_same_text(text: str, ranges: list[Axis], buckets: list[int]) -> None:
    assert list(read_space(text, SCHEMA).axes) == ranges
    assert [axis.bucket_count for axis in read_grid(text, SCHEMA).axes] == buckets


def test_a_document_says_the_same() -> None:
    cuts = {"symbol": ["ACME", "BOLT"], "price": [0, 25, 50, 75, 100]}
    text = "symbol:BOLT|ACME,price:0:100/4"
    assert read_grid(cuts, SCHEMA).axes == read_grid(text, SCHEMA).axes
    assert read_space(cuts, SCHEMA).axes == read_space(text, SCHEMA).axes
    with pytest.raises(SpaceError, match="an object of lists"):
        read_grid({"price": 5}, SCHEMA)  # type: ignore[dict-item]


def test_brokers_take_the_axes_of_a_tree() -> None:
    learned = EventSpace.learn(SCHEMA, ["symbol", "price"], {"symbol": ["a", "b", "b"], "price": [1.0, 2.0, 9.0]})
    assert read_space(json.loads(KdTree(learned.axes).to_json()), SCHEMA).axes == learned.axes
    with pytest.raises(SpaceError, match=r"no rookery\.kdtree document"):
        read_space({"format": "rookery.kdtree", "version": 1}, SCHEMA)  # type: ignore[dict-item]


def test_the_kinds_of_axes() -> None:
    kinds = [type(axis) for axis in read_grid("symbol,price:0:1", SCHEMA).axes]
    assert kinds == [TextAxis, NumericAxis]
    assert isinstance(read_grid("symbol:A", SCHEMA).axes[0], CategoricalAxis)
    grid = read_grid("symbol", SCHEMA)
    # Of the 29 cells a prefix takes one; one letter and the next share a cell.
    assert len(grid.cells(lower(parse("symbol LIKE 'AC%'"), SCHEMA), SCHEMA)) == 1
    assert grid.cell({"symbol": "ACME"}) == grid.cell({"symbol": "BOLT"}) != grid.cell({"symbol": "CUBE"})


@pytest.mark.parametrize(
    "wrong",
    ["price", "prize:1|2", "price:a|b", "price:9:1/3", "price:0:9/x", "price:0:9/0", "price:1", "price:a:b", "price:",
     "", "halted", ":1|2", "price:5:5", "price:1||2", "price:1:2:3", "price=0..9", "symbol=A|B", "price:0:9,"],
)  # fmt: skip
def test_what_cuts_nothing_is_refused_with_an_example(wrong: str) -> None:
    with pytest.raises(SpaceError):
        read_grid(wrong, SCHEMA)
    if wrong not in ("price", "halted"):  # for brokers a number without a range is from 0 to 1
        with pytest.raises(RookeryError):
            read_space(wrong, SCHEMA)


@pytest.mark.parametrize("wrong", ["price=0..9/4", "symbol=A|B", "price:", "price:a:b", ":1|2", "price:1||2", ""])
def test_a_mistake_in_the_notation_shows_the_notation(wrong: str) -> None:
    with pytest.raises(SpaceError, match=r"write price:0:1000 or price:0:1000/32, price:0\|10\|20, symbol or symbol:A"):
        read_grid(wrong, SCHEMA)
