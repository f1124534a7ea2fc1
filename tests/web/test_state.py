"""The state against an obvious twin: whatever was drained adds up to the snapshot, and memory is bounded."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import RunError
from rookery.web import records, state
from rookery.web.broadcast import QUEUE, Broadcast
from rookery.web.explaining import Explainer
from rookery.web.records import Record
from rookery.web.replay import Replay
from rookery.web.state import LIMITS, RunState

NAMES = st.sampled_from("abcd")
RECORDS = st.one_of(
    st.builds(records.ParticipantRecord, at=st.integers(0, 99), id=NAMES, gone=st.booleans()),
    st.builds(
        records.EndpointRecord, at=st.just(0), id=NAMES, participant=NAMES, role=NAMES, topic=NAMES, gone=st.booleans()
    ),
    st.builds(
        records.EdgeRecord, at=st.just(0), writer=NAMES, reader=NAMES, source=NAMES, target=NAMES, gone=st.booleans()
    ),
    st.builds(
        records.ZoneRecord, at=st.just(0), id=NAMES, lower=st.just((0.0,)), upper=st.just((1.0,)), gone=st.booleans()
    ),
    st.builds(records.EventRecord, at=st.integers(0, 99), id=NAMES, zone=NAMES),
    st.builds(records.RouteRecord, at=st.just(0), event=NAMES, scheme=NAMES, zones=st.just(("a",))),
    st.builds(records.CarriedRecord, at=st.just(0), events=st.integers(0, 9)),
    st.builds(records.LedgerRecord, at=st.just(0), source=NAMES, published=st.integers(0, 9)),
    st.builds(records.TrafficRecord, at=st.just(0), protocol=NAMES, octets=st.integers(0, 9)),
)
#: A step is a record, or None for a drain.
STEPS = st.lists(st.none() | RECORDS, max_size=60)


def merged(tables: dict[str, dict[str, Any]], delta: dict[str, Any]) -> None:
    """Do what the page does with a message."""
    for name in LIMITS:
        for key, value in delta.get(name, {}).items():
            if value is None:
                tables[name].pop(key, None)
            else:
                tables[name][key] = value


@given(STEPS)
def test_the_changes_add_up_to_the_snapshot(steps: list[Record | None]) -> None:
    run = RunState()
    tables: dict[str, dict[str, Any]] = {name: {} for name in LIMITS}
    for step in steps:
        if step is None:
            merged(tables, run.drain())
        else:
            run.apply(step)
    merged(tables, run.drain())
    snapshot = run.snapshot()
    assert tables == {name: snapshot[name] for name in LIMITS}
    seen = sum(isinstance(step, records.EventRecord) for step in steps)
    carried = [step.events for step in steps if isinstance(step, records.CarriedRecord)]
    assert snapshot["totals"]["events"] == max(seen, *carried[-1:], 0)
    again = run.drain()
    assert set(again) == {"at", "totals"}, "what was told is not told again"


@given(STEPS)
def test_a_thing_is_what_its_last_record_says(steps: list[Record | None]) -> None:
    run = RunState()
    twin: dict[str, records.ParticipantRecord] = {}
    for step in filter(None, steps):
        run.apply(step)
        if isinstance(step, records.ParticipantRecord):
            twin.pop(step.id, None)
            if not step.gone:
                twin[step.id] = step
    assert run.tables["participants"] == twin


@given(STEPS, st.integers(0, 60))
def test_a_copy_goes_its_own_way(steps: list[Record | None], cut: int) -> None:
    given_steps = [step for step in steps if step is not None]
    run = RunState()
    for step in given_steps[:cut]:
        run.apply(step)
    run.drain()
    before = run.snapshot()
    twin = run.copy()
    for step in given_steps[cut:]:
        twin.apply(step)
    twin.drain()
    assert run.snapshot() == before
    whole = RunState()
    for place, step in enumerate(given_steps):
        if place == cut:
            whole.drain()
        whole.apply(step)
    whole.drain()
    assert twin.snapshot() == whole.snapshot()


def test_many_events_become_few_and_those_with_paths_are_among_them() -> None:
    run = RunState()
    for number in range(20_000):
        run.apply(records.EventRecord(at=number, id=str(number), zone=str(number % 7)))
        if number == 12_345:
            run.apply(records.RouteRecord(at=number, event="12345", scheme="greedy", zones=("a", "b")))
    delta = run.drain()
    assert delta["totals"]["events"] == 20_000
    assert sum(delta["heat"].values()) == 20_000
    assert 20 <= len(delta["events"]) <= 81
    assert "12345" in {event.id for event in delta["events"]}
    assert len(run.recent) == state.RECENT
    assert run.event("19999") is not None
    assert run.event("3") is None
    spread = [int(event.id) for event in delta["events"][:-1]]
    assert max(b - a for a, b in itertools.pairwise(spread)) <= 20_000 // 20, "examples are spread over the time"


def test_a_full_table_refuses_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(state.LIMITS, "participants", 3)
    run = RunState()
    for name in "abcdea":
        run.apply(records.ParticipantRecord(at=1, id=name, name="again"))
    assert (len(run.tables["participants"]), run.refused) == (3, 2)


def test_whoever_leaves_takes_its_endpoints_and_pairs_along() -> None:
    run = RunState()
    for name in "ab":
        run.apply(records.ParticipantRecord(at=1, id=name))
        run.apply(records.EndpointRecord(at=1, id=f"{name}1", participant=name, role="writer", topic="t"))
    run.apply(records.EdgeRecord(at=1, writer="a1", reader="b1", source="a", target="b"))
    run.apply(records.ParticipantRecord(at=2, id="b", gone=True))
    assert [set(run.tables[name]) for name in ("participants", "endpoints", "edges")] == [{"a"}, {"a1"}, set()]


def test_a_slow_page_gets_a_snapshot_and_holds_up_nobody() -> None:
    async def test() -> None:
        broadcast = Broadcast(clock=lambda: 5)
        slow, quick = broadcast.messages(), broadcast.messages()
        first = json.loads(await anext(slow))
        assert first["reset"]
        assert json.loads(await anext(quick))["reset"]
        for number in range(QUEUE + 3):
            broadcast.feed(records.ZoneRecord(at=number, id=str(number), lower=(0.0,), upper=(1.0,)))
            broadcast.tick()
            assert list(json.loads(await anext(quick))["zones"]) == [str(number)]
        message = json.loads(await anext(slow))
        assert message["reset"]
        assert len(message["zones"]) >= QUEUE
        await slow.aclose()
        await quick.aclose()
        assert broadcast.pages == 0

    asyncio.run(test())


def test_every_kind_of_record_reaches_the_page_as_it_was_recorded(run_file: Path) -> None:
    """Apply each message as the page does, and compare with the snapshot: nothing is lost or turned into text."""

    async def test() -> None:
        broadcast = Broadcast(clock=lambda: 5)
        page = broadcast.messages()
        shown: dict[str, Any] = json.loads(await anext(page))
        for number, line in enumerate(run_file.read_bytes().splitlines()):
            broadcast.feed(records.decode(line))
            if number % 500 == 499:
                broadcast.tick()
                merge(shown, json.loads(await anext(page)))
        event = next(reversed(broadcast.state.recent))
        broadcast.feed(Explainer().explain(broadcast.state, event))
        broadcast.tick()
        merge(shown, json.loads(await anext(page)))
        await page.aclose()
        whole = json.loads(broadcast.snapshot())
        for name in (*LIMITS, "batches", "notes", "explanations", "routes"):
            assert shown[name] == whole[name], name
            assert whole[name] or name == "islands", name
        assert {one["id"] for one in whole["events"]} <= {one["id"] for one in shown["events"]}

    def merge(shown: dict[str, Any], message: dict[str, Any]) -> None:
        merged(shown, message)
        for name in ("batches", "notes", "explanations", "routes", "events"):
            news = message.get(name, [])
            assert isinstance(news, list)
            shown[name] += news

    asyncio.run(test())


@settings(max_examples=10)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_wherever_a_replay_is_taken_it_shows_what_was_recorded(run_file: Path, places: list[float]) -> None:
    async def test() -> None:
        replay = Replay(run_file)
        replay._spacing = 150  # several keyframes in a small file
        try:
            for place in places:
                position = round(replay.extent.first + place * (replay.extent.last - replay.extent.first))
                await replay.seek(position)
                fresh = RunState()
                for line in run_file.read_bytes().splitlines():
                    record = records.decode(line)
                    if record.at > position:
                        break
                    fresh.apply(record)
                for name in ("participants", "zones", "heat", "ledger", "edges"):
                    assert replay.broadcast.state.tables[name] == fresh.tables[name]
                assert replay.broadcast.state.events == fresh.events
                assert replay.broadcast.state.subscriptions == fresh.subscriptions
        finally:
            replay.close()

    asyncio.run(test())


def test_an_explanation_agrees_with_what_was_matched(run_file: Path) -> None:
    run = RunState()
    for line in run_file.read_bytes().splitlines():
        run.apply(records.decode(line))
    run.drain()
    explainer = Explainer()
    events = list(run.shown.values())[:15]
    assert any(event.matched for event in events)
    for event in events:
        explanation = explainer.explain(run, event.id)
        assert sum(row.matched for row in explanation.rows) == event.matched
        assert explanation.total == 40
        for row in explanation.rows:
            assert row.matched or any(one.decided and one.verdict is not True for one in row.predicates)
    with pytest.raises(RunError, match="not among those that are remembered"):
        explainer.explain(run, "no such event")
    run.schemas.clear()
    run.rules_revision += 1
    with pytest.raises(RunError, match="no schema"):
        explainer.explain(run, list(run.shown)[-1])
