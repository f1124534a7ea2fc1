"""Replay: the records of a file, fed by their own times, at any speed, from any moment.

The position moves with the clock; everything up to it has been fed. Going back means starting from a keyframe, a copy
of the state that was put aside on the way (the records are shared, so a keyframe is small), and feeding forward again.
When there are too many keyframes every second one is dropped and they are taken half as often.
"""

from __future__ import annotations

import asyncio
import bisect
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rookery.errors import RunError
from rookery.web.broadcast import Broadcast
from rookery.web.records import Record
from rookery.web.runs import Extent, measure, read_line
from rookery.web.state import RunState

__all__ = ["FASTEST", "SLOWEST", "Replay"]

SLOWEST, FASTEST = 0.1, 100.0
#: Seconds between two portions of records.
STEP = 0.05
KEYFRAMES = 8
#: Records that are fed before others get their turn.
PORTION = 5_000


@dataclass(frozen=True, slots=True)
class _Keyframe:
    """The state after `number` records, and where in the file that is."""

    position: int
    number: int
    offset: int
    state: RunState


class Replay:
    """Plays one file into a broadcast."""

    def __init__(self, path: Path, *, speed: float = 1.0, loop: bool = False) -> None:
        self.path = path
        self.extent: Extent = measure(path)
        self.position = self.extent.first
        self.playing = True
        self.loop = loop
        self.speed = 1.0
        self.set_speed(speed)
        self.broadcast = Broadcast(clock=lambda: self.position, status=self.status)
        self._file = path.open("rb")
        self._number = 0
        self._waiting: Record | None = None
        self._spacing = max(PORTION, self.extent.records // KEYFRAMES)
        self._keyframes = [_Keyframe(self.extent.first, 0, 0, RunState())]
        self._changing = asyncio.Lock()

    def status(self) -> dict[str, Any]:
        """Return what the page shows of the replay."""
        return {
            "mode": "replay",
            "first": self.extent.first,
            "last": self.extent.last,
            "position": self.position,
            "playing": self.playing,
            "speed": self.speed,
            "file": self.path.name,
        }

    def set_speed(self, speed: float) -> None:
        """Play so many times as fast as it happened."""
        if not SLOWEST <= speed <= FASTEST:
            raise RunError(f"a speed of {speed:g}; give one between {SLOWEST:g} and {FASTEST:g}")
        self.speed = speed

    async def run(self) -> None:
        """Play until cancelled."""
        before = time.monotonic()
        while True:
            await asyncio.sleep(STEP)
            now = time.monotonic()
            if self.playing:
                await self._advance(round((now - before) * self.speed * 1_000_000))
            before = now

    async def seek(self, position: int) -> None:
        """Go to a moment."""
        async with self._changing:
            position = max(self.extent.first, min(position, self.extent.last))
            start = bisect.bisect_right(self._keyframes, position, key=lambda frame: frame.position) - 1
            frame = self._keyframes[max(0, start)]
            state = frame.state.copy()
            self._file.seek(frame.offset)
            self._number, self._waiting = frame.number, None
            await self._feed(position, state)
            self.position = position
            self.broadcast.replace(state)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    async def _advance(self, microseconds: int) -> None:
        async with self._changing:
            target = min(self.position + microseconds, self.extent.last)
            await self._feed(target, None)
            self.position = target
        if self.position >= self.extent.last:
            if self.loop:
                await self.seek(self.extent.first)
            else:
                self.playing = False

    async def _feed(self, until: int, into: RunState | None) -> None:
        """Feed the records up to a moment, into a state of its own or into the one that is shown."""
        fed = 0
        while True:
            record = self._waiting or read_line(self._file, path=self.path, number=self._number + 1)
            self._waiting = record
            if record is None or record.at > until:
                return
            self._waiting = None
            self._number += 1
            if into is None:
                self.broadcast.feed(record)
            else:
                into.apply(record)
            if self._number % self._spacing == 0:
                self._keep_keyframe(record.at, into or self.broadcast.state)
            fed += 1
            if fed % PORTION == 0:
                await asyncio.sleep(0)

    def _keep_keyframe(self, position: int, state: RunState) -> None:
        if self._number <= self._keyframes[-1].number:
            return
        self._keyframes.append(
            _Keyframe(max(position, self._keyframes[-1].position), self._number, self._file.tell(), state.copy())
        )
        if len(self._keyframes) > KEYFRAMES:
            self._keyframes = self._keyframes[::2]
            self._spacing *= 2
