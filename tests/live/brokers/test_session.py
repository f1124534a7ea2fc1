"""What a client says wrongly closes its link, is counted, and harms nobody else."""

from __future__ import annotations

import ast
import asyncio
import math
import socket
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.live.broker_fleet import SCHEMA, SPACE

import rookery
from rookery import BrokerOptions
from rookery import brokers as machine_brokers
from rookery.brokers.batch_matching import BatchMatching
from rookery.brokers.client_messages import RequestZone, Subscribe, TransferZone
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.messages import BrokerHeartbeat
from rookery.errors import ClientError, TopicError
from rookery.live import brokers as live_brokers
from rookery.live import driver
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.tcp import frame_of
from rookery.space.notation import read_space


def a_broker(**options: Any) -> LiveBroker:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    space = read_space(SPACE, SCHEMA)
    return LiveBroker(
        BrokerSettings(
            topic="quotes", space=space, listen=("127.0.0.1", port), durability=BrokerDurability.MEMORY, **options
        )
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
        address = "brokers://{}:{}".format(*broker.address)
        try:
            operator = BrokerOptions(role="operator")
            async with rookery.open(address) as good, rookery.open(address, operator) as bad:
                assert bad.brokers._line is not None
                bad.brokers._line.send(frame_of(frame))
                while not broker.peers.settings.faults["malformed request"]:
                    await asyncio.sleep(0.01)
                async with good.subscribe("quotes", "price < 1", overflow="wait") as events:
                    good.publish("quotes", {"symbol": "a", "price": 0.5, "number": 1})
                    assert (await anext(aiter(events)))["number"] == 1
        finally:
            await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 600))


def test_the_end_of_an_earlier_connection_ends_nothing_else() -> None:
    """A process that has the number of a dead one, whose connection nobody has seen the end of yet."""

    async def scenario() -> None:
        broker = a_broker()
        await broker.start()
        address = "brokers://{}:{}".format(*broker.address)
        clients = []
        try:
            for _ in range(2):
                client = await rookery.open(address, BrokerOptions(secret=b"its own", window=10, retry=1.0))
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

    asyncio.run(asyncio.wait_for(scenario(), 600))


def test_a_lone_broker_told_to_move_stays() -> None:
    async def scenario() -> None:
        broker = a_broker()
        await broker.start()
        try:
            address, operator = "brokers://{}:{}".format(*broker.address), BrokerOptions(role="operator")
            async with rookery.open(address, operator) as client:
                client.brokers.order(TransferZone(5.0))
                client.brokers.order(TransferZone(5.0, (0, math.nan)))
                client.brokers.order(RequestZone(((0, 1, math.nan),), (0, math.inf)))
                (zone,) = (await client.brokers.status())["zones"]
                assert (zone["path"], zone["cuts"]) == ("", [])
        finally:
            await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 600))


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


def test_beats_go_on_while_a_matching_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first event compiles the conditions: many are a task, here one that waits until three beats were made."""
    beats, may_end = threading.Semaphore(0), threading.Event()
    run = BatchMatching.run

    def slow(matching: BatchMatching) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        assert may_end.wait(timeout=600)
        return run(matching)

    async def scenario() -> None:
        broker = a_broker(beat=0.05)
        await broker.start()
        woken = broker.machine.wake
        monkeypatch.setattr(broker.machine, "wake", lambda now: (woken(now), beats.release()))
        address = "{}:{}".format(*broker.address)
        try:
            async with rookery.open(f"brokers://{address}") as client:
                chosen = {str(number): f"number >= {number}" for number in range(300)}
                async with client.subscribe_many("quotes", chosen, overflow="wait") as feed:
                    monkeypatch.setattr(BatchMatching, "run", slow)
                    client.publish("quotes", {"symbol": "a", "price": 1.0, "number": 2})
                    client.publish("quotes", {"symbol": "a", "price": 1.0, "number": 0})
                    while not broker.machine.intake.is_matching:
                        await asyncio.sleep(0.01)
                    while beats.acquire(blocking=False):
                        pass
                    for _ in range(3):
                        await asyncio.to_thread(beats.acquire)
                    assert client.brokers.machine.in_flight == 2
                    may_end.set()
                    got = [await anext(feed) for _ in range(4)]
                    assert [(name, event["number"]) for name, event in got] == [("0", 2), ("1", 2), ("2", 2), ("0", 0)]
                    await client.flush("quotes", seconds=600)
        finally:
            await broker.stop(leave=False)

    asyncio.run(scenario())


def test_publish_says_what_stands_in_its_way() -> None:
    async def scenario() -> None:
        broker = a_broker()
        await broker.start()
        event = {"symbol": "a", "price": 1.0, "number": 2}
        try:
            async with rookery.open("brokers://{}:{}".format(*broker.address)) as client:
                with pytest.raises(TopicError, match="serve 'quotes'"):
                    client.publish("trades", event)
                client.publish("quotes", event)
                await client.flush("quotes", seconds=600)
            with pytest.raises(ClientError, match="closed"):
                client.publish("quotes", event)
        finally:
            await broker.stop(leave=False)

    asyncio.run(scenario())


def test_a_heartbeat_without_news_passes_what_waits() -> None:
    """A broker that is behind with its work answers heartbeats all the same: who is busy is not dead."""

    async def scenario() -> None:
        first = a_broker()
        await first.start()
        second = a_broker(join=(first.address,))
        await second.start()
        try:
            while not (len(first.machine.owned) == len(second.machine.owned) == 1 and first.machine.leases.are_held()):
                await asyncio.sleep(0.01)
            table, sender = first.machine.routing_table, second.machine.id
            while not table.is_known(heartbeat := heartbeat_of(second, 1 << 60), sender):
                await asyncio.sleep(0.01)
            for frames, waiting in (([heartbeat], 1), ([BrokerHeartbeat(()), heartbeat_of(second, 1 << 61)], 2)):
                first._frames._waiting.append((sender, b"what is no message"))
                first._frames._scheduled = True
                first._on_frames(sender, [msgspec.msgpack.encode(frame) for frame in frames])
                assert len(first._frames) == waiting
                assert first.machine.leases._given[sender] == frames[-1].stamp
                first._frames.clear()
        finally:
            await second.stop(leave=False)
            await first.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 600))


def heartbeat_of(broker: LiveBroker, stamp: int) -> BrokerHeartbeat:
    """What a broker says of its zone."""
    (zone,) = broker.machine.owned.values()
    return BrokerHeartbeat((broker.machine.routing_table.report(zone),), True, stamp)
