"""A machine in the hand of a test: for whatever drives machines, live or in a world."""

from __future__ import annotations

from typing import Any

from rookery.machine import Effect, Write

__all__ = ["Scripted"]


class Scripted:
    """A machine that does what it is told to, and notes what it hears, each with its time in the end."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.todo: list[Effect] = []
        self.alarm: int | None = None

    @property
    def heard_what(self) -> list[tuple[Any, ...]]:
        """What it heard, whenever that was."""
        return [note[:-1] for note in self.heard]

    def receive_many(self, messages: Any, sender: Any, now: int) -> None:
        self.heard += [("message", message, sender, now) for message in messages]

    def undeliverable(self, message: Any, receiver: Any, now: int) -> None:
        self.heard.append(("undeliverable", message, receiver, now))

    def lose(self, node: Any, now: int) -> None:
        self.heard.append(("lost", node, now))

    def completed(self, effect: Effect, result: Any, now: int) -> None:
        self.heard.append(("completed", effect.token if isinstance(effect, Write) else effect, result, now))

    def wake(self, now: int) -> None:
        assert self.alarm is not None
        self.alarm = None
        self.heard.append(("woken", now))

    def timer(self) -> int | None:
        return self.alarm

    def effects(self) -> list[Effect]:
        todo, self.todo = self.todo, []
        return todo
