"""One list of files of subscriptions through `validate`, `explain`, the library and a broker: the same ids and faults.

What Spark's commands make of the same list is in `tests/spark/test_subscription_files.py`.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.model.subscription_files import EVENT, READABLE, SCHEMA, TIME, TOPIC, UNREADABLE, Case, name_of

import rookery
from rookery import cli
from rookery.brokers.configuration import BrokerDurability
from rookery.cli.subscribe import Wanted, _open
from rookery.errors import RookeryError
from rookery.live.brokers.subscriptions import opening
from rookery.model.tables import read_subscriptions
from rookery.papers.loopback import loopback_brokers
from rookery.space.notation import read_space


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return int(ended.value.code or 0)


@pytest.mark.parametrize("case", READABLE, ids=name_of)
def test_the_library(case: Case, tmp_path: Path) -> None:
    rules = rookery.matcher(rookery.Schema.read(SCHEMA), on_error="quarantine")
    rules.add_many(read_subscriptions(case.write(tmp_path), id_type=case.asked))
    assert tuple(dict.fromkeys(rules.compile().subscriptions["subscription_id"].to_pylist())) == case.good
    assert tuple(rules.match(EVENT, topic=TOPIC, time=TIME)) == case.matches
    case.check_faults([(one.subscription_id, one.message) for one in rules.quarantined])


@pytest.mark.parametrize("case", READABLE, ids=name_of)
def test_validate(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = case.write(tmp_path)
    assert call("validate", str(path), "--schema", SCHEMA, "--json", *case.options) == bool(case.faults)
    document = json.loads(capsys.readouterr().out)
    assert document["good"] + len(document["bad"]) == document["subscriptions"]
    case.check_faults([(one["subscription_id"], one["message"]) for one in document["bad"]])


@pytest.mark.parametrize("case", READABLE, ids=name_of)
def test_explain(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, event = case.write(tmp_path), json.dumps(EVENT)
    asked = ["--schema", SCHEMA, "--event", event, "--topic", TOPIC, "--time", TIME, "--json", *case.options]
    assert call("explain", str(path), *asked) == 0
    shown = capsys.readouterr()
    verdicts = {one["subscription_id"]: one["matched"] for one in json.loads(shown.out)}
    assert tuple(verdicts) == case.good
    assert tuple(one for one, matched in verdicts.items() if matched) == case.matches
    assert (f"{len(case.faults)} bad subscriptions are left out" in shown.err) == bool(case.faults)


@pytest.mark.parametrize("case", UNREADABLE, ids=name_of)
def test_what_cannot_be_read_is_one_error(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = case.write(tmp_path) if case.files or case.tables else tmp_path / case.path
    assert case.error is not None
    with pytest.raises(RookeryError) as raised:
        read_subscriptions(path, id_type=case.asked)
    assert case.error in str(raised.value)
    assert call("validate", str(path), "--schema", SCHEMA) == 1
    assert case.error in capsys.readouterr().err
    assert call("explain", str(path), "--schema", SCHEMA, "--event", "{}") == 1
    assert case.error in capsys.readouterr().err
    assert call("subscribe", "t", "--subscriptions", str(path)) == 1
    assert case.error in capsys.readouterr().err


def test_a_broker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file in turn, at one broker: what `rookery subscribe --subscriptions` opens is what gets the event."""

    async def run() -> None:
        space = read_space("x:0:10", rookery.Schema.read(SCHEMA))
        settings: dict[str, Any] = {"topic": TOPIC, "space": space, "durability": BrokerDurability("memory")}
        async with (
            loopback_brokers(1, **settings) as brokers,
            rookery.open(f"brokers://{brokers[0]}") as publisher,
            rookery.open(f"brokers://{brokers[0]}") as client,
        ):
            for number, case in enumerate(READABLE):
                folder = tmp_path / str(number)
                folder.mkdir()
                table = read_subscriptions(case.write(folder), id_type=case.asked)
                assert client.brokers.schema is not None
                found = opening(table, client.brokers.schema, topic=TOPIC)
                case.check_faults([(one.subscription_id, one.message) for one in found.faults])
                assert set(found.left_out) == set(case.not_at_brokers), case.name
                assert {*found.ids.values(), *found.left_out} == set(case.good), case.name
                wanted = [one for one in case.matches if one not in case.not_at_brokers]
                feed, shown = _open(client, Wanted(TOPIC, "", table, None, None, None, None))
                assert (feed is None) == (not found.ids), case.name
                if feed is None:
                    continue
                async with feed:
                    got: list[Any] = []
                    # Twice: what came of the first event without being wanted would be read before the second's.
                    for turn in (1, 2):
                        publisher.publish(TOPIC, {**EVENT, "s": "a", "x": 1.0})
                        await publisher.flush(seconds=600)
                        while len(got) < turn * len(wanted):
                            got.append(shown(await anext(feed)))
                    assert sorted(str(one["subscription_id"]) for one in got) == sorted(map(str, wanted * 2)), case.name
                    assert {type(one["subscription_id"]) for one in got} == set(map(type, wanted)), case.name
                    assert all(one["event"] == EVENT for one in got)

    asyncio.run(run())
    told = capsys.readouterr().err
    assert "quarantined 'absent': the condition is missing" in told
    assert "not opened 'na': its topic is 'NA'" in told
