"""The scalar function: exact rows in, ids out; the set is loaded once in each worker process."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

import rookery
from rookery.errors import PipelineError
from rookery.spark import Subscriptions, match, matches_of, register

RULES = pa.table(
    {
        "subscription_id": ["null", "big", "nan", "part"],
        "where": ["n IS NULL", f"n = {2**53 + 1}", "x > 1", "p.a = 'k'"],
    }
)
EVENTS = pa.table(
    {
        "event_id": pa.array(range(6), pa.int64()),
        "n": pa.array([None, 2**53, 2**53 + 1, 3, None, 5], pa.int64()),
        "x": pa.array([None, float("nan"), 2.0, None, 1.0, 7.5]),
        "p": pa.array([None, {"a": "k"}, {"a": None}, {"a": "k"}, None, {"a": "j"}], pa.struct([("a", pa.string())])),
    }
)


@pytest.mark.connect
@pytest.mark.parametrize("known", [True, False])
def test_ids_of_each_row(spark: Any, known: bool) -> None:
    from pyspark.sql.functions import explode, struct

    frame = spark.createDataFrame(EVENTS)
    wanted = matches_of(spark, RULES, events=frame if known else None)
    found = frame.select("event_id", explode(wanted(struct("*"))).alias("id")).collect()
    pairs = sorted((row["event_id"], row["id"]) for row in found)
    assert pairs == [(0, "null"), (1, "part"), (2, "big"), (2, "nan"), (3, "part"), (4, "null"), (5, "nan")]
    assert pairs == sorted((r["event_id"], r["subscription_id"]) for r in match(frame, RULES).collect())


def test_in_sql_and_a_null_struct(spark: Any) -> None:
    frame = spark.createDataFrame(EVENTS)
    frame.createOrReplaceTempView("rows_of_functions")
    register(spark, rules=RULES, events=frame, scalar="wanted_here")
    found = spark.sql(
        "select wanted_here(if(event_id = 3, null, struct(*))) as ids from rows_of_functions order by event_id"
    ).collect()
    assert [row["ids"] for row in found] == [["null"], ["part"], ["big", "nan"], ["null"], ["null"], ["nan"]]


def test_rows_that_come_one_by_one_give_the_same(classic: Any) -> None:
    """Sparks before 4.1 hand over rows: the same function object, called with Spark's rows."""
    from rookery.spark.carriers import carry
    from rookery.spark.functions import CarriedRules, MatchRow
    from rookery.spark.rules import Reading, compile_rules, schema_of
    from rookery.spark.types import arrow_schema_of

    frame = classic.createDataFrame(EVENTS)
    columns = arrow_schema_of(frame.schema)
    made = compile_rules(Subscriptions.of(RULES).records(), schema_of(columns))
    one = MatchRow(CarriedRules(carry(classic, made.compiled), Reading(), columns))
    found = [sorted(one(row)) for row in frame.orderBy("event_id").collect()]
    assert found == [["null"], ["part"], ["big", "nan"], ["part"], ["null"], ["nan"]]
    assert one(None) == ["null"]


def test_a_worker_loads_the_set_once(classic: Any) -> None:
    """Five jobs of many batches: each worker process unpacks the set once, as the accumulator counts."""
    from rookery.spark.functions import CarriedRules, MatchStructs
    from rookery.spark.rules import Reading, compile_rules, schema_of
    from rookery.spark.types import arrow_schema_of

    frame = classic.range(0, 5_000, 1, 4).selectExpr("id as event_id", "id as n", "1.5D as x", "struct('k' as a) as p")
    columns = arrow_schema_of(frame.schema)
    compiled = compile_rules(Subscriptions.of(RULES).records(), schema_of(columns)).compiled
    data, loads = compiled.to_bytes().to_pybytes(), classic.sparkContext.accumulator(0)

    class CountedSet:  # here, so that it travels with the task
        key = compiled.content_hash + "-counted"

        def load(self) -> Any:
            from rookery.spark.carriers import keep

            return keep(self.key, self._unpack)

        def _unpack(self) -> Any:
            loads.add(1)
            return rookery.CompiledSet.from_bytes(data)

    rules: Any = CountedSet()
    wanted = MatchStructs(CarriedRules(rules, Reading(), columns), pa.string())

    def counted(batches: Any) -> Any:
        import os

        for batch in batches:
            count = len(wanted(batch.to_struct_array()).flatten())
            yield pa.record_batch(
                [pa.array([os.getpid()], pa.int32()), pa.array([count], pa.int64())], names=["process", "matches"]
            )

    processes: set[int] = set()
    for _ in range(5):
        found = frame.mapInArrow(counted, "process int, matches bigint").collect()
        processes |= {row["process"] for row in found}
        assert sum(row["matches"] for row in found) == 10_000
    assert loads.value == len(processes)


def test_before_spark_4_1_the_columns_must_be_told(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from rookery.spark import compat

    monkeypatch.setattr(compat, "version", lambda: (4, 0))
    with pytest.raises(PipelineError, match="give events="):
        matches_of(spark, RULES)


def test_only_the_sources_that_are_asked_for_are_imported() -> None:
    program = (
        "import sys; from types import SimpleNamespace as S; from rookery.spark import register; made = []\n"
        "spark = S(dataSource=S(register=lambda kind: made.append(kind.name())))\n"
        "register(spark, sources=['rookery.parquet'])\n"
        "others = ('rookery.spark.kafka', 'rookery.spark.delta', 'confluent_kafka', 'deltalake')\n"
        "print(*made, *(name for name in others if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rookery.parquet"]
