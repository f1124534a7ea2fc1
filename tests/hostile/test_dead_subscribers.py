"""Subscribers that are gone, events that are large: a broker's memory stays below twice its budget, nothing is lost.

That holds while events come in, and while they go out to a subscriber that is back: what is read from the log for all
of them, and what links have not got rid of, is bounded together (`brokers/spilling.py`).

The brokers are two processes of their own, so that what is measured is theirs: the anonymous memory that the system
says they have, less what they had before.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rookery
from rookery import BrokerOptions, Client
from rookery.errors import BrokerError
from rookery.papers.loopback import HOST, free_port

MIB = 1 << 20


class BrokerProcesses:
    """Two brokers, each in a process."""

    def __init__(self, folder: Path, *, memory: int) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.live.broker_fleet"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self.processes: list[int] = []
        self.ports: list[int] = []
        for number in range(2):
            port = free_port()
            data = str(folder / str(number))
            joins = [("127.0.0.1", one) for one in self.ports[:1]]
            order = {"host": "127.0.0.1", "port": port, "join": joins, "data": data, "beat": 1.0, "refresh": 60.0}
            self._parent.stdin.write(json.dumps({**order, "memory": memory}) + "\n")
            self._parent.stdin.flush()
            self.processes.append(int(self._parent.stdout.readline()))
            self.ports.append(port)

    def memory(self) -> list[int]:
        """Return the anonymous memory of each, in bytes."""
        found = []
        for process in self.processes:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            (line,) = [line for line in lines if line.startswith("RssAnon:")]
            found.append(int(line.split()[1]) << 10)
        return found

    def close(self) -> None:
        for process in self.processes:
            os.kill(process, signal.SIGKILL)
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.wait()
        self._parent.stdout.close()


class Watch:
    """The most memory that a broker has had, above the start, while events go in and while they come out."""

    def __init__(self, brokers: BrokerProcesses) -> None:
        self._brokers = brokers
        self._begin = brokers.memory()
        self.most = 0

    def look(self) -> None:
        now = self._brokers.memory()
        self.most = max(self.most, *(one - before for one, before in zip(now, self._begin, strict=True)))

    async def keep_looking(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(0.02)


async def _publish(publisher: Client, size: int, events: int) -> None:
    """Publish large events until all are acknowledged."""
    text = "x" * size
    for number in range(events):
        event = {"symbol": text, "price": float(number * 997 % 1000), "number": number}
        await publisher.publish_many("quotes", [event])
        if number % 8 == 7:
            for _ in range(100):  # a refusal for now is no loss: the client sends it again
                try:
                    await publisher.flush("quotes", seconds=600)
                    break
                except BrokerError:
                    continue
    await publisher.flush("quotes", seconds=600)


def check(folder: Path, *, subscribers: int, size: int, events: int, memory: int) -> int:
    async def scenario() -> int:
        addresses = [f"brokers://{HOST}:{port}" for port in brokers.ports]
        patient = BrokerOptions(attempts=600.0)
        secrets = []
        for number in range(subscribers):
            client = await rookery.open(addresses[number % 2], patient)
            await client.subscribe("quotes", "price >= 0", overflow="wait").__aenter__()
            secrets.append(client.brokers.secret)
            await client.brokers.detach()
        watch = Watch(brokers)
        watching = asyncio.get_running_loop().create_task(watch.keep_looking())
        async with rookery.open(addresses[0], patient) as publisher:
            await _publish(publisher, size, events)
        published = watch.most
        sys.stdout.write(f"{published} bytes more when all were published\n")
        assert published < 2 * memory
        again = await rookery.open(addresses[0], BrokerOptions(attempts=600.0, secret=secrets[0]))
        async with again.subscribe("quotes", "price >= 0", overflow="wait") as feed:
            got: set[int] = set()
            async for event in feed:
                got.add(event["number"])
                if len(got) == events:
                    break
        await again.brokers.detach()
        watching.cancel()
        watch.look()
        return watch.most

    brokers = BrokerProcesses(folder, memory=memory)
    try:
        most = asyncio.run(asyncio.wait_for(scenario(), 3000))
    finally:
        brokers.close()
    note = f"{subscribers} dead subscribers, {events} events of {size} bytes, budget {memory}: {most} bytes more\n"
    sys.stdout.write(note)
    assert most < 2 * memory
    return most


def test_dead_subscribers_and_large_events(tmp_path: Path) -> None:
    check(tmp_path, subscribers=20, size=MIB // 2, events=160, memory=24 * MIB)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_dead_subscribers_and_events_of_a_mebibyte(tmp_path: Path) -> None:
    check(tmp_path, subscribers=1000, size=MIB, events=1000, memory=128 * MIB)
