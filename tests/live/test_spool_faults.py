"""A spool on a disk in memory, with the faults of disks: what counted is there after a power failure, and only that."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import SpoolError
from rookery.live.spool.folder import MARK_FILE, Spool
from rookery.live.spool.writer import SpoolWriter
from rookery.machine.disk import read_file
from rookery.simulated.disks import SimulatedDisk

from .test_spool import QUOTES, group

STEPS = st.lists(
    st.one_of(st.integers(1, 30), st.sampled_from(["full", "room", "sync fails", "short", "power", "reopen"])),
    max_size=20,
)


def counted(disk: SimulatedDisk, folder: Path) -> list[int]:
    """Read the spool with the reader that everybody uses: from a folder, into which the disk is copied."""
    for name in disk.names():
        (folder / name).write_bytes(read_file(disk, name) or b"")
    spool = Spool(folder)
    return [row["_sequence"] for batch in spool.read(spool.first, spool.end) for row in batch.to_pylist()]


@settings(max_examples=150)
@given(STEPS, st.integers(0, 1 << 32))
def test_what_counted_is_there_whatever_the_disk_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int | str], seed: int
) -> None:
    disk, random = SimulatedDisk(), Random(seed)
    writer = SpoolWriter("spool", QUOTES, segment_bytes=3_000, disk=disk, clock=lambda: 0)
    count = 0
    for step in steps:
        match step:
            case int():
                try:
                    assert writer.append(group(count, step), {"w": count + step - 1}) == range(count, count + step)
                    count += step
                except SpoolError:
                    pass  # refused, and it must not be there
            case "full":
                disk.fill()
            case "room":
                disk.capacity = None
            case "short":
                disk.most_at_once = random.randint(1, 200)
            case "sync fails":
                disk.failing_syncs = 1
            case _:
                disk.capacity, disk.failing_syncs = None, 0
                if step == "power":
                    disk.lose_power(random)
                writer.close()
                writer = SpoolWriter("spool", QUOTES, segment_bytes=3_000, disk=disk, clock=lambda: 0)
                # A group whose mark reached the disk and whose sync did not say so may count; nobody was told.
                assert writer.end >= count
                assert not count or writer.writers["w"] >= count - 1
                count = writer.end
    writer.close()
    disk.capacity, disk.failing_syncs = None, 0
    SpoolWriter("spool", QUOTES, disk=disk, clock=lambda: 0).close()
    assert counted(disk, tmp_path_factory.mktemp("spool"))[:count] == list(range(count))


def test_a_spool_whose_counted_bytes_are_gone_says_so() -> None:
    disk = SimulatedDisk()
    with SpoolWriter("spool", QUOTES, disk=disk) as writer:
        writer.append(group(0, 5), {"w": 4})
    (segment,) = (name for name in disk.names() if name.endswith(".frames"))
    disk.open(segment).truncate(10)
    with pytest.raises(SpoolError, match="has lost bytes that were counted"):
        SpoolWriter("spool", QUOTES, disk=disk)
    disk.open(MARK_FILE).truncate(3)
    with pytest.raises(SpoolError, match="neither of its slots is whole"):
        SpoolWriter("spool", QUOTES, disk=disk)
