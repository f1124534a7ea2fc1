"""A log holds what it promised, through refusals, failed syncs, moves and power failures; the oracle is a dict.

`tests/live/brokers/test_log_faults.py` asks the same of a real folder, at every byte and every call of the system.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import LogError
from rookery.machine.disk import put_file
from rookery.machine.log import Key, RecordLog
from rookery.simulated.disks import SimulatedDisk


def open_log(disk: SimulatedDisk, compact_from: int = 1 << 20) -> RecordLog[str]:
    return RecordLog(disk, encode=str.encode, decode=lambda data: bytes(data).decode(), compact_from=compact_from)


def write(log: RecordLog[str], kept: dict[Key, str], done: tuple[Key, ...] = (), *, sync: bool = True) -> None:
    log.append([log.group([(owner, part, value) for (owner, part), value in kept.items()], done)], sync=sync)


def found(log: RecordLog[str]) -> dict[Key, str]:
    return {(owner, part): value for owner, part, value in log.entries()}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "done", "full", "room", "sync fails", "short", "power", "reopen"]),
        st.integers(0, 5),
    ),
    max_size=30,
)


@settings(max_examples=500)
@given(STEPS, st.integers(0, 1_000), st.sampled_from([0, 60, 200, 1 << 20]))
def test_a_log_holds_what_it_promised(steps: list[tuple[str, int]], seed: int, compact_from: int) -> None:
    """Promised: written with a sync. What was refused is not there; what is done with may come back after a failure."""
    disk, random = SimulatedDisk(), Random(seed)
    log = open_log(disk, compact_from)
    kept: dict[Key, str] = {}
    maybe: set[Key] = set()
    for turn, (step, part) in enumerate(steps):
        key = (1, part)
        match step:
            case "write":
                try:
                    write(log, {key: f"value {turn}"})
                    kept[key] = f"value {turn}"
                    maybe.discard(key)
                except OSError:
                    pass
            case "done":
                kept.pop(key, None)
                maybe.add(key)
                with suppress(OSError):
                    write(log, {}, (key,), sync=False)
            case "full":
                disk.fill()
            case "room":
                disk.capacity = None
            case "sync fails":
                disk.failing_syncs = random.randint(1, 3)
            case "short":
                disk.most_at_once = random.randint(1, 40)
            case "power" | "reopen":
                disk.capacity, disk.failing_syncs = None, 0
                if step == "power":
                    disk.lose_power(random)
                else:
                    log.close()
                log = open_log(disk, compact_from)
                there = found(log)
                assert {key: there.get(key) for key in kept} == kept
                assert there.keys() <= kept.keys() | maybe
        if step not in ("power", "reopen"):
            assert {key: value for key, value in found(log).items() if key in kept} == kept
            assert found(log).keys() == kept.keys()
        else:
            kept = found(log)
            if step == "power":
                maybe = set()


def test_half_of_a_large_log_is_moved_away_and_what_is_live_stays() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, compact_from=500)
    for part in range(40):
        write(log, {(1, part): "x" * 20})
    write(log, {}, tuple((1, part) for part in range(39)))
    assert log.moves == 1
    assert log.size < 100
    assert disk.names() == ["log"]
    assert found(open_log(disk)) == {(1, 39): "x" * 20}


def test_a_log_makes_room_on_a_disk_that_it_fills_itself() -> None:
    """A small disk: what is done with must not keep what is new off it."""
    disk = SimulatedDisk()
    disk.capacity = 512 << 10
    log = open_log(disk)
    for part in range(1_000):
        write(log, {(1, part): "x" * 4_000}, ((1, part - 1),) if part else ())
    assert log.moves > 5
    assert log.moves_failed == 0
    assert found(open_log(disk)) == {(1, 999): "x" * 4_000}
    roomy = SimulatedDisk()
    other = open_log(roomy)
    for part in range(100):
        write(other, {(1, part): "x" * 4_000}, ((1, part - 1),) if part else ())
    assert other.moves == 0  # it is not worth it


def test_what_was_written_counts_where_the_disk_does_not_say_how_much_room_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)

    def fail(self: SimulatedDisk) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(SimulatedDisk, "room", fail)
    for part in range(40):
        write(log, {(1, part): "x" * 4_000}, ((1, part - 1),) if part else ())
    assert log.moves_failed
    assert found(open_log(disk)) == {(1, 39): "x" * 4_000}


def test_a_torn_tail_is_cut_off_and_counted() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    write(log, {(1, 1): "a"})
    write(log, {(1, 2): "b"})
    disk.open("log").truncate(log.size - 3)
    again = open_log(disk)
    assert found(again) == {(1, 1): "a"}
    assert again.torn > 0
    assert open_log(disk).torn == 0


def test_a_record_that_goes_bad_meanwhile_is_said_and_keeps_no_other(caplog: pytest.LogCaptureFixture) -> None:
    disk = SimulatedDisk()
    log = open_log(disk, compact_from=500)
    for part in range(40):
        write(log, {(1, part): f"value {part}"})
    offset, length = log._live[1, 38]
    disk._files["log"].data[offset + length // 2] ^= 1
    assert log.read_all([(1, 38), (1, 39)]) == {(1, 39): "value 39"}
    assert "part 38 of owner 1 cannot be read" in caplog.text
    write(log, {}, tuple((1, part) for part in range(38)))
    assert log.moves == 1, "the log is made smaller all the same"
    assert log.moves_failed == 0
    assert log.damaged == 1
    assert "1 records of log have gone bad" in caplog.text
    assert found(log) == found(open_log(disk)) == {(1, 39): "value 39"}


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_is_never_read_as_something_else(seed: int) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for part in range(5):
        write(log, {(1, part): f"value {part}"})
    disk.flip("log", Random(seed))
    again = open_log(disk)
    there = found(again)
    assert there.items() <= {(1, part): f"value {part}" for part in range(5)}.items()
    assert len(there) >= 4, "what lies before and behind the damage is there"
    assert again.damaged == 1 or again.torn, "and it is said"
    write(again, {(1, 9): "more"})
    assert found(open_log(disk)) == there | {(1, 9): "more"}


def test_what_is_no_log_is_left_alone() -> None:
    disk = SimulatedDisk()
    put_file(disk, "log", b"my diary, not yours")
    with pytest.raises(LogError, match="no log of this version"):
        open_log(disk)
    assert disk.open("log").read(0, 99) == b"my diary, not yours"
