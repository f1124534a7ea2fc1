"""What a client says wrongly closes its link, is counted, and harms nobody else."""

from __future__ import annotations

import ast
import asyncio
import math
import socket
from pathlib import Path

import msgspec
import pytest
from tests.live.broker_fleet import SCHEMA, SPACE

import rookery
from rookery import BrokerOptions
from rookery import brokers as machine_brokers
from rookery.brokers.client_messages import RequestZone, Subscribe, TransferZone
from rookery.brokers.configuration import BrokerDurability
from rookery.live import brokers as live_brokers
from rookery.live import driver
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.tcp import frame_of
from rookery.space.notation import read_space


def a_broker() -> LiveBroker:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    space = read_space(SPACE, SCHEMA)
    return LiveBroker(
        BrokerSettings(topic="quotes", space=space, listen=("127.0.0.1", port), durability=BrokerDurability.MEMORY)
    )


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"abc",
        b"\x92\x33\xa2\xff\xfe",  # a name that is no UTF-8
        msgspec.msgpack.encode(TransferZone(math.nan)),
        msgspec.msgpack.encode(TransferZone(-1.0)),
        msgspec.msgpack.encode(TransferZone(1e9)),
        msgspec.msgpack.encode(Subscribe("a/1/", 0, "")),  # versions begin at one
        msgspec.msgpack.encode(Subscribe("a/1/", 1 << 63, "")),  # and end
    ],
)
def test_a_malformed_request_closes_the_link_of_its_client(frame: bytes) -> None:
    async def scenario() -> None:
        broker = a_broker()
        await broker.start()
        address = "{}:{}".format(*broker.address)
        try:
            async with rookery.open(f"brokers://{address}") as good, rookery.open(f"brokers://{address}") as bad:
                assert bad.brokers._line is not None
                bad.brokers._line.send(frame_of(frame))
                while not broker.peers.settings.faults["malformed request"]:
                    await asyncio.sleep(0.01)
                async with good.subscribe("quotes", "price < 1", overflow="wait") as events:
                    good.publish("quotes", {"symbol": "a", "price": 0.5, "number": 1})
                    assert (await anext(aiter(events)))["number"] == 1
        finally:
            await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_the_end_of_an_earlier_connection_ends_nothing_else() -> None:
    """A process that has the number of a dead one, whose connection nobody has seen the end of yet."""

    async def scenario() -> None:
        broker = a_broker()
        await broker.start()
        address = "brokers://{}:{}".format(*broker.address)
        clients = []
        try:
            for _ in range(2):
                client = await rookery.open(address, BrokerOptions(identity=0x77, window=10, retry=1.0))
                clients.append(client)
                if len(clients) == 1:
                    client.brokers._driver.close()  # it is dead: nobody dials again
            after = clients[-1]
            async with after.subscribe("quotes", "price < 1", overflow="wait") as events:
                after.publish("quotes", {"symbol": "a", "price": 0.5, "number": 1})
                assert (await anext(aiter(events)))["number"] == 1
            assert after.brokers.attachments == 1
        finally:
            for client in clients:
                await client.brokers.detach()
            await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_lone_broker_told_to_move_stays() -> None:
    async def scenario() -> None:
        broker = a_broker()
        await broker.start()
        try:
            async with rookery.open("brokers://{}:{}".format(*broker.address)) as client:
                client.brokers.order(TransferZone(5.0))
                client.brokers.order(TransferZone(5.0, math.nan))
                client.brokers.order(RequestZone(((1, math.nan),), math.inf))
                (zone,) = (await client.brokers.status())["zones"]
                assert (zone["path"], zone["cuts"]) == ("", [])
        finally:
            await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_no_clock_of_the_wall_decides_anything() -> None:
    """Clocks step back: brokers and their clients count, or ask one that does not."""
    folders = [Path(package.__file__).parent for package in (live_brokers, machine_brokers) if package.__file__]
    sources = [path for folder in folders for path in folder.glob("*.py")] + [Path(driver.__file__)]
    assert len(sources) > 30
    read = {
        node.attr
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time"
    }
    assert read == {"monotonic", "monotonic_ns"}
