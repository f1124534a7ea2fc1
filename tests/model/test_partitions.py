"""Columns in the names of folders: types and values as Spark infers them (tests/spark/test_events.py asks Spark)."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from rookery.errors import SchemaError
from rookery.model.partitions import partition_columns, split_folders

CASES = json.loads((Path(__file__).parents[1] / "cases" / "partitions.json").read_text("utf-8"))


def column(*values: str, zone: str = "UTC") -> tuple[str, list[Any]]:
    schema, rows = partition_columns([[("p", value)] for value in values], zone=zone, error=SchemaError)
    return str(schema.field("p").type), [row[0] for row in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "|".join(case["values"]))
def test_the_type_of_a_column(case: dict[str, Any]) -> None:
    assert column(*case["values"])[0] == case["type"]
    assert column(*reversed(case["values"]))[0] == case["type"]


def test_values() -> None:
    null = "__HIVE_DEFAULT_PARTITION__"
    assert column("007", null)[1] == [7, None]
    assert column("1e3", "5")[1] == [Decimal(1000), Decimal(5)]
    floats = column("1d", "-.5", "-Infinity", "0x1p3", "-0x1p5000", " 2 ", "NaN")[1]
    assert floats[:-1] == [1.0, -0.5, -math.inf, 8.0, -math.inf, 2.0]
    assert math.isnan(floats[-1])
    assert column("2024-02-29", null)[1] == [date(2024, 2, 29), None]
    assert column("a%2Fb", "%31", "2024-02-29", "%C3%A9", "50%")[1] == ["a/b", "1", "2024-02-29", "Ã©", "50%"]


def test_times_are_read_in_the_zone_that_is_named() -> None:
    texts = "2024-07-01 10%3A00%3A00.1", "2024-01-01"
    assert column(*texts)[1] == [datetime(2024, 7, 1, 10, 0, 0, 100_000, UTC), datetime(2024, 1, 1, tzinfo=UTC)]
    assert column(*texts, zone="Europe/Berlin")[1] == [
        datetime(2024, 7, 1, 8, 0, 0, 100_000, UTC),
        datetime(2023, 12, 31, 23, tzinfo=UTC),
    ]
    with pytest.raises(SchemaError, match=r"spark\.sql\.session\.timeZone"):
        column(*texts, zone="+02:00")
    assert column("1", zone="+02:00") == ("int32", [1])


def test_partition_folders_are_the_last_ones_in_a_row() -> None:
    assert split_folders([]) == (0, ())
    assert split_folders(["2024", "05"]) == (0, ())
    assert split_folders(["lake", "a=1", "b%20c=x=y", "part"]) == (1, (("a", "1"), ("b c", "x=y")))
    assert split_folders(["a=1", "plain", "b=2"]) == (2, (("b", "2"),))


@pytest.mark.parametrize("parts", [[[("p", "1")], [("p", "")]], [[("", "1")]]])
def test_a_folder_without_a_name_or_a_value_is_refused(parts: list[list[tuple[str, str]]]) -> None:
    with pytest.raises(SchemaError, match="column=value"):
        partition_columns(parts, zone="UTC", error=SchemaError)
