"""What is appended counts whole or not at all, on a disk in memory with faults; the faults are what they say."""

from __future__ import annotations

import errno
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.machine.disk import AppendFile, put_file, read_file, write_all
from rookery.simulated.disks import SimulatedDisk


def test_what_a_full_disk_took_of_a_write_is_cut_off() -> None:
    disk = SimulatedDisk()
    file = AppendFile(disk.open("file"), 0)
    assert file.append(b"whole", sync=True) == 0
    disk.capacity = 8
    with pytest.raises(OSError, match="No space left"):
        file.append(b"too long", sync=True)
    assert read_file(disk, "file") == b"whole"
    assert file.append(b"yes", sync=False) == 5
    assert (file.end, file.is_suspect, read_file(disk, "file")) == (8, False, b"wholeyes")


def test_what_could_not_be_cut_off_is_so_before_the_next_write() -> None:
    disk = SimulatedDisk()
    file = AppendFile(disk.open("file"), 0)
    cut = file.file.truncate

    def rigid(size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    file.file.truncate = rigid  # type: ignore[method-assign]
    disk.capacity = 3
    with pytest.raises(OSError, match="No space left"):
        file.append(b"refused", sync=False)
    disk.capacity = None
    assert read_file(disk, "file") == b"ref"
    with pytest.raises(OSError, match="Input/output"):
        file.append(b"new", sync=False)
    file.file.truncate = cut  # type: ignore[method-assign]
    file.append(b"n", sync=False)
    assert read_file(disk, "file") == b"n"


def test_a_failed_sync_makes_a_file_suspect_and_what_it_lost_is_lost() -> None:
    disk = SimulatedDisk()
    file = AppendFile(disk.open("file"), 0)
    file.append(b"safe", sync=True)
    disk.sync()
    disk.failing_syncs = 1
    with pytest.raises(OSError, match="Input/output"):
        file.append(b"gone", sync=True)
    assert file.is_suspect
    disk.lose_power(Random(1))
    assert read_file(disk, "file") == b"safe"


def test_who_opens_a_file_cuts_off_what_does_not_count() -> None:
    disk = SimulatedDisk()
    put_file(disk, "file", b"counts, does not")
    file = AppendFile(disk.open("file"), 6)
    file.append(b"!", sync=True)
    assert read_file(disk, "file") == b"counts!"


@given(st.lists(st.tuples(st.binary(max_size=9), st.booleans()), max_size=12), st.integers(0, 1_000))
def test_after_a_power_failure_there_is_a_beginning_with_all_that_was_forced_out(
    writes: list[tuple[bytes, bool]], seed: int
) -> None:
    disk = SimulatedDisk()
    file = AppendFile(disk.open("file"), 0)
    disk.sync()
    safe = 0
    for data, sync in writes:
        file.append(data, sync=sync)
        safe = file.end if sync else safe
    everything = b"".join(data for data, _ in writes)
    disk.lose_power(Random(seed))
    found = read_file(disk, "file") or b""
    assert everything.startswith(found)
    assert len(found) >= safe


@given(st.integers(0, 200), st.integers(0, 40))
def test_a_file_that_is_put_is_the_old_one_or_the_new_one(seed: int, room: int) -> None:
    """Whatever is refused, and then a power failure."""
    disk, random = SimulatedDisk(), Random(seed)
    put_file(disk, "file", b"the old one")
    disk.capacity = room
    disk.most_at_once = random.randint(1, 12)
    try:
        put_file(disk, "file", b"the new one")
        expected = {b"the new one"}
    except OSError:
        expected = {b"the old one"}
    if random.random() < 0.5:
        disk.lose_power(random)
    assert read_file(disk, "file") in expected


def test_a_flipped_bit_is_one_bit() -> None:
    disk = SimulatedDisk()
    put_file(disk, "file", bytes(100))
    place = disk.flip("file", Random(3))
    found = read_file(disk, "file") or b""
    assert sum(byte.bit_count() for byte in found) == 1
    assert found[place]


def test_short_writes_are_continued() -> None:
    disk = SimulatedDisk()
    disk.most_at_once = 3
    file = disk.open("file")
    write_all(file, b"0123456789", 2)
    assert file.read(0, 99) == b"\0\0" + b"0123456789"
    assert file.size() == 12
