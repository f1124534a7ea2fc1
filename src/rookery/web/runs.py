"""Recorded runs: read a file from its beginning, or follow it while others append to it.

A file that is to be replayed must be good: a line that is no record raises, with its number. Only the last line may be
cut short, by a producer that died while it wrote. A file that is followed belongs to somebody else: a bad line there is
counted and passed over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rookery.errors import RunError
from rookery.web.records import Record, decode

__all__ = ["LONGEST_LINE", "Extent", "RunTail", "measure", "read_line"]

#: No record is longer; a longer line is not read into memory.
LONGEST_LINE = 8 << 20
#: How often a followed file is looked at, in seconds, and how much of it is read before others get their turn.
PERIOD = 0.1
PORTION = 1 << 20


@dataclass(frozen=True, slots=True)
class Extent:
    """What a file holds: how many records, and when the first and the last of them were."""

    records: int
    first: int
    last: int


def read_line(file: BinaryIO, *, path: Path, number: int) -> Record | None:
    """Read the next record; None at the end, or at a last line that was cut short."""
    line = file.readline(LONGEST_LINE)
    if not line.endswith(b"\n"):
        if len(line) >= LONGEST_LINE:
            raise RunError(f"{path}, line {number}: longer than {LONGEST_LINE} octets")
        return None
    try:
        return decode(line)
    except RunError as error:
        raise RunError(f"{path}, line {number}: {error}") from error


def measure(path: Path) -> Extent:
    """Read a whole file once, so that a fault is found before anything is shown."""
    first = last = count = 0
    with path.open("rb") as file:
        while (record := read_line(file, path=path, number=count + 1)) is not None:
            first = record.at if count == 0 else min(first, record.at)
            last = max(last, record.at)
            count += 1
    if not count:
        raise RunError(f"{path} holds no records: it is empty, or no recorded run")
    return Extent(count, first, last)


class RunTail:
    """Follows a file that grows, from its beginning; waits for one that is not there yet."""

    def __init__(self, path: Path, *, feed: Callable[[Record], None], reject: Callable[[str], None]) -> None:
        self.path = path
        self._feed = feed
        self._reject = reject
        self._offset = 0
        self._rest = b""

    async def run(self) -> None:
        """Follow the file until cancelled."""
        while True:
            if not self.read():
                await asyncio.sleep(PERIOD)
            else:
                await asyncio.sleep(0)

    def read(self) -> bool:
        """Take in what was appended, a portion at most; say whether there may be more."""
        try:
            with self.path.open("rb") as file:
                if file.seek(0, 2) < self._offset:  # replaced by a shorter one: a new run
                    self._offset, self._rest = 0, b""
                file.seek(self._offset)
                portion = file.read(PORTION)
        except FileNotFoundError:
            return False
        self._offset += len(portion)
        *lines, self._rest = (self._rest + portion).split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
            self._reject(f"{self.path}: a line longer than {LONGEST_LINE} octets")
        for line in lines:
            try:
                self._feed(decode(line))
            except RunError as error:
                self._reject(f"{self.path}: {error}")
        return len(portion) == PORTION
