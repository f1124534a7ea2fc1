"""Predicates that no value satisfies are said, and nothing else is."""

from __future__ import annotations

import struct
from decimal import Decimal
from random import Random

import pytest

from rookery.model import Schema
from rookery.model.never_true import never_true
from rookery.model.types import FloatType, key_float

SCHEMA = Schema.from_dict({"f": "float32", "g": "float64", "i": "int32", "d": "decimal(6,2)", "s": "string"})


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("f = 3.14159", ["f = 3.14159"]),
        ("f IN (0.5, 0.1) AND i > 2", ["f = 0.1"]),
        ("NOT f = 16777217", ["f = 16777217"]),
        ("i = 2.5 OR d = 0.105", ["i = 2.5", "d = 0.105"]),
        ("i BETWEEN 3 AND 1", ["i BETWEEN 3 AND 1"]),
        ("i > 2147483647", ["i > 2147483647"]),
        ("f = 0.5 AND g = 3.14159 AND f < 3.14159 AND f <> 0.1 AND s = ''", []),
        ("f BETWEEN 3.14159 AND 3.1416 OR FALSE", []),
    ],
)
def test_what_is_said(where: str, said: list[str]) -> None:
    assert [text for text, _ in never_true(where, SCHEMA)] == said


def test_the_reason_names_the_float32s_beside_it() -> None:
    ((_, reason),) = never_true("f = 3.14159", SCHEMA)
    assert reason.startswith("no float32 is 3.14159, the nearest are 3.141589879989624 and 3.141590118408203")


def test_the_float32s_beside_a_double_are_its_neighbors() -> None:
    """Against the bits: below and above, with no float32 between them."""
    random, kind = Random(3), FloatType(32)
    for _ in range(2000):
        (value,) = struct.unpack("<d", struct.pack("<d", random.uniform(-1, 1) * 10 ** random.randint(-46, 38)))
        low, high = map(key_float, kind.enclose(Decimal(value)))
        assert low <= value <= high
        singles = sorted(struct.unpack("<i", struct.pack("<f", abs(one)))[0] for one in (low, high))
        assert singles[1] - singles[0] == (low != high), value
