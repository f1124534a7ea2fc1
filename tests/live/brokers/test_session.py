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
from rookery.brokers.batches import Redeliver
from rookery.brokers.client_messages import RequestZone, Subscribe, TransferZone
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.messages import BrokerHeartbeat
from rookery.errors import BrokerError, ClientError, EventError, JoinError, TopicError
from rookery.live import brokers as live_brokers
from rookery.live import driver
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.tcp import frame_of
from rookery.live.tcp_hello import LinkLimits, LinkSettings
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

    asyncio.run(asyncio.wait_for(scenario(), 1_800))


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

    asyncio.run(asyncio.wait_for(scenario(), 1_800))


@pytest.mark.parametrize("count", [1, 2])
def test_an_event_that_does_not_fit_is_refused_alone(count: int) -> None:
    """The client refuses it where it is published; a broker names the one, of a client that does not look."""

    async def scenario() -> None:
        brokers = [a_broker()]
        await brokers[0].start()
        try:
            for _ in range(count - 1):
                brokers.append(a_broker(join=(brokers[0].address,)))
                await brokers[-1].start()
                while not brokers[-1].machine.owned:
                    await asyncio.sleep(0.05)
            client = await rookery.open("brokers://{}:{}".format(*brokers[-1].address))
            events = [{"symbol": "a", "price": 900.0 * number / 64, "number": number} for number in range(64)]
            async with client.subscribe("quotes", "", overflow="wait") as seen:
                with pytest.raises(EventError, match="price"):
                    client.publish("quotes", {**events[0], "price": "dear"})
                client.brokers._fits = lambda event, encoded: None
                for event in events:
                    client.publish("quotes", {**event, "price": "dear"} if event["number"] == 40 else event)
                with pytest.raises(BrokerError, match="1 of this client's events were refused, the first is number 40"):
                    await client.flush("quotes", seconds=600)
                await client.flush("quotes", seconds=600)
                got = [(await anext(aiter(seen)))["number"] for _ in range(63)]
                assert sorted(got) == [number for number in range(64) if number != 40]
            await client.close()
        finally:
            for broker in brokers:
                await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 1_800))


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

    asyncio.run(asyncio.wait_for(scenario(), 1_800))


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


def test_a_client_goes_on_where_somebody_listens_and_says_nothing() -> None:
    """A machine that stands still takes connections: the next broker is asked, however long the first one is borne."""
    patience = LinkSettings(0, heartbeat=1800.0, silence=3600.0, limits=LinkLimits(handshake=3600.0))

    async def scenario() -> None:
        broker = a_broker()
        await broker.start()
        with socket.socket() as still:
            still.bind(("127.0.0.1", 0))
            still.listen()
            brokers = "brokers://127.0.0.1:{},{}:{}".format(still.getsockname()[1], *broker.address)
            try:
                async with rookery.open(brokers, BrokerOptions(links=patience)) as client:
                    assert client.brokers.addresses[0] == broker.address
                    client.publish("quotes", {"symbol": "a", "price": 1.0, "number": 2})
                    await client.flush("quotes", seconds=600)
                with still.accept()[0] as left:
                    while await asyncio.to_thread(left.recv, 4096):  # the end: nobody waits for an answer any more
                        pass
            finally:
                await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 1_800))


def test_who_is_there_passes_what_waits() -> None:
    """A broker that is behind with its work answers heartbeats all the same: who is busy is not dead.

    They pass what is about events; one without news passes what is not, too.
    """

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
            news = BrokerHeartbeat(())
            for stamp, slices, frames, waiting in (
                (1, first._frames, [heartbeat], 1),
                (2, first._frames, [news, heartbeat_of(second, 1 << 61), Redeliver((1,))], 2),
                (3, first._urgent, [heartbeat_of(second, 1 << 62)], 1),
                (4, first._urgent, [news, heartbeat_of(second, (1 << 62) + 1)], 2),
            ):
                slices._waiting.append((sender, b"what is no message"))
                slices._scheduled = True
                first._on_frames(sender, [msgspec.msgpack.encode(frame) for frame in frames])
                assert len(slices) == waiting, stamp
                beats = [frame.stamp for frame in frames if isinstance(frame, BrokerHeartbeat)]
                assert first.machine.leases._given[sender] == max(beats)
                slices.clear()
                slices._scheduled = False
        finally:
            await second.stop(leave=False)
            await first.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 1_800))


def heartbeat_of(broker: LiveBroker, stamp: int) -> BrokerHeartbeat:
    """What a broker says of its zone."""
    (zone,) = broker.machine.owned.values()
    return BrokerHeartbeat((broker.machine.routing_table.report(zone),), True, stamp)


def test_a_broker_waits_for_the_one_it_joins_through(caplog: pytest.LogCaptureFixture) -> None:
    """Brokers are started together, and the second may be the first to listen; but it does not wait for good."""

    async def scenario() -> None:
        first = a_broker()
        second = a_broker(join=(first.settings.listen,), patience=600.0)
        lost = a_broker(join=(("127.0.0.1", 1),), patience=0.0)
        starting = asyncio.create_task(second.start())
        while "trying for 600 s" not in caplog.text:
            await asyncio.sleep(0.01)
        try:
            await first.start()
            await starting
            while not second.machine.owned:
                await asyncio.sleep(0.05)
            with pytest.raises(JoinError, match=r"nobody answers at 127\.0\.0\.1:1"):
                await lost.start()
        finally:
            await second.stop(leave=False)
            await first.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 3_000))
