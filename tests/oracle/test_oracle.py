"""Row = batch = every engine = DuckDB, pair by pair, on ten million pairs; 10⁹ are `python -m benchmarks oracle`."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from oracle import compare
from oracle.compare import Tally, compare_round, expected_pairs
from oracle.workload import Round, make_round
from rookery.matching import ENGINES


def leaf_types(arrow: pa.DataType) -> list[str]:
    """Return the names of the types in a column, with the encodings around them."""
    types = pa.types
    if types.is_dictionary(arrow):
        return ["dictionary", *leaf_types(arrow.value_type)]
    if types.is_run_end_encoded(arrow):
        return ["runs", *leaf_types(arrow.value_type)]
    if types.is_struct(arrow):
        return ["struct", *(name for one in arrow for name in leaf_types(one.type))]
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow):
        kind = "fixed_size_list" if types.is_fixed_size_list(arrow) else "list"
        return [kind, *leaf_types(arrow.value_type)]
    if types.is_timestamp(arrow):
        return [f"timestamp[{arrow.unit}]", "zoned" if arrow.tz else "naive"]
    return [str(arrow).partition("(")[0]]


def test_ten_million_pairs() -> None:
    tally = Tally()
    for seed in range(100, 110):
        engines = list(dict.fromkeys(["bitmap", ENGINES[seed % len(ENGINES)]]))
        compare_round(tally, seed, subscriptions=128, events=8000, engines=engines, others=100, slow=4, rows=4)
    assert tally.pairs >= 10_000_000
    assert tally.differences == []
    assert tally.matches >= tally.pairs // 100
    assert tally.by_path["bitmap"] == tally.pairs
    assert len(tally.conditions) > 1200


@pytest.mark.parametrize("first", range(0, 60, 12))
def test_many_small_rounds(first: int) -> None:
    tally = Tally()
    for seed in range(first, first + 12):
        compare_round(tally, seed, subscriptions=40, events=60, others=60, slow=20, rows=5)
    assert tally.differences == []
    assert {*ENGINES, *(f"{engine}, row" for engine in ENGINES), "compiled"} == set(tally.by_path)


def test_the_rounds_bring_every_type_and_way() -> None:
    rounds = [make_round(seed, subscriptions=5, events=5) for seed in range(300)]
    types = Counter(name for made in rounds for column in made.table.columns for name in leaf_types(column.type))
    integers = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
    decimals = [f"decimal{bits}" for bits in (32, 64, 128, 256)]
    instants = [f"timestamp[{unit}]" for unit in ("s", "ms", "us", "ns")] + [
        "zoned",
        "naive",
        "date32[day]",
        "date64[ms]",
    ]
    texts = ["string", "large_string", "string_view", "binary_view", "dictionary", "runs"]
    others = ["halffloat", "float", "double", "bool", "null", "struct", "list", "fixed_size_list"]
    assert {*integers, *decimals, *instants, *texts, *others} <= set(types)
    ways = Counter(name for made in rounds for name in made.arguments)
    assert set(ways) == {"time", "topic", "as_of", "missing", "on_error"}
    assert any(made.table["topic"].null_count for made in rounds if made.topic_column)
    assert any(made.ranked for made in rounds)


def test_a_wrong_answer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One subscription of which the oracle believes the contrary: every engine and every path reports it."""
    made = make_round(1, subscriptions=40, events=60)
    judged = len(expected_pairs(made)) / (60 * len(made.subscriptions))
    assert 0 < judged < 1
    place = max(range(len(made.subscriptions)), key=lambda one: len(made.subscriptions[one].sql))
    wrong = replace(made.subscriptions[place], sql=f"NOT coalesce({made.subscriptions[place].sql}, FALSE)")
    others = made.subscriptions[:place], made.subscriptions[place + 1 :]

    def mistaken(seed: int, **_: int) -> Round:
        return replace(made, subscriptions=[*others[0], wrong, *others[1]])

    monkeypatch.setattr(compare, "make_round", mistaken)
    tally = Tally()
    compare_round(tally, 1, subscriptions=40, events=60, others=60, slow=60, rows=3)
    assert {line.split(":")[0] for line in tally.differences} == {
        f"seed 1, {engine}{row}" for engine in ENGINES for row in ("", ", row")
    }


def test_only_the_comparison_imports_rookery() -> None:
    folder = Path(__file__).parent
    for source in folder.glob("*.py"):
        names = [
            name
            for node in ast.walk(ast.parse(source.read_text("utf-8")))
            for name in (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [one.name for one in node.names]
                if isinstance(node, ast.Import)
                else []
            )
        ]
        uses = any(name.split(".")[0] in ("rookery", "model", "matching") for name in names)
        assert uses == (source.name == "compare.py" or source.name.startswith("test_")), source.name
