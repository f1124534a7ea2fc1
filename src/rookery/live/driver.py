"""The driver: one machine of `rookery.machine` on a clock, a transport and a disk, in an asyncio loop.

    driver = Driver(machine, transport=transport, on_event=program)
    driver.receive(messages, sender)          # from the transport: what came in one buffer goes in together
    machine.publish(…); driver.flush()        # a command of the owner, and what it wants done

Rule 1: after every call of the machine its effects are done: `flush`. A flush within a flush (the program answers an
event with a command) is part of it.
Rule 2: what the machine says to one receiver in one flush goes out in one write, in its order. The program hears of
events when all that is out: one that takes its time does not keep others waiting.
Rule 3: a `Compute` runs in a thread of the driver, one at a time; its result comes back through the loop.
Rule 4: there is one timer. Most flushes move it to a later time: it is left as it is, and set anew when it runs out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from rookery.machine import Close, Compute, ComputeFailed, Effect, Emit, Machine, Read, Send, Write

__all__ = ["Driver", "Log", "Transport"]

SECOND = 1_000_000
_LOG = logging.getLogger("rookery.live")


class Transport(Protocol):
    """What carries messages to others; what comes from them it hands to the driver."""

    def send(self, receiver: Any, messages: list[Any]) -> None:
        """Send messages in this order; never block, never raise."""

    def disconnect(self, node: Any, reason: str) -> None:
        """Close the connection to a node, after what was sent to it."""


class Log(Protocol):
    """Where a machine's records are kept."""

    def append(
        self,
        entries: tuple[tuple[int, int, Any], ...],
        done: tuple[tuple[int, int], ...],
        written: Callable[[str | None], None] | None,
    ) -> None:
        """Keep entries, forget what is done with, and say when that is safe, or why it is not."""

    def read(self, keys: tuple[tuple[int, int], ...], then: Callable[[dict[tuple[int, int], Any]], None]) -> None:
        """Read records again; what cannot be read is not among what is found."""


def _no_wake() -> None:
    """Nothing else is due when the machine is woken."""


class Driver:
    """Runs a machine; `close` ends it."""

    def __init__(
        self,
        machine: Machine,
        *,
        transport: Transport,
        on_event: Callable[[Any], None],
        log: Log | None = None,
        on_wake: Callable[[], None] = _no_wake,
        is_held: Callable[[], bool] | None = None,
    ) -> None:
        """`on_wake` is called each time the machine has been woken; while `is_held` it is not."""
        self.machine = machine
        self.transport = transport
        self.log = log
        self.is_closed = False
        self._on_event = on_event
        self._on_wake = on_wake
        self._is_held = is_held
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        #: When the timer runs out; the machine may want to be woken later than that.
        self._armed = 0
        self._is_flushing = self._is_asked_again = False
        self._is_scheduled = False
        #: Where tasks run, from the first one on.
        self._thread: ThreadPoolExecutor | None = None
        #: When the flush of this turn was asked for.
        self._turn = 0

    def now(self) -> int:
        """Return the time of the machine: monotonic microseconds.

        It goes on while the process is stopped or too busy, for the promises of others do (`brokers/leases.py`): that
        one has not listened meanwhile is for the machine to make good.
        """
        return time.monotonic_ns() // 1_000

    # ---- what happens to the machine -------------------------------------------------------------------------------

    def receive(self, messages: Iterable[Any], sender: Any) -> None:
        """Hand over the messages of one buffer."""
        if not self.is_closed:
            self.machine.receive_many(messages, sender, self.now())
            self.flush()

    def undeliverable(self, messages: Iterable[Any], receiver: Any) -> None:
        """Hand back messages whose receiver is gone."""
        if not self.is_closed:
            now = self.now()
            self.machine.lose(receiver, now)
            for message in messages:
                self.machine.undeliverable(message, receiver, now)
            self.flush()

    def lose(self, node: Any) -> None:
        """Say that the connection to a node is gone."""
        if not self.is_closed:
            self.machine.lose(node, self.now())
            self.flush()

    # ---- what the machine wants ------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Do what the machine wants done, and set the timer; to be called after every command of its owner."""
        if self.is_closed:
            return
        if self._is_flushing:
            self._is_asked_again = True
            return
        self._is_scheduled = False
        self._is_flushing = True
        try:
            self._perform(self.machine.effects())
            while self._is_asked_again:
                self._is_asked_again = False
                self._perform(self.machine.effects())
        finally:
            self._is_flushing = self._is_asked_again = False
        if not self.is_closed:
            self._set_timer()

    def flush_soon(self) -> int:
        """Flush in the next turn of the loop, with all that is commanded until then; return the time of this turn.

        The clock is read once a turn: for who commands little and often that is most of what a command costs.
        """
        if not self._is_scheduled:
            self._is_scheduled = True
            self._turn = self.now()
            self._loop.call_soon(self.flush)
        return self._turn

    def close(self) -> None:
        """Do nothing any more."""
        self.is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _perform(self, effects: list[Effect]) -> None:
        transport = self.transport
        waiting: dict[Any, list[Any]] = {}
        events: list[Any] = []
        for effect in effects:
            if type(effect) is Send:
                messages = waiting.get(effect.receiver)
                if messages is None:
                    waiting[effect.receiver] = [effect.message]
                else:
                    messages.append(effect.message)
            elif type(effect) is Emit:
                events.append(effect.event)
            elif type(effect) is Write:
                assert self.log is not None, "a machine that writes needs a log"
                self.log.append(effect.entries, effect.done, self._when_written(effect))
            elif type(effect) is Read:
                assert self.log is not None, "a machine that reads needs a log"
                self.log.read(effect.keys, self._when_read(effect))
            elif type(effect) is Compute:
                self._compute(effect)
            elif type(effect) is Close:
                if effect.node in waiting:
                    transport.send(effect.node, waiting.pop(effect.node))
                transport.disconnect(effect.node, effect.reason)
        for receiver, messages in waiting.items():
            transport.send(receiver, messages)
        for event in events:
            self._on_event(event)

    def _compute(self, effect: Compute) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="compute")

        def computed(future: asyncio.Future[Any]) -> None:
            if self.is_closed or future.cancelled():
                return
            error = future.exception()
            if error is not None:
                _LOG.error("a task failed: %s", error, exc_info=error)
            result = future.result() if error is None else ComputeFailed(f"{type(error).__name__}: {error}")
            self.machine.completed(effect, result, self.now())
            self.flush()

        self._loop.run_in_executor(self._thread, effect.task).add_done_callback(computed)

    def _when_written(self, write: Write) -> Callable[[str | None], None] | None:
        if write.token is None:
            return None

        def written(failure: str | None) -> None:
            if not self.is_closed:
                self.machine.completed(write, failure, self.now())
                self.flush()

        return written

    def _when_read(self, read: Read) -> Callable[[dict[tuple[int, int], Any]], None]:
        def found(values: dict[tuple[int, int], Any]) -> None:
            if not self.is_closed:
                self.machine.completed(read, values, self.now())
                self.flush()

        return found

    def _set_timer(self) -> None:
        when = self.machine.timer()
        if when is not None and (self._timer is None or when < self._armed):
            self._arm(when)

    def _arm(self, when: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed = when
        self._timer = self._loop.call_later(max(0, when - self.now()) / SECOND, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        when, now = self.machine.timer(), self.now()
        if when is None or self.is_closed:
            return
        if when > now:
            self._arm(when)
        elif self._is_held is not None and self._is_held():
            self._arm(now + SECOND // 10)
        else:
            self.machine.wake(now)
            self._on_wake()
            self.flush()
