"""The disk of a process: it outlives the process, takes its time, and has the faults that disks have.

The same log runs on it as on a folder (`machine/disk.py`). Faults, none of them unless asked for: it may be full (a
write takes what fits and the next one is refused), take only some bytes at a time, fail to sync, or lose the power with
what was not forced out: each file then has some of the writes since its last sync, the last of them perhaps in part.
A bit may flip.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from random import Random

__all__ = ["SimulatedDisk", "SimulatedFile"]

#: Microseconds that a write with a sync takes, if nothing is said.
WRITE_TIME = 3_000


@dataclass(slots=True)
class _Content:
    """The bytes of a file: as the process sees them, as they are on the disk, and what was done since the last sync."""

    data: bytearray = field(default_factory=bytearray)
    safe: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, bytes | None]] = field(default_factory=list)

    def put(self, offset: int, data: bytes | None) -> None:
        """Write at a place, or cut the file off there."""
        _put(self.data, offset, data)
        self.since.append((offset, data))

    def sync(self) -> None:
        for offset, written in self.since:
            _put(self.safe, offset, written)
        self.since.clear()

    def lose_power(self, random: Random) -> None:
        data = bytearray(self.safe)
        kept = random.randint(0, len(self.since))
        for offset, written in self.since[:kept]:
            _put(data, offset, written)
        if kept < len(self.since) and random.random() < 0.5:  # the next one was on its way: a torn tail
            offset, written = self.since[kept]
            if written is not None:
                _put(data, offset, written[: random.randint(0, len(written))])
        self.data, self.safe, self.since = data, bytearray(data), []


class SimulatedFile:
    """An open file of a simulated disk."""

    def __init__(self, disk: SimulatedDisk, content: _Content) -> None:
        self._disk = disk
        self._content = content

    def size(self) -> int:
        """Return how many bytes there are."""
        return len(self._content.data)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes from a place on; fewer where the file ends."""
        return bytes(self._content.data[offset : offset + length])

    def write(self, data: bytes | memoryview, offset: int) -> int:
        """Write at a place; return how many bytes the disk took."""
        disk = self._disk
        taken = min(len(data), disk.most_at_once)
        if disk.capacity is not None:
            grows = offset + taken - len(self._content.data)
            taken -= max(0, grows - max(0, disk.capacity - disk.used))
            if taken <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
        self._content.put(offset, bytes(data[:taken]))
        return taken

    def truncate(self, size: int) -> None:
        """Cut the file off."""
        self._content.put(size, None)

    def sync(self) -> None:
        """Force what was written to the disk."""
        if self._disk.failing_syncs:
            self._disk.failing_syncs -= 1
            self._content.since.clear()  # the system drops what it could not write, and thinks that it is clean
            raise OSError(errno.EIO, "Input/output error")
        self._content.sync()

    def close(self) -> None:
        """Let go of it."""


class SimulatedDisk:
    """Files by name, in memory."""

    def __init__(self) -> None:
        self._files: dict[str, _Content] = {}
        self._safe_names: dict[str, _Content] = {}
        #: How many bytes fit; None for any number.
        self.capacity: int | None = None
        #: How many bytes one write takes at the most.
        self.most_at_once = 1 << 30
        #: How many of the next syncs fail.
        self.failing_syncs = 0
        #: Microseconds that a write takes.
        self.write_time = WRITE_TIME

    @property
    def used(self) -> int:
        """How many bytes there are."""
        return sum(len(content.data) for content in self._files.values())

    def open(self, name: str) -> SimulatedFile:
        """Open a file, and make it if there is none."""
        if name not in self._files:
            self._files[name] = _Content()
        return SimulatedFile(self, self._files[name])

    def names(self) -> list[str]:
        """Return the names of the files, sorted."""
        return sorted(self._files)

    def rename(self, before: str, after: str) -> None:
        """Give a file another name; one that had it is gone."""
        self._files[after] = self._files.pop(before)

    def remove(self, name: str) -> None:
        """Delete a file, if there is one."""
        self._files.pop(name, None)

    def sync(self) -> None:
        """Force the names to the disk."""
        if self.failing_syncs:
            self.failing_syncs -= 1
            raise OSError(errno.EIO, "Input/output error")
        self._safe_names = dict(self._files)

    def room(self) -> int:
        """Return how many bytes more it would take, as far as it knows."""
        return 1 << 62 if self.capacity is None else max(0, self.capacity - self.used)

    # ---- faults ----------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Let there be no room for another byte."""
        self.capacity = self.used

    def lose_power(self, random: Random) -> None:
        """Keep what was forced out, and some of the rest; names are the old ones or the new ones."""
        if random.random() < 0.5:
            self._files = dict(self._safe_names)
        contents = {id(content): content for content in self._files.values()}
        for content in contents.values():
            content.lose_power(random)
        self._safe_names = dict(self._files)

    def flip(self, name: str, random: Random) -> int:
        """Flip one bit of a file; return the place of its byte."""
        data = self._files[name].data
        place = random.randrange(len(data))
        data[place] ^= 1 << random.randrange(8)
        self._files[name].safe = bytearray(data)
        return place


def _put(data: bytearray, offset: int, written: bytes | None) -> None:
    if written is None:
        del data[offset:]
        data.extend(bytes(max(0, offset - len(data))))
    else:
        if offset > len(data):
            data.extend(bytes(offset - len(data)))
        data[offset : offset + len(written)] = written
