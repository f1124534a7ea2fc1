"""The driver does what a machine wants done, in order, in one write for each receiver, and wakes it in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.machine.scripted import Scripted

from rookery.live.driver import Driver
from rookery.machine import Close, Compute, ComputeFailed, Emit, Send, Write


class Ends:
    """Notes what the driver does: sends, closed connections, events, records."""

    def __init__(self) -> None:
        self.did: list[tuple[Any, ...]] = []
        self.written: list[Callable[[str | None], None] | None] = []
        self.on_event: Callable[[Any], None] = lambda event: self.did.append(("event", event))

    def send(self, receiver: Any, messages: list[Any]) -> None:
        self.did.append(("send", receiver, messages))

    def disconnect(self, node: Any, reason: str) -> None:
        self.did.append(("disconnect", node, reason))

    def append(self, entries: Any, done: Any, written: Callable[[str | None], None] | None) -> None:
        self.did.append(("append", entries, done))
        self.written.append(written)

    def driver(self, machine: Scripted, **options: Any) -> Driver:
        return Driver(machine, transport=self, on_event=lambda event: self.on_event(event), log=self, **options)


def run(proof: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(proof())


def test_effects_are_done_in_order_and_a_receiver_gets_one_write() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        machine.todo = [
            Send(1, "a"),
            Emit("x"),
            Send(2, "b"),
            Send(1, "c"),
            Send(3, "d"),
            Close(3, "over"),
            Send(3, "e"),
        ]
        driver.flush()
        assert ends.did == [
            ("send", 3, ["d"]),
            ("disconnect", 3, "over"),
            ("send", 1, ["a", "c"]),
            ("send", 2, ["b"]),
            ("send", 3, ["e"]),
            ("event", "x"),
        ]

    run(proof)


def test_what_happens_goes_into_the_machine_and_its_answers_out() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        machine.todo = [Send(1, "answer")]
        driver.receive(["a", "b"], 1)
        driver.undeliverable(["c"], 2)
        driver.lose(3)
        assert machine.heard_what == [
            ("message", "a", 1),
            ("message", "b", 1),
            ("lost", 2),
            ("undeliverable", "c", 2),
            ("lost", 3),
        ]
        assert ends.did == [("send", 1, ["answer"])]

    run(proof)


def test_a_command_given_in_answer_to_an_event_comes_after_what_was_said_before() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)

        def answer(event: Any) -> None:
            machine.todo.append(Send(1, "second"))
            driver.flush()

        ends.on_event = answer
        machine.todo = [Emit("x"), Send(1, "first")]
        driver.flush()
        assert ends.did == [("send", 1, ["first"]), ("send", 1, ["second"])]

    run(proof)


def test_a_write_is_completed_when_the_log_says_so_and_one_that_nobody_waits_for_is_not() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        machine.todo = [Write(7, ((1, 2, "kept"),), ()), Write(None, (), ((1, 2),))]
        driver.flush()
        assert ends.did == [("append", ((1, 2, "kept"),), ()), ("append", (), ((1, 2),))]
        assert machine.heard == []
        first, second = ends.written
        assert first is not None
        assert second is None
        machine.todo = [Send(1, "accepted")]
        first("the disk is full")
        assert machine.heard_what == [("completed", 7, "the disk is full")]
        assert ends.did[-1] == ("send", 1, ["accepted"])
        driver.close()
        first(None)
        assert len(machine.heard) == 1

    run(proof)


def test_a_task_runs_beside_the_loop_and_its_result_comes_back() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        go_on, threads = threading.Event(), []

        def task() -> str:
            threads.append(threading.current_thread())
            assert go_on.wait(timeout=600)
            return "found"

        compute = Compute(task)
        machine.todo = [compute, Send(1, "a")]
        machine.alarm = driver.now() + 10_000
        driver.flush()
        assert ends.did == [("send", 1, ["a"])]
        while not machine.heard:  # it is woken while the task waits
            await asyncio.sleep(0.001)
        assert [note[0] for note in machine.heard] == ["woken"]
        driver.receive(["b"], 2)
        assert machine.heard_what[1:] == [("message", "b", 2)]
        go_on.set()
        machine.todo = [Send(1, "c")]
        while len(machine.heard) < 3:
            await asyncio.sleep(0.001)
        assert machine.heard_what[2:] == [("completed", compute, "found")]
        assert ends.did[1:] == [("send", 1, ["c"])]
        assert threads != [threading.current_thread()]
        driver.close()

    run(proof)


def test_tasks_are_done_in_their_order_and_one_that_raises_has_failed(caplog: pytest.LogCaptureFixture) -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        wrong, right = Compute(lambda: [][1]), Compute(lambda: 2)
        machine.todo = [wrong, right]
        driver.flush()
        while len(machine.heard) < 2:
            await asyncio.sleep(0.001)
        failed = ComputeFailed("IndexError: list index out of range")
        assert machine.heard_what == [("completed", wrong, failed), ("completed", right, 2)]
        driver.close()

    run(proof)
    assert "IndexError" in caplog.text


def test_the_result_of_a_task_is_not_for_a_closed_driver() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        begun, go_on, over, second = (threading.Event() for _ in range(4))

        def task() -> None:
            begun.set()
            assert go_on.wait(timeout=600)
            over.set()

        machine.todo = [Compute(task), Compute(second.set)]
        driver.flush()
        assert await asyncio.to_thread(begun.wait, 600)
        driver.close()
        go_on.set()
        assert await asyncio.to_thread(over.wait, 600)
        for _ in range(10):
            await asyncio.sleep(0)
        assert machine.heard == []
        assert driver._thread is not None
        await asyncio.to_thread(driver._thread.shutdown)
        assert not second.is_set()  # what had not begun never does

    run(proof)


def test_commands_of_one_turn_are_flushed_together() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        for message in ("a", "b"):
            machine.todo.append(Send(1, message))
            driver.flush_soon()
        assert ends.did == []
        await asyncio.sleep(0)
        assert ends.did == [("send", 1, ["a", "b"])]
        machine.todo.append(Send(1, "c"))
        driver.flush_soon()
        await asyncio.sleep(0)
        assert ends.did[1:] == [("send", 1, ["c"])]

    run(proof)


def test_commands_of_one_turn_have_one_time_and_those_of_the_next_a_later_one() -> None:
    async def proof() -> None:
        driver = Ends().driver(Scripted())
        before = driver.now()
        first = driver.flush_soon()
        while driver.now() <= first:
            pass
        assert before <= first == driver.flush_soon()
        await asyncio.sleep(0)
        assert driver.flush_soon() > first

    run(proof)


@pytest.mark.parametrize("moves", [[20_000], [20_000, 60_000], [60_000, 10_000]])
def test_the_machine_is_woken_once_and_not_before_its_last_word(moves: list[int]) -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine, on_wake=lambda: ends.did.append(("woken",)))
        begin = driver.now()
        for delay in moves:
            machine.alarm = begin + delay
            driver.flush()
        while not machine.heard:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.1)
        ((what, when),) = machine.heard
        assert what == "woken"
        assert when >= begin + moves[-1]
        assert ends.did == [("woken",)]

    run(proof)


def test_no_wake_is_lost_when_the_timer_is_taken_back_and_set_again() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        machine.alarm = driver.now() + 10_000
        driver.flush()
        machine.alarm = None
        driver.flush()
        await asyncio.sleep(0.05)
        assert machine.heard == []
        machine.alarm = driver.now() + 10_000
        driver.flush()
        while not machine.heard:
            await asyncio.sleep(0.001)

    run(proof)


def test_the_time_goes_on_while_the_process_is_held_up() -> None:
    """Others count on it: what they have promised ends by their clocks, whether this process ran or not."""

    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        before, began = driver.now(), asyncio.get_running_loop().time()
        machine.alarm = before + 1_000
        driver.flush()
        while asyncio.get_running_loop().time() < began + 0.2:  # holds up the loop
            pass
        while not machine.heard:
            await asyncio.sleep(0.001)
        assert machine.heard[0][1] - (before + 1_000) >= 150_000
        assert driver.now() - before >= 200_000

    run(proof)


def test_a_machine_that_is_held_is_woken_later() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        held = True
        driver = ends.driver(machine, is_held=lambda: held)
        machine.alarm = driver.now() + 1_000
        driver.flush()
        await asyncio.sleep(0.05)
        assert machine.heard == []
        held = False
        while not machine.heard:
            await asyncio.sleep(0.01)

    run(proof)


def test_a_closed_driver_does_nothing() -> None:
    async def proof() -> None:
        machine, ends = Scripted(), Ends()
        driver = ends.driver(machine)
        machine.alarm = driver.now() + 1_000
        driver.flush()
        driver.close()
        machine.todo = [Send(1, "a")]
        driver.flush()
        driver.receive(["b"], 1)
        driver.lose(1)
        driver.undeliverable(["c"], 1)
        await asyncio.sleep(0.02)
        assert machine.heard == []
        assert ends.did == []

    run(proof)
