"""What a broker promised is on its disk: through a crash in the middle of a write, a full disk and a move."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.brokers.batches import EventBatch, batch_of, events_of
from rookery.errors import LogError
from rookery.live.brokers.log import BrokerLog


def a_batch(number: int, size: int = 3) -> EventBatch:
    return batch_of(7, number * 100, [{"x": number, "text": "t" * row} for row in range(size)])


def described(entries: list[tuple[int, int, EventBatch]]) -> dict[tuple[int, int], Any]:
    return {(owner, part): (batch.key, events_of(batch)) for owner, part, batch in entries}


async def write(
    log: BrokerLog, entries: list[tuple[int, int, EventBatch]], done: tuple[tuple[int, int], ...] = ()
) -> Any:
    answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    log.append(entries, done, answer.set_result)
    return await answer


Steps = list[tuple[bool, int]]
STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=25)


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(0, 3000))
def test_what_was_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, steps: Steps, move_at: int) -> None:
    """The oracle is a dict; some logs are small enough to be moved to a new file on the way."""
    folder = tmp_path_factory.mktemp("log")

    async def scenario() -> dict[tuple[int, int], Any]:
        log = BrokerLog(folder, compact_from=move_at)
        kept: dict[tuple[int, int], EventBatch] = {}
        for is_done, number in steps:
            if is_done:
                kept.pop((1, number), None)
                assert await write(log, [], ((1, number),)) is None
            else:
                kept[1, number] = a_batch(number)
                assert await write(log, [(1, number, kept[1, number])]) is None
        await log.close()
        return described([(owner, part, batch) for (owner, part), batch in kept.items()])

    kept = asyncio.run(scenario())
    for _ in range(2):
        log = BrokerLog(folder)
        assert described(log.entries) == kept
        assert log.file.torn == 0
        asyncio.run(log.close())


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.binary(max_size=30))
def test_a_torn_tail_is_cut_off(tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes) -> None:
    folder = tmp_path_factory.mktemp("log")

    async def fill() -> list[int]:
        log = BrokerLog(folder)
        ends = [log.file.size]
        for number in range(5):
            await write(log, [(1, number, a_batch(number))])
            ends.append(log.file.size)
        await log.close()
        return ends

    ends = asyncio.run(fill())
    path = folder / "log"
    data = path.read_bytes()
    left = max(ends[0], len(data) - cut)
    torn = data[:left] + noise
    path.write_bytes(torn)
    log = BrokerLog(folder)
    whole = sum(torn[:end] == data[:end] for end in ends[1:])  # noise may be what was cut off
    assert [part for _, part, _ in log.entries][:whole] == list(range(whole))
    assert len(log.entries) == whole, "a record that was never whole was read"
    asyncio.run(log.close())
    assert path.stat().st_size == ends[whole]


def test_one_sync_for_all_that_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = BrokerLog(tmp_path)
        answers: list[str | None] = []
        for number in range(200):
            log.append([(1, number, a_batch(number))], (), answers.append)
        while len(answers) < 200:
            await asyncio.sleep(0.001)
        assert set(answers) == {None}
        assert log.file.syncs <= 3
        await log.close()

    asyncio.run(scenario())


FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from tests.live.brokers.test_log import a_batch, write
from rookery.live.brokers.log import BrokerLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
async def scenario():
    log = BrokerLog(Path(sys.argv[1]))
    part = 0
    while (reason := await write(log, [(1, part, a_batch(part, 20))])) is None:
        part += 1
    print(part, reason)
    assert await write(log, [(1, 999, a_batch(1, 1))]) is None, "a small one still fits"
    await log.close()
asyncio.run(scenario())
"""


def test_a_disk_that_is_full_is_a_refusal_and_the_log_stays_good(tmp_path: Path) -> None:
    """The limit of the process stands for the disk: the kernel refuses the write in the same way."""
    assert resource.RLIMIT_FSIZE  # there is such a limit here
    checkout = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], cwd=checkout, capture_output=True, text=True, check=True
    )
    part, _, reason = done.stdout.partition(" ")
    assert reason.strip() == "the broker's disk did not take it: File too large"
    log = BrokerLog(tmp_path)
    assert [number for _, number, _ in log.entries] == [*range(int(part)), 999]
    asyncio.run(log.close())


def test_a_log_belongs_to_one_process(tmp_path: Path) -> None:
    log = BrokerLog(tmp_path)
    with pytest.raises(LogError, match="belongs to a broker that is running"):
        BrokerLog(tmp_path)
    asyncio.run(log.close())
    asyncio.run(BrokerLog(tmp_path).close())


def test_what_is_no_log_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"my diary, not yours")
    with pytest.raises(LogError, match="no log of this version"):
        BrokerLog(tmp_path)
    assert (tmp_path / "log").read_bytes() == b"my diary, not yours"
    with pytest.raises(LogError, match="cannot keep a log"):
        BrokerLog(Path(os.devnull) / "below")


def test_incarnations_count_up(tmp_path: Path) -> None:
    found = []
    for _ in range(3):
        log = BrokerLog(tmp_path)
        found.append(log.incarnation())
        asyncio.run(log.close())
    assert found == [1, 2, 3]
