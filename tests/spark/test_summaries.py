"""`summarize`: the bytes from Spark are the bytes that a participant builds for itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rookery.errors import PipelineError
from rookery.filters import DomainKey, endpoint_key, from_bytes
from rookery.filters import summarize as summarize_keys
from rookery.spark import summarize

pytestmark = pytest.mark.spark


def fleet(participants: int, endpoints: int) -> list[tuple[str, str, str, str]]:
    return [
        (f"p{p}", "W" if e % 3 else "R", f"rt/topic_{(7 * p + e) % 500}", f"Type{e % 9}")
        for p in range(participants)
        for e in range(1 + (p * 13) % endpoints)
    ]


def expected(rows: list[tuple[str, str, str, str]], **settings: Any) -> dict[str, tuple[int, bytes]]:
    keys: dict[str, set[str]] = {}
    for participant, kind, topic, name in rows:
        keys.setdefault(participant, set()).add(endpoint_key(kind=kind, topic=topic, type_name=name))
    return {
        participant: (len(listed), summarize_keys(sorted(listed), **settings).to_bytes())
        for participant, listed in keys.items()
    }


@pytest.mark.parametrize("structure", ["ribbon", "cuckoo", "tree"])
def test_bytes_equal_what_each_participant_builds(spark: Any, structure: str) -> None:
    rows = fleet(40, 60)
    frame = spark.createDataFrame(
        [*rows, *rows[:50]], "participant string, kind string, topic string, type_name string"
    )
    made = summarize(frame.repartition(3), structure=structure).toArrow().to_pylist()
    assert {row["participant"]: (row["endpoints"], row["summary"]) for row in made} == expected(
        rows, structure=structure
    )
    for row in made:
        received = from_bytes(row["summary"])
        mine = [endpoint_key(kind=k, topic=t, type_name=n) for p, k, t, n in rows if p == row["participant"]]
        assert received.contains_many(mine).all()
        assert row["false_positive_rate"] == pytest.approx(received.expected_false_positive_rate)


def test_other_columns_a_key_and_a_rate(spark: Any) -> None:
    domain_key = DomainKey.derive(b"a shared secret of the fleet", domain=2)
    rows = fleet(5, 30)
    frame = spark.createDataFrame(rows, "who string, is string, `the topic` string, of string")
    made = summarize(
        frame, by="who", kind="is", topic="the topic", type_name="of",
        false_positive_rate=0.001, domain_key=domain_key, seed=5, epoch=9,
    )  # fmt: skip
    assert made.columns == ["who", "endpoints", "summary", "false_positive_rate"]
    settings = {"false_positive_rate": 0.001, "domain_key": domain_key, "seed": 5, "epoch": 9}
    found = {row["who"]: (row["endpoints"], row["summary"]) for row in made.toArrow().to_pylist()}
    assert found == expected(rows, **settings)


@pytest.mark.connect
def test_participants_may_be_numbers(spark: Any) -> None:
    frame = spark.createDataFrame(
        pa.table({"participant": [7, 7, 8], "kind": ["W"] * 3, "topic": list("aba"), "type_name": ["T"] * 3})
    )
    made = {row["participant"]: row["endpoints"] for row in summarize(frame).toArrow().to_pylist()}
    assert made == {7: 2, 8: 1}


def test_wrong_use_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame(
        [("p", "W", None, "T")], "participant string, kind string, topic string, type_name string"
    )
    with pytest.raises(PipelineError, match="no column 'host'"):
        summarize(frame, by="host")
    with pytest.raises(PipelineError, match="choose from ribbon"):
        summarize(frame, structure="xor")
    with pytest.raises(Exception, match="lack their kind, topic or type_name"):
        summarize(frame).collect()
