"""The live half of `rookery demo`: discovery on real loopback RTPS, and events through brokers in their own processes.

Discovery runs twice, with plain SEDP and with summaries, over the same participants and endpoints, for the same time
after everyone has found everyone; what differs is what was sent. The brokers are `rookery broker` as a user starts it:
two at first, and a third that joins when half of the events have passed, and takes half of the zone with most load.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from rookery.errors import BrokerError
from rookery.model import Schema
from rookery.network.brokers.client import BrokerClient, connect
from rookery.network.udp import UdpParticipant, open_participant
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
_RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
_PARCEL = 512


async def discover(protocol: str, *, domain_id: int, seconds: float = 30.0) -> int:
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
        return sum(member.participant.counters["octets_out"] for member in members)
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
    seconds: float = 600.0,
) -> tuple[list[tuple[int, str]], list[int]]:
    """Publish events through live brokers; return who got which event, and the load of each broker.

    `expected` is how many deliveries to wait for, a little longer for what is too much; fewer are returned as they are.
    """
    (folder / "schema.json").write_text(json.dumps(schema.to_dict()))
    ports = _free_ports(3)
    got: list[tuple[int, str]] = []
    async with AsyncExitStack() as stack, asyncio.timeout(seconds):
        first = await stack.enter_async_context(_broker(ports[0], None, space, folder))
        if watch is not None:
            stack.callback(asyncio.ensure_future(watch(first)).cancel)
        second = await stack.enter_async_context(_broker(ports[1], first, space, folder))
        subscriber = await stack.enter_async_context(connect(first))
        publisher = await stack.enter_async_context(connect(second))
        await _zone_loads([first, second])
        feed = await stack.enter_async_context(subscriber.subscribe_many(TOPIC, conditions))

        async def take() -> None:
            async for name, event in feed:
                got.append((identify(event), name))

        taking = asyncio.create_task(take())
        stack.callback(taking.cancel)
        half = len(events) // 2
        await _publish(publisher, events[:half])
        third = await stack.enter_async_context(_broker(ports[2], first, space, folder))
        await _zone_loads([first, second, third])
        await _publish(publisher, events[half:])
        patience = time.monotonic() + seconds / 10
        while len(got) < expected and time.monotonic() < patience and not taking.done():
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        loads = await _zone_loads([first, second, third])
    return got, loads


async def _publish(publisher: BrokerClient, events: Sequence[Mapping[str, Any]]) -> None:
    """Publish events as fast as they are taken, and wait until all are on two disks."""
    for start in range(0, len(events), _PARCEL):
        await publisher.room()
        for event in events[start : start + _PARCEL]:
            publisher.publish(TOPIC, event)
        await asyncio.sleep(0)
    await publisher.flush(TOPIC, seconds=300)


@asynccontextmanager
async def _broker(port: int, join: str | None, space: str, folder: Path) -> AsyncIterator[str]:
    """Run `rookery broker` in a process of its own."""
    address = f"127.0.0.1:{port}"
    command = [sys.executable, "-m", "rookery", "broker", "--listen", address, "--topic", TOPIC, "--space", space]
    command += ["--schema", str(folder / "schema.json"), "--data", str(folder / f"broker-{port}")]
    command += [*(["--join", join] if join else []), "--beat", str(BEAT)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stderr is not None
    said = ""
    while "broker of" not in said:
        line = (await process.stderr.readline()).decode(errors="replace")
        said += line
        if not line:
            raise BrokerError(f"a broker did not start: {said.strip()}")
    try:
        yield address
    finally:
        if process.returncode is None:
            process.kill()  # its folder is temporary: there is nothing to hand over
            await process.wait()


async def _zone_loads(addresses: Sequence[str]) -> list[int]:
    """Wait until every broker owns a zone; return how many events each has taken in."""
    while True:
        loads = []
        for address in addresses:
            async with connect(address) as client:
                zones = (await client.status())["zones"]
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
