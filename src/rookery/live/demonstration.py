"""The live half of `rookery demo`: discovery on real loopback RTPS, and events through brokers in their own processes.

Discovery runs twice, with plain SEDP and with summaries, over the same participants and endpoints, for the same time
after everyone has found everyone; what differs is what was sent. The brokers are `rookery broker` as a user starts it:
two at first, and a third that joins when half of the events have passed, and takes half of the zone with most load.
They end with this process, however it ends; if one of them ends before its time, so does the demonstration.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from rookery.errors import BrokerError
from rookery.live.brokers.client import BrokerOptions
from rookery.live.client import Client
from rookery.live.opening import open as open_client
from rookery.live.udp import UdpParticipant, open_participant
from rookery.model import Schema
from rookery.rtps.qos import QualityOfService, Reliability

__all__ = ["discover", "through_brokers"]

TOPIC = "telemetry"
PARTICIPANTS = 12
#: Topics that each participant writes, and as many of the next one that it reads.
TOPICS = 10
#: Seconds for which the participants stay after all have found each other.
STAY = 1.0
#: Seconds between signs of life of the brokers: the demonstration may run on a machine that is busy with other things.
BEAT = 5.0
#: For the same reason its clients do not give up soon.
PATIENT = BrokerOptions(attempts=120.0)
_RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
_BATCH = 512
#: Bytes of what a broker said last that are kept for the case that it falls.
_SAID = 4_096


async def discover(protocol: str, *, domain_id: int, seconds: float = 1_800.0) -> int:
    """Let participants in a ring find each other with a discovery protocol; return the octets that all sent."""
    members: list[UdpParticipant] = []
    try:
        for place in range(PARTICIPANTS):
            udp = open_participant(on_event=lambda _: None, domain_id=domain_id, discovery=protocol, name=f"{place}")
            members.append(udp)
            for number in range(TOPICS):
                for owner, make in ((place, udp.participant.create_writer), (place + 1, udp.participant.create_reader)):
                    topic = f"site/{owner % PARTICIPANTS}/sensor/{number}"
                    make(topic, "Reading", _RELIABLE, keyed=False, now=udp.now())
            udp.flush()
        async with asyncio.timeout(seconds):
            while not all(_is_complete(member) for member in members):
                await asyncio.sleep(0.02)
        await asyncio.sleep(STAY)
        return sum(member.participant.counters["bytes_out"] for member in members)
    finally:
        for member in members:
            await member.close()


def _is_complete(member: UdpParticipant) -> bool:
    participant = member.participant
    return all(participant.matched(one.guid) for one in participant.local_endpoints)


async def through_brokers(
    conditions: Mapping[str, str],
    events: Sequence[Mapping[str, Any]],
    *,
    schema: Schema,
    space: str,
    identify: Callable[[Mapping[str, Any]], int],
    expected: int,
    folder: Path,
    watch: Callable[[str], Awaitable[None]] | None = None,
    seconds: float = 1_800.0,
) -> tuple[list[tuple[int, str]], list[int]]:
    """Publish events through live brokers; return who got which event, and the load of each broker.

    `expected` is how many deliveries to wait for, a little longer for what is too much; fewer are returned as they are.
    """
    (folder / "schema.json").write_text(json.dumps(schema.to_dict()))
    fallen: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start(port: int, join: str | None) -> AbstractAsyncContextManager[str]:
        return _broker(port, join, space, folder, fallen)

    work = asyncio.ensure_future(_through(start, conditions, events, identify, expected, watch, seconds / 10))
    first_of: list[asyncio.Future[Any]] = [work, fallen]
    try:
        await asyncio.wait(first_of, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if fallen.done():
            fallen.result()
        if not work.done():
            raise BrokerError(f"the brokers have not taken and delivered all events within {seconds:g} s")
        return work.result()
    finally:
        work.cancel()
        fallen.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _through(
    start: Callable[[int, str | None], AbstractAsyncContextManager[str]],
    conditions: Mapping[str, str],
    events: Sequence[Mapping[str, Any]],
    identify: Callable[[Mapping[str, Any]], int],
    expected: int,
    watch: Callable[[str], Awaitable[None]] | None,
    seconds: float,
) -> tuple[list[tuple[int, str]], list[int]]:
    ports = _free_ports(3)
    got: list[tuple[int, str]] = []
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(start(ports[0], None))
        if watch is not None:
            stack.callback(asyncio.ensure_future(watch(first)).cancel)
        second = await stack.enter_async_context(start(ports[1], first))
        subscriber = await stack.enter_async_context(open_client(f"brokers://{first}", PATIENT))
        publisher = await stack.enter_async_context(open_client(f"brokers://{second}", PATIENT))
        await _zone_loads([first, second])
        feed = await stack.enter_async_context(subscriber.subscribe_many(TOPIC, conditions, overflow="wait"))

        async def take() -> None:
            async for name, event in feed:
                got.append((identify(event), name))

        taking = asyncio.create_task(take())
        stack.callback(taking.cancel)
        half = len(events) // 2
        await _publish(publisher, events[:half])
        third = await stack.enter_async_context(start(ports[2], first))
        await _zone_loads([first, second, third])
        await _publish(publisher, events[half:])
        patience = time.monotonic() + seconds
        while len(got) < expected and time.monotonic() < patience and not taking.done():
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        loads = await _zone_loads([first, second, third])
    return got, loads


async def _publish(publisher: Client, events: Sequence[Mapping[str, Any]]) -> None:
    """Publish events as fast as they are taken, and wait until all are on two disks."""
    for start in range(0, len(events), _BATCH):
        await publisher.publish_many(TOPIC, events[start : start + _BATCH])
        await asyncio.sleep(0)
    await publisher.flush(TOPIC, seconds=300)


@asynccontextmanager
async def _broker(
    port: int, join: str | None, space: str, folder: Path, fallen: asyncio.Future[None]
) -> AsyncIterator[str]:
    """Run `rookery broker` in a process of its own, which ends with this one; `fallen` is told if it ends before."""
    address = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "rookery.cli.attached", "broker", "--listen", address, "--topic", TOPIC]
    command += ["--space", space, "--schema", str(folder / "schema.json"), "--data", str(folder / f"broker-{port}")]
    command += [*(["--join", join, "--patience", "600"] if join else []), "--beat", str(BEAT)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=asyncio.subprocess.DEVNULL, stderr=pipe)
    assert process.stderr is not None
    said = ""
    while "broker of" not in said:
        line = (await process.stderr.readline()).decode(errors="replace")
        said += line
        if not line:
            raise BrokerError(_how_it_ended(address, await process.wait(), said))
    watching = asyncio.create_task(_watch(process, address, fallen))
    try:
        yield address
    finally:
        watching.cancel()
        if process.returncode is None:
            process.kill()  # its folder is temporary: there is nothing to hand over
            await process.wait()


async def _watch(process: asyncio.subprocess.Process, address: str, fallen: asyncio.Future[None]) -> None:
    """Read what a broker says, so that it never waits for a reader, and tell when it has ended."""
    assert process.stderr is not None
    said = b""
    while octets := await process.stderr.read(_SAID):
        said = (said + octets)[-_SAID:]
    code = await process.wait()
    if not fallen.done():
        fallen.set_exception(BrokerError(_how_it_ended(address, code, said.decode(errors="replace"))))


def _how_it_ended(address: str, code: int, said: str) -> str:
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    last = said.strip().rpartition("\n")[2].removeprefix("rookery: ")
    return f"the broker at {address} {how}{f': {last}' if last else ''}"


async def _zone_loads(addresses: Sequence[str]) -> list[int]:
    """Wait until every broker owns a zone; return how many events each has taken in."""
    while True:
        loads = []
        for address in addresses:
            async with open_client(f"brokers://{address}", PATIENT) as client:
                zones = (await client.brokers.status())["zones"]
            if zones:
                loads.append(sum(zone["events"] for zone in zones))
        if len(loads) == len(addresses):
            return loads
        await asyncio.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    held = []
    for _ in range(count):
        one = socket.socket()
        one.bind(("127.0.0.1", 0))
        held.append(one)
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports
