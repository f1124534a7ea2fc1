"""Schemas drawn from conditions."""

from __future__ import annotations

from datetime import datetime

import pytest

from rookery import Schema
from rookery.errors import SchemaError


def drawn(*conditions: str) -> Schema:
    return Schema.from_subscriptions([{"subscription_id": str(n), "where": one} for n, one in enumerate(conditions)])


def test_fields_have_the_types_that_they_are_compared_as() -> None:
    found = drawn(
        "price < 10 AND symbol LIKE 'a%' AND ok = TRUE",
        "at > TIMESTAMP '2026-01-01T00:00:00Z' AND x.y IN ('a', 'b') AND lower(note) = 'n' AND gone IS NULL",
        "volume + 1 BETWEEN 2 AND 3 AND year(at) = 2026",
        "price <",  # whoever compiles it says what is wrong
    )
    assert found == Schema.from_dict(
        {
            "price": float, "symbol": str, "ok": bool, "at": datetime, "x": {"y": str}, "note": str, "gone": str,
            "volume": float,
        }
    )  # fmt: skip


def test_a_field_of_two_types_has_none() -> None:
    with pytest.raises(SchemaError, match="a is compared as float64 in '0' and as string in '1'"):
        drawn("a > 5", "a = 'x'")
    with pytest.raises(SchemaError, match="is compared itself"):
        drawn("a.b = 'x'", "a = 'x'")
