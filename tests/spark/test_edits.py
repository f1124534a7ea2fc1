"""Edits of a set of rules: however a set came to be what it is, it matches as its records compiled anew do."""

from __future__ import annotations

import json
import random
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import SubscriptionError
from rookery.model.tables import read_subscriptions
from rookery.spark import live_rules, states, versions
from rookery.spark.edits import EditFolder, changed, edited, write_edits
from rookery.spark.live_rules import LiveRules
from rookery.spark.rules import Reading, compile_rules, schema_of
from rookery.spark.states import apply_edit
from rookery.spark.subscriptions import FileRules
from rookery.spark.versions import SetVersion, VersionLog

EVENTS = pa.schema([("event_id", pa.int64()), ("device", pa.string()), ("x", pa.float64()), ("topic", pa.string())])
BATCH = pa.table(
    {
        "event_id": list(range(300)),
        "device": [f"d{number % 7}" for number in range(300)],
        "x": [float(number % 31) for number in range(300)],
        "topic": ["t"] * 300,
    },
    schema=EVENTS,
)


def condition(dice: random.Random) -> str:
    return dice.choice(
        [
            f"x > {dice.randrange(31)}",
            f"device = 'd{dice.randrange(9)}' AND x < {dice.randrange(31)}",
            f"device LIKE 'd{dice.randrange(9)}%'",
            f"device IN ('d{dice.randrange(9)}', 'e') OR x = {dice.randrange(31)}",
            f"y > {dice.randrange(3)}",  # quarantined
        ]
    )


def row(name: Any, dice: random.Random, version: int = 1) -> dict[str, Any]:
    return {"subscription_id": name, "where": condition(dice), "version": version, "team": dice.choice(["a", None])}


def found(compiled: Any) -> list[tuple[Any, ...]]:
    table = compiled.match_many(BATCH)
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    names = sorted(table.column_names)
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=repr)


@pytest.mark.parametrize("seed", range(20))
def test_a_difference_is_what_makes_one_table_of_the_other(seed: int) -> None:
    dice = random.Random(seed)
    kind = (lambda number: number) if seed % 2 else (lambda number: f"r{number}")
    before = [row(kind(dice.randrange(200)), dice, version) for version in range(1, 4) for _ in range(60)]
    after = [one for one in before if dice.random() > 0.1]
    after = [row(one["subscription_id"], dice, one["version"]) if dice.random() < 0.1 else one for one in after]
    for _ in range(8):
        after.insert(dice.randrange(len(after)), row(kind(dice.randrange(220)), dice, dice.randrange(4, 6)))
    old, new = (
        read_subscriptions(pa.Table.from_pylist(one, pa.schema([*pa.table(read_subscriptions(before)).schema])))
        for one in (before, after)
    )
    edit = changed(old, new)
    assert edit is not None
    assert rows_of(edited(old, edit)) == rows_of(new)
    kept = set(old["subscription_id"].to_pylist()) - set(edit.touched.to_pylist())
    untouched = [one for one in before if one["subscription_id"] in kept]
    assert untouched == [one for one in after if one["subscription_id"] in kept]


def test_a_difference_of_parameters_and_faults_and_none_of_other_columns() -> None:
    rows = [
        {"subscription_id": "a", "where": "x > %0", "parameters": ["1"]},
        {"subscription_id": "b", "where": "x > %0", "parameters": ["2"]},
        {"subscription_id": "c", "where": None, "parameters": None},
    ]
    before = read_subscriptions(rows)
    same = changed(before, read_subscriptions(rows))
    assert same is not None
    assert len(same.touched) == 0
    edit = changed(before, read_subscriptions([rows[0], {**rows[1], "parameters": ["3"]}, rows[2]]))
    assert edit is not None
    assert edit.touched.to_pylist() == ["b"]
    assert changed(before, read_subscriptions([{**rows[0], "team": "x"}, *rows[1:]])) is None
    moved = changed(before, read_subscriptions([*rows[1:], {**rows[0], "where": "x > 9"}]))
    assert moved is not None
    assert moved.touched.to_pylist() == ["a"]


class Ground:
    """Rules in a file with a folder of edits, and the log of a stream over them."""

    def __init__(self, folder: Path) -> None:
        self.file, self.edits = folder / "rules.parquet", folder / "edits"
        self.log = VersionLog(str(folder / "checkpoint"))
        self.log.open({})
        self.source = FileRules([self.file], edits=self.edits)
        self.live = LiveRules(self.log, Reading(), EVENTS, self.source)

    def rewrite(self, records: list[dict[str, Any]]) -> None:
        fresh = self.file.with_name(".new")
        pq.write_table(pa.Table.from_pylist(records), fresh)
        fresh.replace(self.file)

    def truth(self) -> list[tuple[Any, ...]]:
        return found(compile_rules(self.source.read(), schema_of(EVENTS)).compiled)

    def check(self, version: SetVersion) -> list[tuple[Any, ...]]:
        pairs = found(self.log.carrier(version).load())
        whole = compile_rules(self.log.records(version), schema_of(EVENTS))
        assert pairs == found(whole.compiled)
        assert version.rules == len(whole.compiled)
        assert {bad["subscription_id"] for bad in version.quarantined} == {
            one.subscription_id for one in whole.quarantined
        }
        return pairs


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setattr(states, "STATES", states.SetStates())
    monkeypatch.setattr(versions, "STATES", states.STATES)
    return Ground(tmp_path)


@pytest.mark.parametrize("seed", range(4))
def test_every_set_of_a_log_matches_as_its_records_do_whatever_was_merged_forgotten_or_restarted(
    ground: Ground, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(seed)
    monkeypatch.setattr(versions, "MANY_EDITS", 3)
    ground.rewrite([row(f"r{number}", dice) for number in range(100)])
    head = ground.live.look(ground.source, None)
    answers = {head.number: ground.check(head)}
    whole = 0
    for step in range(24):
        names = dice.sample(range(110), 3)
        write_edits(str(ground.edits), [row(f"r{name}", dice) for name in names], removed=[f"r{dice.randrange(110)}x"])
        if dice.random() < 0.5:
            write_edits(str(ground.edits), removed=[f"r{names[0]}"])
        if step == 12:
            ground.rewrite([row(f"r{number}", dice) for number in range(90)])
        head = ground.live.look(ground.source, head)
        assert head.number == step + 2
        whole += not head.edits
        answers[head.number] = ground.check(head)
        assert answers[head.number] == ground.truth()
        if ground.log.is_long(head):
            ground.log.merge(head)
            assert found(ground.log.carrier(head).load()) == answers[head.number]
        if dice.random() < 0.3:  # another process, which has nothing yet
            states.STATES.states.clear()
        if dice.random() < 0.3:  # a replay, under a set of before
            number = dice.choice(list(answers))
            assert found(ground.log.carrier(ground.log.read(number)).load()) == answers[number]
    assert whole == 1  # where the file itself was written anew, with edits behind it
    assert len(ground.log._numbers("merged")) >= 3
    ground.log.bind(0, head.number - 5, ground.live.reading.now)
    made = len(list((ground.log.folder / "made").iterdir()))  # type: ignore[union-attr]
    ground.log.forget(before=0)
    assert len(list((ground.log.folder / "made").iterdir())) < made  # type: ignore[union-attr]
    states.STATES.states.clear()
    for number in (head.number - 5, head.number):
        assert found(ground.log.carrier(ground.log.read(number)).load()) == answers[number]
    write_edits(str(ground.edits), removed=["r1"])
    assert ground.check(ground.live.look(ground.source, head)) == ground.truth()


def test_a_process_that_holds_a_set_takes_the_next_edit_alone_and_goes_on_past_a_merge(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought: list[int] = []

    def counted(state: Any, touched: Any, records: Any) -> None:
        brought.append(len(touched))
        apply_edit(state, touched, records)

    monkeypatch.setattr(states, "apply_edit", counted)
    ground.rewrite([{"subscription_id": f"r{number}", "where": "x > 1"} for number in range(20)])
    head = ground.live.look(ground.source, None)
    for number in range(6):
        write_edits(str(ground.edits), [{"subscription_id": f"r{number}", "where": "x > 5"}])
        head = ground.live.look(ground.source, head)
        if number == 3:
            ground.log.merge(head)
        ground.log.carrier(head).load()
    assert brought == []  # who published an edit has it
    assert len(head.edits) == 2  # behind the merged set
    states.STATES.states.clear()
    ground.log.carrier(head).load()
    assert brought == [1, 1]
    second = ground.log.read(head.number)
    write_edits(str(ground.edits), [{"subscription_id": "r9", "where": "x > 5"}])
    mine, states.STATES.states = states.STATES.states, OrderedDict()  # another process publishes
    third = ground.live.look(ground.source, second)
    states.STATES.states = mine
    brought.clear()
    ground.log.carrier(third).load()
    assert brought == [1]


def test_an_edit_of_many_rules_is_told_by_comparing_them(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(1)
    monkeypatch.setattr(live_rules, "EDITED_FROM", 50)
    rows = [row(f"r{number}", dice) for number in range(100)]
    ground.rewrite(rows)
    source = FileRules([ground.file])
    head = ground.live.look(source, None)
    rows[7] = {**rows[7], "where": "x >= 3"}
    ground.rewrite([*rows, row("new", dice)])
    head = ground.live.look(source, head)
    assert len(head.edits) == 1
    assert ground.log.edit(head.edits[0][1])[0].to_pylist() == ["new", "r7"]
    assert ground.check(head) == ground.truth()
    ground.rewrite([{**one, "where": "x >= 3"} for one in rows])  # all of them: compiled whole
    head = ground.live.look(source, head)
    assert not head.edits
    assert ground.check(head) == ground.truth()


def test_other_events_ask_for_a_set_that_is_compiled_whole(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.rewrite([{"subscription_id": "a", "where": "x > 1"}, {"subscription_id": "b", "where": "y > 1"}])
    head = ground.live.look(ground.source, None)
    assert [bad["subscription_id"] for bad in head.quarantined] == ["b"]
    wider = LiveRules(ground.log, Reading(), EVENTS.append(pa.field("y", pa.int64())), ground.source)
    write_edits(str(ground.edits), [{"subscription_id": "c", "where": "x > 2"}])
    head = wider.look(ground.source, head)
    assert not head.edits
    assert (head.rules, head.quarantined) == (3, ())


def test_an_edit_that_loses_against_another_process_is_made_again(ground: Ground) -> None:
    ground.rewrite([{"subscription_id": "a", "where": "x > 1"}])
    head = ground.live.look(ground.source, None)
    write_edits(str(ground.edits), [{"subscription_id": "b", "where": "x > 2"}])
    second = ground.live.look(ground.source, head)
    assert ground.live.look(ground.source, head) == second  # one that looked with what was the head before
    write_edits(str(ground.edits), [{"subscription_id": "c", "where": "x > 3"}])
    third = ground.live.look(ground.source, head)
    assert (third.number, third.rules) == (3, 3)
    assert ground.check(third) == ground.truth()


def test_files_of_edits(tmp_path: Path) -> None:
    place = tmp_path / "edits"
    assert write_edits(str(place), [{"subscription_id": "a", "where": "x > 1"}]) == "000000000001.parquet"
    assert write_edits(str(place), removed=["a", "b"]) == "000000000002.parquet"
    (place / "000000000003.jsonl").write_text(
        json.dumps({"subscription_id": "b", "where": "x > 3"}) + "\n" + json.dumps({"subscription_id": "c"}) + "\n"
    )
    (place / "000000000004.csv").write_text("subscription_id,removed\nb,false\nd,true\n")
    (place / ".5.csv").write_text("half")
    folder = EditFolder(str(place))
    names = folder.names()
    assert len(names) == 4
    edit = folder.read(names[:3], pa.string())
    assert sorted(edit.touched.to_pylist()) == ["a", "b", "c"]
    assert edit.records["where"].to_pylist() == ["x > 3", None]
    edit = folder.read(names, pa.string())
    assert sorted(edit.touched.to_pylist()) == ["a", "b", "c", "d"]
    bad = compile_rules(edit.records, schema_of(EVENTS))
    assert [one.subscription_id for one in bad.quarantined] == ["c", "b"]  # no condition, and not removed
    (place / "000000000005.csv").write_text("subscription_id,where,removed\n1,x > 1,maybe\n")
    with pytest.raises(SubscriptionError, match=r"000000000005\.csv: removed is true or false, not 'maybe'"):
        folder.read(folder.names(), pa.string())
    (place / "last").write_text("")
    with pytest.raises(SubscriptionError, match="would not be behind it"):
        write_edits(str(place), removed=["a"])
    with pytest.raises(SubscriptionError, match="does neither"):
        write_edits(str(place))


def test_the_only_writer_knows_the_last_edit_and_another_is_not_written_over(tmp_path: Path) -> None:
    name = write_edits(str(tmp_path), removed=["a"])
    following = write_edits(str(tmp_path), removed=["b"], after=name)
    assert following == "000000000002.parquet"
    assert write_edits(str(tmp_path), removed=["c"], after=name) == "000000000003.parquet"  # somebody took the place
    edit = EditFolder(str(tmp_path)).read(EditFolder(str(tmp_path)).names(), pa.string())
    assert sorted(edit.touched.to_pylist()) == ["a", "b", "c"]


def test_ids_of_edits_are_of_the_type_of_the_rules(ground: Ground) -> None:
    ground.rewrite([{"subscription_id": 1, "where": "x > 1"}, {"subscription_id": 2, "where": "x > 2"}])
    head = ground.live.look(ground.source, None)
    ground.edits.mkdir()
    (ground.edits / "1.jsonl").write_text('{"subscription_id": 1, "where": "x > 20"}\n')
    (ground.edits / "2.csv").write_text("subscription_id,removed\n2,true\n")
    head = ground.live.look(ground.source, head)
    assert (len(head.edits), head.rules) == (1, 1)
    assert ground.check(head) == ground.truth() == [(one, 1, 1) for one in range(300) if one % 31 > 20]
