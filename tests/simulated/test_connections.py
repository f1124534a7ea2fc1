"""Connections in the world: in order while they stand, and whoever is left learns that they ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from rookery.machine import Close, Effect, Send
from rookery.simulated.connections import LinkEnd
from rookery.simulated.links import LinkConditions
from rookery.simulated.world import World

SECOND = 1_000_000


class Recorder:
    """A machine that notes what happens to it, and does what it is told."""

    def __init__(self) -> None:
        self.received: list[tuple[Any, Any]] = []
        self.lost: list[Any] = []
        self.wanted: list[Effect] = []

    def receive_many(self, messages: Iterable[Any], sender: Any, now: int) -> None:
        self.received += [(sender, message) for message in messages]

    def undeliverable(self, message: Any, receiver: Any, now: int) -> None:
        raise AssertionError("frames of connections do not come back")

    def lose(self, node: Any, now: int) -> None:
        self.lost.append(node)

    def completed(self, effect: Effect, result: Any, now: int) -> None: ...
    def wake(self, now: int) -> None: ...
    def timer(self) -> int | None:
        return None

    def effects(self) -> list[Effect]:
        wanted, self.wanted = self.wanted, []
        return wanted


class Stage:
    """Two processes and a connection between them."""

    def __init__(self, conditions: LinkConditions | None = None) -> None:
        self.world = World(seed=1, conditions=conditions)
        self.machines = {name: Recorder() for name in "ab"}
        self.processes = {name: self.world.start(name, self.machines[name], lambda _: None) for name in "ab"}
        self.end, self.far = self.world.connections.open("a", "b")

    def do(self, name: str, *effects: Effect) -> None:
        self.machines[name].wanted += effects
        self.world.perform(self.processes[name])

    def messages(self, name: str) -> list[Any]:
        return [message for _, message in self.machines[name].received]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_the_ends_have_names_of_their_own(stage: Stage) -> None:
    other, _ = stage.world.connections.open("a", "b")
    stage.do("a", Send(stage.end, 1), Send(other, 2))
    stage.world.run(SECOND)
    assert stage.machines["b"].received == [(stage.far, 1), (other.far, 2)]
    assert stage.world.connections.between("b", "a") == [stage.far, other.far]


def test_order_is_kept_whatever_is_lost_and_late() -> None:
    stage = Stage(LinkConditions(jitter=50_000, loss=0.3))
    for number in range(200):
        stage.do("a", Send(stage.end, number))
        stage.world.run(1_000)
    stage.world.run(300 * SECOND)
    assert stage.messages("b") == list(range(200))


def test_a_death_is_noticed_and_what_was_on_its_way_is_gone(stage: Stage) -> None:
    stage.do("b", Send(stage.far, 1))
    stage.world.end("b")
    stage.do("a", Send(stage.end, 2))
    stage.world.run(SECOND)
    assert stage.machines["a"].lost == [stage.end]
    assert stage.world.connections.between("a", "b") == []


def test_a_new_process_knows_nothing_of_the_connections_of_the_old_one(stage: Stage) -> None:
    stage.do("a", Send(stage.end, 1))
    stage.world.end("b")
    stage.machines["b"] = Recorder()
    stage.processes["b"] = stage.world.start("b", stage.machines["b"], lambda _: None)
    stage.world.run(SECOND)
    assert stage.messages("b") == []
    assert stage.machines["b"].lost == []
    assert stage.machines["a"].lost == [stage.end]


def test_a_connection_is_closed_behind_what_was_sent(stage: Stage) -> None:
    stage.do("a", Send(stage.end, 1), Close(stage.end, "enough"), Send(stage.end, 2))
    stage.world.run(SECOND)
    assert stage.messages("b") == [1]
    assert stage.machines["b"].lost == [stage.far]
    assert stage.machines["a"].lost == []  # it knows


@pytest.mark.parametrize("both_ways", [True, False])
def test_what_is_sent_into_a_cut_waits_for_it_to_be_mended(stage: Stage, *, both_ways: bool) -> None:
    stage.world.cut("a", "b", both_ways=both_ways)
    stage.do("a", Send(stage.end, 1), Send(stage.end, 2))
    stage.do("b", Send(stage.far, 3))
    stage.world.run(SECOND)
    assert (stage.messages("b"), stage.messages("a")) == ([], [] if both_ways else [3])
    stage.world.mend("a", "b")
    stage.world.run(SECOND)
    assert (stage.messages("b"), stage.messages("a")) == ([1, 2], [3])
    assert stage.machines["a"].lost == []


@pytest.mark.parametrize("both_ways", [True, False])
def test_a_cut_that_lasts_ends_the_connection_for_both(stage: Stage, *, both_ways: bool) -> None:
    stage.world.cut("a", "b", both_ways=both_ways)
    stage.do("a", Send(stage.end, 1))
    stage.world.run(stage.world.links.conditions.silence + SECOND)
    stage.world.mend("a", "b")
    stage.world.run(SECOND)
    assert stage.messages("b") == []
    assert stage.machines["a"].lost == [stage.end]
    assert stage.machines["b"].lost == [stage.far]


@pytest.mark.parametrize("mended", [True, False])
def test_a_death_behind_a_cut_is_noticed_when_something_passes_or_nothing_has_for_long(
    stage: Stage, *, mended: bool
) -> None:
    stage.world.cut("a", "b")
    stage.world.end("b")
    stage.world.run(SECOND)
    assert stage.machines["a"].lost == []
    if mended:
        stage.world.mend("a", "b")
    stage.world.run(stage.world.links.conditions.silence)
    assert stage.machines["a"].lost == [stage.end]


def test_an_end_is_named_by_both(stage: Stage) -> None:
    assert stage.end == LinkEnd("a", "b", stage.end.number)
    assert stage.end.far.far == stage.end
