"""The spool on disk. The oracle is a list: whatever is torn behind the mark, what counted is there, and only that."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery import Schema
from rookery.errors import SchemaError, SpoolError
from rookery.live.spool.folder import MARK_FILE, Description, Spool, record_schema
from rookery.live.spool.frames import Mark, best_mark, encode_frame, segment_name
from rookery.live.spool.writer import REMEMBERED_WRITERS, Retention, SpoolWriter

QUOTES = Description("quotes", 0, "Quote", Schema(symbol=str, price=float))
STORED = record_schema(QUOTES.schema)


def group(first: int, count: int, *, writer: str = "w") -> pa.RecordBatch:
    rows = [
        {"_writer": writer, "_sequence": number, "_written": None, "symbol": f"S{number % 7}", "price": number / 4}
        for number in range(first, first + count)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=STORED)


def everything(folder: Path) -> list[dict[str, Any]]:
    spool = Spool(folder)
    return [row for batch in spool.read(spool.first, spool.end) for row in batch.to_pylist()]


def sequences(folder: Path) -> list[int]:
    rows = everything(folder)
    assert [row["_offset"] for row in rows] == list(range(len(rows)))
    assert all(row["price"] == row["_sequence"] / 4 for row in rows)
    return [row["_sequence"] for row in rows]


def newest_segment(folder: Path) -> Path:
    return max(folder.glob("*.frames"))


@pytest.mark.parametrize("broken", ["offsets", "rows", "no batch"])
def test_records_are_checked_when_read_whoever_wrote_them(broken: str, tmp_path: Path) -> None:
    """The checksum is right, and what it stands for is not."""
    with SpoolWriter(tmp_path, QUOTES) as writer:
        writer.append(group(0, 3), {"w": 2})
    batch = group(0, 3)
    records = bytearray(batch.serialize().to_pybytes())
    if broken == "offsets":
        ends = struct.pack("<4i", 0, 2, 4, 6)  # of the symbols: S0 S1 S2
        place = records.rindex(ends)
        records[place : place + 16] = struct.pack("<4i", 0, 2, 1 << 30, 6)
    elif broken == "no batch":
        records = bytearray(16)
    rows = 4 if broken == "rows" else 3
    segment, opening = newest_segment(tmp_path), encode_frame(first=0, rows=0, committed=0, writers={}, batch=b"")
    frame = encode_frame(first=0, rows=rows, committed=0, writers={"w": 2}, batch=bytes(records))
    segment.write_bytes(opening + frame)
    mark = Mark(2, 0, len(opening + frame), rows)
    (tmp_path / MARK_FILE).write_bytes(mark.encode() + Mark(1, 0, 0, 0).encode())
    with pytest.raises(SpoolError, match=r"holds no records|says 4 records"):
        everything(tmp_path)


CRASHES = {
    # What a process leaves that is killed at each point of a commit; none of it was counted.
    "a torn frame": lambda folder, dice: _append(newest_segment(folder), _next_frame(folder)[: dice.randrange(1, 400)]),
    "a whole frame": lambda folder, dice: _append(newest_segment(folder), _next_frame(folder)),
    "a hole": lambda folder, dice: _append(newest_segment(folder), bytes(dice.randrange(1, 300))),
    "a torn mark": lambda folder, dice: _tear_mark(folder, dice),
    "a new segment": lambda folder, dice: _begin_segment(folder, dice),
    "a file that has no name yet": lambda folder, _: (folder / ".00000000000000000009.frames.new").write_bytes(b"RK"),
}


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def _next_frame(folder: Path) -> bytes:
    end = Spool(folder).end
    batch = group(999_000, 3).serialize().to_pybytes()
    return encode_frame(first=end, rows=3, committed=0, writers={"w": 999_003}, batch=batch)


def _tear_mark(folder: Path, dice: random.Random) -> None:
    path = folder / MARK_FILE
    data = bytearray(path.read_bytes())
    mark = best_mark(bytes(data))
    assert mark is not None
    following = Mark(mark.turn + 1, mark.segment, mark.size_bytes + 64, mark.end + 3)
    torn = following.encode()[: dice.randrange(1, 48)]
    data[following.slot : following.slot + len(torn)] = torn
    path.write_bytes(data)


def _begin_segment(folder: Path, dice: random.Random) -> None:
    end = Spool(folder).end
    if end and not (folder / segment_name(end)).exists():
        opening = encode_frame(first=end, rows=0, committed=0, writers={"w": 999_003}, batch=b"")
        (folder / segment_name(end)).write_bytes(opening[: dice.randrange(len(opening) + 1)])


STEPS = st.lists(st.one_of(st.integers(1, 60), st.sampled_from(["reopen", *CRASHES])), max_size=25)


@settings(max_examples=25)
@given(STEPS, st.integers(0, 2**32))
def test_what_counted_is_there_after_any_crash_and_nothing_else(steps: list[int | str], seed: int) -> None:
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = SpoolWriter(folder, QUOTES, segment_bytes=8_000)
        count = 0
        for step in steps:
            if isinstance(step, int):
                assert writer.append(group(count, step), {"w": count + step - 1}) == range(count, count + step)
                count += step
                continue
            writer.close()
            if step != "reopen":
                CRASHES[step](folder, dice)
            assert sequences(folder) == list(range(count))  # a reader needs no repair to see the truth
            writer = SpoolWriter(folder, QUOTES, segment_bytes=8_000)
            assert writer.end == count
            assert dict(writer.writers) == ({"w": count - 1} if count else {})
        writer.close()
        assert sequences(folder) == list(range(count))


@given(st.data())
@settings(max_examples=25)
def test_any_range_is_read_as_a_slice_of_the_whole(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        sizes = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
        with SpoolWriter(name, QUOTES, segment_bytes=6_000) as writer:
            for size in sizes:
                writer.append(group(writer.end, size), {})
        whole = everything(Path(name))
        first = data.draw(st.integers(0, len(whole)))
        last = data.draw(st.integers(first, len(whole)))
        spool = Spool(name)
        assert [row for batch in spool.read(first, last) for row in batch.to_pylist()] == whole[first:last]
        with pytest.raises(SpoolError, match="has records up to"):
            list(spool.read(first, len(whole) + 1))


def test_every_changed_octet_of_what_counts_is_noticed(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, QUOTES) as writer:
        for first in (0, 20, 40):
            writer.append(group(first, 20), {"w": first + 19})
    path = newest_segment(tmp_path)
    data = path.read_bytes()
    dice = random.Random(7)
    opening = len(encode_frame(first=0, rows=0, committed=0, writers={}, batch=b""))
    for place in [opening, len(data) - 1, *dice.sample(range(opening, len(data)), 300)]:
        path.write_bytes(data[:place] + bytes((data[place] ^ 1 << dice.randrange(8),)) + data[place + 1 :])
        with pytest.raises(SpoolError, match="frame"):
            everything(tmp_path)
        with pytest.raises(SpoolError, match="restore it, or choose another folder"):
            SpoolWriter(tmp_path, QUOTES)
    path.write_bytes(data[:-64])
    with pytest.raises(SpoolError, match="has lost bytes that were counted"):
        SpoolWriter(tmp_path, QUOTES)
    path.write_bytes(data)
    assert len(everything(tmp_path)) == 60


def test_one_writer_at_a_time_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    program = (
        "import sys, time; from rookery.live.spool.writer import SpoolWriter; "
        "from rookery.live.spool.folder import Description; from rookery import Schema; "
        "w = SpoolWriter(sys.argv[1], Description('quotes', 0, 'Quote', Schema(symbol=str, price=float))); "
        "print('open', flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(SpoolError, match=f"is being written by process {holder.pid}: end that one first"):
            SpoolWriter(tmp_path, QUOTES)
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with SpoolWriter(tmp_path, QUOTES) as writer:
        assert writer.end == 0


@pytest.fixture
def little_room(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def fill(writer: SpoolWriter, size: int) -> tuple[int, SpoolError]:
    """Append until that fails; return what counted, and the failure."""
    count = 0
    while True:
        try:
            writer.append(group(count, size), {"w": count + size - 1})
        except SpoolError as error:
            return count, error
        count += size


def test_a_full_disk_is_one_clear_error_and_nothing_is_half_visible(little_room: Path) -> None:
    ballast = little_room / "ballast"
    ballast.write_bytes(bytes(100_000))
    folder = little_room / "spool"
    with SpoolWriter(folder, QUOTES, segment_bytes=40_000) as writer:
        count, error = fill(writer, 200)
        assert "no room for more" in str(error)
        assert f"What was counted is safe: {count} records" in str(error)
        with pytest.raises(SpoolError, match="open it again"):
            writer.append(group(count, 1), {})
    assert count > 0
    assert sequences(folder) == list(range(count))
    ballast.unlink()
    with SpoolWriter(folder, QUOTES, segment_bytes=40_000) as writer:
        assert writer.append(group(count, 200), {"w": count + 199}) == range(count, count + 200)
    assert sequences(folder) == list(range(count + 200))


def test_a_file_that_may_not_grow_is_a_full_disk_too(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with SpoolWriter(tmp_path, QUOTES) as writer:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
            count, error = fill(writer, 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert "no room for more" in str(error)
    assert sequences(tmp_path) == list(range(count))


def test_old_segments_go_by_size_and_what_is_gone_is_said(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, QUOTES, segment_bytes=8_000, retention=Retention(size_bytes=30_000)) as writer:
        for number in range(100):
            writer.append(group(number * 10, 10), {f"w{number % 30}": number})
        assert len(writer.writers) == 30
    assert sum(path.stat().st_size for path in tmp_path.glob("*.frames")) <= 30_000 + 8_000
    spool = Spool(tmp_path)
    assert 0 < spool.first < spool.end == 1_000
    rows = everything(tmp_path)
    assert [row["_offset"] for row in rows] == list(range(spool.first, 1_000))
    assert [row["_sequence"] for row in rows] == list(range(spool.first, 1_000))
    with pytest.raises(SpoolError, match=f"not all there any more.*the oldest is {spool.first}"):
        list(spool.read(spool.first - 1, 1_000))
    with SpoolWriter(tmp_path, QUOTES) as writer:  # what is known of a writer outlives its records
        assert dict(writer.writers) == {f"w{number % 30}": number for number in range(70, 100)}


def test_old_segments_go_by_age(tmp_path: Path) -> None:
    now = 1_000_000_000
    with SpoolWriter(tmp_path, QUOTES, retention=Retention(microseconds=8_000_000), clock=lambda: now) as writer:
        for number in range(40):
            writer.append(group(number, 1), {})
            now += 1_000_000
    ages = [39 - row["_sequence"] for row in everything(tmp_path)]
    assert ages[-1] == 0
    assert 8 <= ages[0] <= 8 + 8 // 4 + 1  # nothing younger is missing, and whole segments go
    now += 60_000_000
    with SpoolWriter(tmp_path, QUOTES, retention=Retention(microseconds=8_000_000), clock=lambda: now) as writer:
        assert writer.end == 40


def test_so_many_writers_are_remembered_and_the_latest_stay(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path, QUOTES) as writer:
        writer.append(group(0, 1), {f"w{number}": number for number in range(REMEMBERED_WRITERS)})
        writer.append(group(1, 1), {"w0": 7, "new": 1})
        assert len(writer.writers) == REMEMBERED_WRITERS
        assert (writer.writers["w0"], writer.writers["new"]) == (7, 1)
        assert "w1" not in writer.writers


def test_a_spool_belongs_to_one_topic_and_type(tmp_path: Path) -> None:
    with SpoolWriter(tmp_path / "spool", QUOTES) as writer:
        made = writer.description
        with pytest.raises(SpoolError, match="do not have the columns"):
            writer.append(pa.record_batch({"price": [1.0]}), {})
    assert Spool(tmp_path / "spool").description == made
    with SpoolWriter(tmp_path / "spool", QUOTES) as writer:
        assert writer.description == made
    other = Description("quotes", 0, "Quote", Schema(symbol=str, price=int))
    with pytest.raises(SpoolError, match=r"another topic or type.*choose another folder"):
        SpoolWriter(tmp_path / "spool", other)
    with pytest.raises(SchemaError, match="_writer"):
        SpoolWriter(tmp_path / "other", Description("t", 0, "T", Schema(_writer=str)))
    with pytest.raises(SpoolError, match="is no spool"):
        Spool(tmp_path)
    shutil.copy(newest_segment(tmp_path / "spool"), tmp_path)
    with pytest.raises(SpoolError, match="choose an empty folder"):
        SpoolWriter(tmp_path, QUOTES)
    (tmp_path / "spool" / "spool.json").write_text('{"format": 2}')
    with pytest.raises(SpoolError, match="no spool of format 1"):
        Spool(tmp_path / "spool")


WRITE_FOREVER = """
import sys
import pyarrow as pa
from rookery import Schema
from rookery.live.spool.folder import Description
from rookery.live.spool.writer import SpoolWriter
quotes = Description("quotes", 0, "Quote", Schema(symbol=str, price=float))
with SpoolWriter(sys.argv[1], quotes, segment_bytes=30_000) as writer:
    while True:
        rows = [
            {"_writer": "w", "_sequence": n, "_written": None, "symbol": "S", "price": n / 4}
            for n in range(writer.end, writer.end + 25)
        ]
        writer.append(pa.RecordBatch.from_pylist(rows, schema=writer.schema), {"w": writer.end + 24})
        print(writer.end, flush=True)
"""


def test_kill_9_loses_nothing_that_was_counted(tmp_path: Path) -> None:
    dice = random.Random(3)
    counted = 0
    for _ in range(2):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITE_FOREVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for _ in range(dice.randrange(1, 20)):
            counted = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
        rest, _ = child.communicate()
        told = [int(line) for line in rest.splitlines() if line.isdigit()]
        counted = max([counted, *told])
        found = sequences(tmp_path)
        assert len(found) >= counted
        assert found == list(range(len(found)))
