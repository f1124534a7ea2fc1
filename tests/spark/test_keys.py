"""The plan of keys: the pairs of the other plans, whatever the rules name and however the values are spread."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.twins.key_map import named_values, parts_of_every, parts_of_rule, rule_parts

from rookery.errors import PipelineError
from rookery.model.schema import Schema
from rookery.spark import key_rules, keys
from rookery.spark.compat import frame_of
from rookery.spark.key_map import HotKey, KeyMap, Named, parts_of
from rookery.spark.key_rules import BLOB, PART, RuleReader, SpreadRules, rules_frame
from rookery.spark.keys import ORDER, MatchParts, match_keys
from rookery.spark.pipeline import match
from rookery.spark.rules import Reading, compile_rules, schema_of
from rookery.spark.subscriptions import Subscriptions

from .conftest import pairs

EVENTS = pa.schema(
    [
        ("event_id", pa.int64()),
        ("device", pa.string()),
        ("site", pa.int32()),
        ("x", pa.float64()),
        ("note", pa.string()),
    ]
)


def events(count: int, dice: random.Random, *, hot: float = 0.0) -> pa.Table:
    return pa.table(
        {
            "event_id": list(range(count)),
            "device": [
                "d0" if dice.random() < hot else dice.choice([None, "", "ü", *(f"d{n}" for n in range(30))])
                for _ in range(count)
            ],
            "site": [dice.choice([None, -1, 0, 2**31 - 1, 7]) for _ in range(count)],
            "x": [dice.random() for _ in range(count)],
            "note": [dice.choice(["a note", "b", None]) for _ in range(count)],
        },
        schema=EVENTS,
    )


def rules(count: int, dice: random.Random, *, hot: float = 0.0) -> pa.Table:
    def device() -> str:
        return "d0" if dice.random() < hot else dice.choice(["", "ü", *(f"d{n}" for n in range(35))])

    def condition() -> str:
        return dice.choice(
            [
                f"device = '{device()}' AND x > {dice.random()}",
                f"device = '{device()}'",
                f"device IN ('{device()}', '{device()}', '{device()}') AND x < {dice.random()}",
                f"device = '{device()}' OR device = '{device()}' AND site = 7",
                f"device = '{device()}' AND note LIKE 'a%'",
                f"device = '{device()}' AND NOT (x > 0.5)",
            ]
        )

    def wide() -> str:
        return dice.choice(
            [
                "device IS NULL AND x > 0.9",
                "device LIKE 'd1%' AND x > 0.9",
                "device > 'd2' AND site = 7 AND x > 0.8",
                "site = 7 AND x > 0.95",
                "NOT (device = 'd3') AND x > 0.97",
                f"device = '{device()}' OR x > 0.98",
            ]
        )

    return pa.table(
        {
            "subscription_id": [f"r{number}" for number in range(count)],
            "where": [wide() if dice.random() < 0.1 else condition() for _ in range(count)],
        }
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_values_that_a_rule_names_are_all_that_it_can_want(seed: int) -> None:
    dice = random.Random(seed)
    table, batch = rules(200, dice), events(500, dice)
    compiled = compile_rules(table, schema_of(EVENTS)).compiled
    for column in ("device", "site"):
        named = named_values(compiled, column)
        values = batch[column].to_pylist()
        for event, slot in zip(*compiled.match_indices(batch), strict=True):
            texts = named[slot]
            assert texts is None or (values[event] is not None and str(values[event]) in texts)
    named = named_values(compiled, "device")
    assert sum(one is not None for one in named) > 150
    for name, text in zip(named, table["where"].to_pylist(), strict=True):
        if text.startswith("device IN") or text.endswith("(x > 0.5)"):
            assert name is not None  # these name values, and it is seen


@pytest.mark.parametrize("column", ["device", "site"])
@pytest.mark.parametrize("hot", [(), (HotKey("d0", 5, 3, 2), HotKey("7", 11, 1, 5), HotKey("ü", 16, 4, 1))])
def test_rules_are_sent_as_they_are_one_by_one(column: str, hot: tuple[HotKey, ...]) -> None:
    for seed in range(4):
        compiled = compile_rules(rules(300, random.Random(seed)), schema_of(EVENTS)).compiled
        key_map, named = KeyMap(column, 5, hot), Named.of(compiled, column)
        wanted = list(rule_parts(compiled, key_map))
        texts: list[list[str] | None] = [None if one else [] for one in named.every]
        for slot, place in zip(named.slot.tolist(), named.place.tolist(), strict=True):
            texts[slot].append(named.values[place])  # type: ignore[union-attr]
        assert [None if one is None else sorted(one) for one in texts] == [names for names, _ in wanted]
        found = list(zip(*(one.tolist() for one in parts_of(compiled, key_map, named)), strict=True))
        assert found == sorted((part, slot) for slot, (_, held) in enumerate(wanted) for part in held)


@pytest.mark.parametrize("hot", [(), (HotKey("d0", 4, 3, 2), HotKey("d1", 10, 1, 5), HotKey("d2", 15, 4, 1))])
def test_an_event_and_a_rule_of_its_value_meet_in_one_part(hot: tuple[HotKey, ...]) -> None:
    parts = KeyMap("device", 4, hot)
    assert parts.parts == 4 + (6 + 5 + 4 if hot else 0)

    def of_event(text: str | None, name: str) -> set[int]:
        for one in hot:
            if one.text == text:
                row = one.first + crc32(name.encode()) % one.rows * one.columns
                return set(range(row, row + one.columns))
        return {crc32(text.encode()) % 4 if text is not None else 0}

    for text in (None, "d0", "d1", "d2", "d3", "d4"):
        for event in range(40):
            cells = of_event(text, str(event))
            for turn in range(40):
                assert len(cells & parts_of_every(parts, turn)) == 1
                if text is not None:
                    assert len(cells & parts_of_rule(parts, [text], turn)) == 1
                    assert len(cells & parts_of_rule(parts, ["d0", "d1", "d4", text], turn)) == 1


def test_a_part_is_matched_by_its_rules_wherever_batches_end(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    def counted(_: str, load: Any) -> Any:
        compiled = load()
        held.append(len(compiled))
        return compiled

    monkeypatch.setattr(key_rules, "keep", counted)
    dice = random.Random(3)
    every = pa.table({"subscription_id": ["every"], "where": [""]})  # what is no event must not match it
    table, batch = pa.concat_tables([rules(60, dice), every]), events(120, dice)
    reader = RuleReader(Schema.from_arrow(EVENTS), Reading())
    output = pa.schema(
        [("event_id", pa.int64()), ("subscription_id", pa.string()), ("version", pa.int64()), ("explain", pa.string()),
         ("zone", pa.int32())]
    )  # fmt: skip
    parts = KeyMap("device", 3)
    (spread,) = SpreadRules(reader, parts)(iter(table.to_batches()))
    told = zip(spread[PART].to_pylist(), spread[BLOB].to_pylist(), strict=True)
    sizes = [pa.ipc.open_stream(blob).read_all().num_rows for _, blob in sorted(told)]
    part_of = [crc32(text.encode()) % 3 if text is not None else 0 for text in batch["device"].to_pylist()]
    nothing = {name: pa.nulls(spread.num_rows, EVENTS.field(name).type) for name in EVENTS.names}
    first = pa.table({PART: spread[PART], ORDER: [0] * spread.num_rows, BLOB: spread[BLOB]}
                     | nothing)  # fmt: skip
    later = pa.table({PART: pa.array(part_of, pa.int32()), ORDER: [1] * len(part_of),
                      BLOB: pa.nulls(len(part_of), pa.binary())}
                     | {name: batch[name] for name in EVENTS.names})  # fmt: skip
    whole = pa.concat_tables([first, later]).sort_by([(PART, "ascending"), (ORDER, "ascending")])
    truth = compile_rules(table, schema_of(EVENTS)).compiled.match_many(batch)
    wanted = sorted(zip(truth["event_id"].to_pylist(), truth["subscription_id"].to_pylist(), strict=True))
    for size in (1, 7, 10_000):
        given = whole.combine_chunks().to_batches(max_chunksize=size)
        found = pa.Table.from_batches(MatchParts(reader, output)(iter(given)), schema=output)
        matched = sorted(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))
        assert matched == wanted
        assert set(found["zone"].to_pylist()) <= {0, 1, 2}
        assert held == sizes  # of one part at a time
        held.clear()


@pytest.mark.spark
@pytest.mark.parametrize("hot", [0.0, 0.5])
def test_it_gives_the_pairs_of_the_broadcast_plan(spark: Any, hot: float) -> None:
    dice = random.Random(7)
    table, batch = rules(600, dice, hot=hot), events(3_000, dice, hot=hot)
    frame, held = frame_of(spark, batch), frame_of(spark, table)
    wanted = pairs(match(frame, table, plan="broadcast"))
    assert len(wanted) > 5_000
    asked: dict[str, Any] = {"plan": "keys", "zones": 6}
    found = match(frame, held, **asked)
    assert pairs(found) == wanted
    assert "NestedLoop" not in (plan := found._jdf.queryExecution().toString())
    assert "Cartesian" not in plan
    told = keys.key_stats(frame, held, parts=6).toPandas()
    named = named_values(compile_rules(table, schema_of(EVENTS)).compiled, "device")
    every = sum(one is None for one in named)
    assert (told["everywhere"][told["hot"].isna()] == every).all()
    assert told["events"].sum() >= 3_000
    assert set(told["hot"].dropna()) == ({"d0"} if hot else set())
    if hot:  # no part has the half of both
        assert told["subscriptions"].max() < 300 + every
        assert told["events"].max() < 1_000
        grid = told[told["hot"] == "d0"]
        assert len(grid) >= 4


@pytest.mark.spark
def test_columns_numbers_as_keys_and_mistakes(spark: Any) -> None:
    dice = random.Random(9)
    batch = events(400, dice)
    frame = frame_of(spark, batch)
    table = pa.table(
        {"subscription_id": [1, 2, 3], "where": ["site = 7", "site IN (-1, 2147483647)", "site = 0 AND y > 1"]}
    )
    held = frame_of(spark, table)
    found = match_keys(frame, held, Reading(), columns=["device"])
    wanted = match(frame, table, plan="broadcast")
    assert pairs(found) == pairs(wanted)
    assert "_rookery_event_device" in found.columns
    with pytest.raises(PipelineError, match="'x' is none"):
        match(frame, held, plan="keys", key="x")
    with pytest.raises(PipelineError, match="no column is named by half"):
        match(frame, pa.table({"subscription_id": [1], "where": ["x > 0.5"]}), plan="keys")
    with pytest.raises(PipelineError, match="subscription 1 is in the rules 2 times in version 1"):
        match(frame, pa.concat_tables([table, table.slice(0, 1)]), plan="keys")
    with pytest.raises(PipelineError, match="key= is for plan='keys'"):
        match(frame, held, key="site")
    with pytest.raises(PipelineError, match="without columns of the rules"):
        match(frame, held, plan="keys", subscription_columns=["where"])
    with pytest.raises(Exception, match="unknown field 'y'"):
        match(frame, held, plan="keys", on_error="raise").count()


def test_hashes_deal_events_out_evenly() -> None:
    counts = np.bincount([crc32(f"d{number:05d}".encode()) % 16 for number in range(100_000)])
    assert counts.max() < 1.1 * counts.mean()


def test_rules_in_a_folder_of_parquet_are_read_by_spark_and_others_here(classic: Any, tmp_path: Path) -> None:
    table = rules(20, random.Random(1))
    for number in (0, 1):
        pq.write_table(table.slice(10 * number, 10), tmp_path / f"{number}.parquet")
    read = rules_frame(classic, Subscriptions.files(tmp_path))
    assert len(read.inputFiles()) == 2
    assert sorted(row["subscription_id"] for row in read.collect()) == sorted(table["subscription_id"].to_pylist())
    (tmp_path / "more.csv").write_text("subscription_id,where\nnew,x > 1\n")
    read = rules_frame(classic, Subscriptions.files(tmp_path / "more.csv"))
    assert (read.inputFiles(), read.count()) == ([], 1)
