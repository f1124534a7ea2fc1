"""The list of files of subscriptions through `match`, `backtest` and `diff`: the ids and faults that everybody gives.

`validate`, `explain`, the library and a broker read the same list in `tests/cli/test_subscription_files.py`.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.model.subscription_files import CASES, EVENT, READABLE, SCHEMA, TIME, TOPIC, UNREADABLE, Case, name_of

import rookery
from rookery import cli
from rookery.errors import RookeryError
from rookery.spark import Subscriptions

from .conftest import read_pairs

pytestmark = pytest.mark.spark

#: The cases for the commands in CI; --slow runs all of them.
CHOSEN = {
    "a CSV without a condition",
    "ids with zeros in front, as integers",
}
COMMANDS = [
    pytest.param(case, id=name_of(case), marks=() if case.name in CHOSEN else pytest.mark.slow)
    for case in READABLE
    if case.good or not case.faults
]
NOTHING_GOOD = [case for case in READABLE if case.faults and not case.good]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    moment = pa.array([datetime.fromisoformat(TIME)], pa.timestamp("us", tz="UTC"))
    columns = {name: [value] for name, value in EVENT.items()}
    pq.write_table(pa.table({"event_id": [1], **columns, "ts": moment, "blob": [b"no condition"]}), path)
    return path


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--time", "ts", "--topic", TOPIC, "--json"])
    shown = capsys.readouterr()
    assert not ended.value.code, shown.err
    document: dict[str, Any] = json.loads(shown.out)
    return document


def faults(quarantined: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    return [(one["subscription_id"], one["reason"]) for one in quarantined]


@pytest.mark.parametrize("case", READABLE, ids=name_of)
def test_what_spark_compiles(case: Case, tmp_path: Path) -> None:
    """What all three commands carry to the workers: the set itself, and what was set aside."""
    rules = Subscriptions.files(case.write(tmp_path), id_type=case.asked).compiled(rookery.Schema.read(SCHEMA))
    assert tuple(dict.fromkeys(rules.compiled.subscriptions["subscription_id"].to_pylist())) == case.good
    assert tuple(rules.compiled.match(EVENT, topic=TOPIC, time=TIME)) == case.matches
    assert rules.id_type == (pa.int64() if case.id_type == "int" else pa.string())
    case.check_faults([(one.subscription_id, one.message) for one in rules.quarantined])


@pytest.mark.parametrize("case", UNREADABLE, ids=name_of)
def test_what_cannot_be_read_is_one_error(case: Case, tmp_path: Path) -> None:
    path = case.write(tmp_path) if case.files or case.tables else tmp_path / case.path
    assert case.error is not None
    with pytest.raises(RookeryError) as raised:
        Subscriptions.files(path, id_type=case.asked).records()
    assert case.error in str(raised.value)


@pytest.mark.parametrize("case", COMMANDS)
def test_the_commands(
    case: Case, classic: Any, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(case.write(tmp_path))
    matched = call(
        capsys, "match", "-s", path, "-e", str(events), "-o", str(tmp_path / "out"), *case.options
    )  # fmt: skip
    assert {one[0] for one in matched["top"]} == set(case.matches)
    assert matched["matches"] == len(case.matches)
    case.check_faults(faults(matched["quarantined"]))

    tested = call(capsys, "backtest", "-s", path, "-e", str(events), "--top", "100", *case.options)
    counted = [one["subscription_id"] for one in tested["counts"]]
    assert set(counted) == set(case.matches)
    assert {*counted, *tested["silent"]} == set(case.good)
    case.check_faults(faults(tested["quarantined"]))

    before = tmp_path / "before.csv"
    before.write_text("subscription_id,where\n")
    asked = ["--id-type", case.id_type or "string"]
    changed = call(capsys, "diff", str(before), path, "-e", str(events), "--top", "100", *asked)
    assert {one["subscription_id"] for one in changed["subscriptions"]} == set(case.matches)
    assert changed["added"] == len(case.matches)
    case.check_faults(faults(changed["quarantined"]["new"]))


@pytest.mark.parametrize("case", NOTHING_GOOD, ids=name_of)
def test_the_commands_refuse_rules_of_which_none_is_good(
    case: Case, classic: Any, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, found = str(case.write(tmp_path)), ["-e", str(events), "--time", "ts", "--topic", TOPIC]
    for arguments in (["match", "-s", path, "-o", str(tmp_path / "out")], ["backtest", "-s", path]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments, *found, *case.options])
        assert ended.value.code == 1
        assert "rules compiles, so nothing could match" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_one_notation_of_a_schema(classic: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text that `validate` takes, unsigned integers and decimals included, names the columns of a CSV of events."""
    (tmp_path / "events.csv").write_text("id,u,d,s\n1,18446744073709551615,0.10,a\n2,1,0.11,007\n")
    rules = tmp_path / "rules.csv"
    rules.write_text("subscription_id,where\nu,u = 18446744073709551615\nd,d = 0.1\ns,s = '007'\n")
    schema = ["--schema", "id:int64,u:uint64,d:decimal(10,2),s:string"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["validate", str(rules), *schema])
    assert not ended.value.code
    out = tmp_path / "out"
    asked = ["match", "-s", str(rules), "-e", str(tmp_path / "events.csv"), "-o", str(out), "--event-id", "id", *schema]
    with pytest.raises(SystemExit) as ended:
        cli.main(asked)
    assert not ended.value.code, capsys.readouterr().err
    assert read_pairs(out) == [(1, "d", 1), (1, "u", 1), (2, "s", 1)]


def test_the_chosen_cases_are_there() -> None:
    assert {case.name for case in CASES} > CHOSEN
