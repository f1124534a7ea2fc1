"""Lint: planted faults are found, nothing else is, and every finding is checked by the oracle."""

from __future__ import annotations

import random
from typing import Any

import pytest

import rookery
from rookery.matching.lint import LintFinding, lint
from rookery.matching.witnesses import witness
from rookery.model import parse
from rookery.model.lower import lower
from rookery.model.tables import read_subscriptions

SCHEMA = rookery.Schema.from_dict(
    {"symbol": "string", "price": "float64", "volume": "int64", "ok": "bool", "note": "string", "d": "decimal(8,2)"}
)


def linted(conditions: dict[str, str], **options: Any) -> list[LintFinding]:
    rows = [{"subscription_id": name, "where": where} for name, where in conditions.items()]
    return lint(read_subscriptions(rows), SCHEMA, **options)


def test_each_kind_is_found_with_its_proof() -> None:
    found = linted(
        {
            "cheap": "price < 10",
            "cheaper": "price < 5 AND symbol = 'A'",
            "again": "10 > price",
            "void": "volume > 3 AND symbol = 'A' AND volume < 2",
            "all": "price < 5 OR TRUE",
            "typo": "prise < 10",
            "slow": "note RLIKE '[0-9]+'",
            "quick": "note RLIKE 'abc[0-9]+'",
            "other": "symbol LIKE 'B%' AND ok",
        },
        fields=["price", "symbol", "note", "prise"],
        clock=iter([1.0, 1.0 + 256e-6]).__next__,
    )
    assert [(one.kind, one.subscription_id, one.other) for one in found] == [
        ("fault", "typo", None),
        ("never", "void", None),
        ("duplicate", "again", "cheap"),
        ("covered", "cheap", "all"),
        ("covered", "cheaper", "cheap"),
        ("covered", "other", "all"),
        ("always", "all", None),
        ("unseen", "void", None),
        ("unseen", "other", None),
        ("cost", "slow", None),
    ]
    assert found[-1].message.endswith("has no literal to seek first: 1.0 µs an event")
    assert next(one for one in found if one.kind == "never").message == (
        "no event can satisfy volume > 3 AND volume < 2"
    )


def predicate(dice: random.Random) -> str:
    number = dice.randint(-50, 50)
    return dice.choice(
        [
            f"price {dice.choice('<>')} {number}.5", f"volume BETWEEN {number} AND {number + dice.randint(0, 60)}",
            f"symbol IN ('s{number}', 's{number + 1}')", f"symbol LIKE 's{abs(number) % 9}%'", "ok", "note IS NOT NULL",
            f"d >= {number}.25", f"note LIKE '%w{number}%'",
        ]
    )  # fmt: skip


def planted(dice: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """Return a set of conditions, and which kinds were planted on which of them."""
    conditions, faults = {}, {}
    for place in range(12):
        conditions[f"r{place}"] = " AND ".join(f"({predicate(dice)})" for _ in range(dice.randint(1, 3)))
        conditions[f"r{place}"] += f" AND volume <> {1000 + place}"  # none is another's duplicate by chance
    base = dice.choice(sorted(conditions))
    low = dice.randint(0, 40)
    conditions["twin"] = conditions[base].replace(" AND ", "  and  ")
    conditions["void"] = f"({conditions[base]}) AND price > {low + 1} AND price < {low}"
    conditions["inner"] = f"({conditions[base]}) AND volume >= 2000"
    conditions["whole"] = f"price > {low} OR TRUE"
    faults |= {"twin": "duplicate", "void": "never", "inner": "covered", "whole": "always"}
    return conditions, faults


@pytest.mark.parametrize("count", [40, pytest.param(1_000, marks=pytest.mark.slow)])
def test_planted_faults_are_found_and_nothing_is_found_wrongly(count: int) -> None:
    missed = []
    for seed in range(count):
        dice = random.Random(seed)
        conditions, faults = planted(dice)
        live = {n: w for n, w in conditions.items() if lower(parse(w), SCHEMA)}
        found = linted(conditions)
        by_name = {(one.subscription_id, one.kind) for one in found}
        for name, kind in faults.items():
            if (kind in ("never", "always") or name in live) and (name, kind) not in by_name:
                missed.append((seed, name, kind))
        check(conditions, found)
    assert not missed


def check(conditions: dict[str, str], found: list[LintFinding]) -> None:
    """Judge every finding by `scan` on random events and on its own witness."""
    oracle = rookery.matcher(SCHEMA, engine="scan")
    for name, where in conditions.items():
        oracle.add(name, where)
    dice = random.Random(7)
    events: list[dict[str, Any]] = [
        {
            "symbol": dice.choice([None, f"s{dice.randint(-50, 50)}"]), "price": dice.uniform(-60, 60),
            "volume": dice.choice([dice.randint(-60, 120), dice.randint(1000, 2100)]), "ok": dice.choice([None, True]),
            "note": dice.choice([None, f"xw{dice.randint(-50, 50)}y"]), "d": dice.randint(-60, 60),
        }
        for _ in range(60)
    ]  # fmt: skip
    verdicts = [set(oracle.match(event)) for event in events]
    for one in found:
        if one.kind == "never":
            assert not any(one.subscription_id in matched for matched in verdicts)
        elif one.kind == "always":
            assert all(one.subscription_id in matched for matched in verdicts)
        elif one.kind == "duplicate":
            assert all((one.subscription_id in matched) == (one.other in matched) for matched in verdicts)
        elif one.kind == "covered":
            assert all(one.other in matched for matched in verdicts if one.subscription_id in matched)
            assert one.witness is not None
            assert {one.subscription_id, one.other} <= set(oracle.match(one.witness))


def test_a_witness_matches_its_condition() -> None:
    for where in (
        "price < 10", "symbol > 'a' AND symbol < 'b'", "note LIKE '%x%' AND note LIKE 'a%' AND note LIKE '%z'",
        "volume <> 5 AND volume >= 5", "d > 1.5", "ok IS NULL AND price >= 0", "note ILIKE 'A_c'",
    ):  # fmt: skip
        event = witness(lower(parse(where), SCHEMA), SCHEMA)
        assert event is not None
        matcher = rookery.matcher(SCHEMA)
        matcher.add("w", where)
        assert matcher.match(event) == ["w"], (where, event)
    assert witness(lower(parse("price + volume > 3"), SCHEMA), SCHEMA) is None
