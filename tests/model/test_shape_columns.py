"""Columns of values are those that the texts hold, and a text whose values are not certain is left."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rookery import Schema
from rookery.model.shape_columns import shape_columns
from rookery.model.shapes import Shapes

SCHEMA = Schema(symbol=str, price=float, volume=int, near="float32", level="uint64")


def test_texts_of_one_shape_are_columns() -> None:
    texts = pa.array(
        ["symbol = 'a' AND price < 1.5", "symbol = '' AND price < 0.25", "price < 2.5", None, "price <"] * 9
    )
    first, second = sorted(shape_columns(texts, Shapes(SCHEMA)), key=lambda one: -len(one.values))
    assert first.rows.tolist() == [row for row in range(45) if row % 5 < 2]
    assert [column.to_pylist() for column in first.values] == [["a", ""] * 9, [1.5, 0.25] * 9]
    assert [(step.path, step.operator) for step in first.steps] == [(("symbol",), "="), (("price",), "<")]
    assert second.rows.tolist() == [row for row in range(45) if row % 5 == 2]
    assert second.values[0].to_pylist() == [2.5] * 9


@pytest.mark.parametrize(
    "text",
    ["symbol = 'it''s'", "symbol = 'ü'", "symbol = 'a\nb'", "price < 1", "price < 1.", "price < 1e3",
     "price < 0.123456789012345678901", "price  < 1.5", "price < 1.5 ", "price < 1.5\n", "symbol = 1.5", "x < 1.5"],
)  # fmt: skip
def test_texts_that_are_cut_otherwise_are_not_of_the_shape(text: str) -> None:
    texts = pa.array(["symbol = 'a'", "price < 1.5", text])
    for found in shape_columns(texts, Shapes(SCHEMA)):
        assert 2 not in found.rows.tolist() or len(found.rows) == 1


@pytest.mark.parametrize(
    "text",
    ["near < 1.5", "level = 5", "symbol < 'a'", "price <> 1.5", "symbol = 'a' OR price < 1.5", "volume < 1.5",
     "symbol = 'a' AND symbol = 'b'", "price < 1234567890123456"],
)  # fmt: skip
def test_comparisons_of_other_kinds_are_left(text: str) -> None:
    assert not shape_columns(pa.array([text] * 3), Shapes(SCHEMA))


def test_a_set_of_different_sentences_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes, asked = Shapes(SCHEMA), list[str]()
    real = shapes.comparisons

    class Counted:
        def comparisons(self, text: str) -> object:
            asked.append(text)
            return real(text)

    texts = pa.array([f"price < {number}.5" + " AND volume > 1" * number for number in range(200)])
    assert len(shape_columns(texts, Counted())) <= 8  # type: ignore[arg-type]
    assert len(asked) <= 9
