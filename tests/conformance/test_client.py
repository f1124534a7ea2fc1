"""What a program may rely on: the client's own cases, on the four networks as `rookery.open` gives them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery import BrokerOptions, DdsOptions, DdsReaderOptions, DdsWriterOptions, PlainClient, Schema
from rookery.errors import ClientError, EventError, HistoryFullError, RookeryError, SettingsError, TopicError
from rookery.live.opening import ClientOpening
from rookery.live.subscription import Overflow

from .live import LIVE, LiveNetwork
from .networks import SCHEMA, TOPIC, Event

pytestmark = pytest.mark.wire

Case = Callable[[LiveNetwork], Awaitable[None]]
NETWORKS = ("dds", "brokers", "overlay", "island")
HANGS = 300


@pytest.fixture(params=[f"{name} live" for name in NETWORKS])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Case], None]:
    """Return what plays a case on a network."""

    async def limited(case: Case) -> None:
        async with asyncio.timeout(HANGS), LIVE[str(request.param).removesuffix(" live")](tmp_path) as network:
            await case(network)

    return lambda case: asyncio.run(limited(case))


def events(count: int) -> list[Event]:
    return [{"symbol": "ACME", "price": float(number % 900), "number": number} for number in range(count)]


def test_overflow_wait(play: Callable[[Case], None], record_property: Callable[[str, Any], None]) -> None:
    """Who publishes more than anybody holds for a program that does not read has to wait, and nothing is lost."""

    async def case(network: LiveNetwork) -> None:
        reader, writer = await network.client(0), await network.client(1)
        if not network.has_wait:
            record_property("answer", "refused")
            with pytest.raises(ClientError, match="say overflow='drop-oldest'"):
                reader.subscribe(TOPIC, overflow="wait", schema=SCHEMA)
            return
        on_dds = reader.address.startswith("dds")
        queue = 300 if on_dds else None  # brokers have a window, of 256 events here
        sent = events(3_000)
        async with reader.subscribe(TOPIC, "number >= 0", overflow="wait", queue=queue, schema=SCHEMA) as slow:
            await network.settle()
            publishing = asyncio.ensure_future(writer.publish_many(TOPIC, sent))
            most = 0
            while most < 256:
                await asyncio.sleep(0.02)
                most = max(most, slow.waiting)
            for _ in range(50):
                await asyncio.sleep(0.02)
                most = max(most, slow.waiting)
            assert most <= 2 * 1_024, "what may be on its way when it is full"
            assert not (on_dds and publishing.done()), "its history of 1,000 samples is full too"
            got = [(await anext(slow))["number"] for _ in sent]
            assert await publishing == len(sent)
            assert (sorted(got), slow.dropped) == (list(range(len(sent))), 0)

    play(case)


def test_overflow_drop_oldest(play: Callable[[Case], None]) -> None:
    async def case(network: LiveNetwork) -> None:
        reader, writer = await network.client(0), await network.client(1)
        where = "number >= 0"
        async with (
            reader.subscribe(TOPIC, where, overflow="drop-oldest", queue=5, schema=SCHEMA) as few,
            reader.subscribe(TOPIC, where, overflow="drop-oldest", schema=SCHEMA) as all_of_them,
        ):
            await network.settle()
            await writer.publish_many(TOPIC, events(60))
            order = [(await anext(all_of_them))["number"] for _ in range(60)]
            while few.dropped < 55:
                await asyncio.sleep(0.01)
            assert (few.dropped, few.waiting, all_of_them.dropped) == (55, 5, 0)
            assert [(await anext(few))["number"] for _ in range(5)] == order[-5:]

    play(case)


def test_flushed_is_accepted(play: Callable[[Case], None]) -> None:
    """What is flushed arrives although its publisher is gone the moment after."""

    async def case(network: LiveNetwork) -> None:
        async with (await network.client(0)).subscribe(
            TOPIC, "number >= 0", overflow="drop-oldest", schema=SCHEMA
        ) as got:
            await network.settle()
            writer = await network.client(1)
            for event in events(300):
                writer.publish(TOPIC, event)
            await writer.flush(seconds=600)
            await writer.close()
            assert sorted([(await anext(got))["number"] for _ in range(300)]) == list(range(300))

    play(case)


def test_many_conditions(play: Callable[[Case], None]) -> None:
    async def case(network: LiveNetwork) -> None:
        reader, writer = await network.client(0), await network.client(1)
        conditions = {"cheap": "price < 10 AND number >= 0", "even": "number IN (0, 2, 4)", "none": "price < -1"}
        async with reader.subscribe_many(TOPIC, conditions, overflow="drop-oldest", schema=SCHEMA) as named:
            await network.settle()
            await writer.publish_many(TOPIC, [{"symbol": "A", "price": 9.0 + n, "number": n} for n in range(3)])
            got = [await anext(named) for _ in range(3)]
            assert sorted((name, event["number"]) for name, event in got) == [("cheap", 0), ("even", 0), ("even", 2)]

    play(case)


def test_another_schema_is_refused(play: Callable[[Case], None]) -> None:
    async def case(network: LiveNetwork) -> None:
        client = await network.client(0)
        other = Schema(symbol=str, price=int, number=int)
        client.subscribe(TOPIC, overflow="drop-oldest", schema=SCHEMA)
        client.advertise(TOPIC, schema=SCHEMA)
        with pytest.raises(TopicError, match=r"another (schema|type)"):
            client.subscribe(TOPIC, overflow="drop-oldest", schema=other)
        with pytest.raises(TopicError, match=r"another (schema|type)"):
            client.advertise(TOPIC, schema=other)
        for wrong in ({"price": object()}, {"number": 1 << 70}, {"symbol": "\ud800"}):
            with pytest.raises(EventError):
                client.publish(TOPIC, {**events(1)[0], **wrong})

    play(case)


def test_mistakes_say_what_to_do(play: Callable[[Case], None]) -> None:
    async def case(network: LiveNetwork) -> None:
        client = await network.client(0)
        with pytest.raises(TopicError, match="at least 1"):
            client.subscribe(TOPIC, overflow="drop-oldest", queue=0, schema=SCHEMA)
        with pytest.raises(ClientError, match="'wait' or 'drop-oldest'"):
            client.subscribe(TOPIC, overflow="drop", schema=SCHEMA)  # type: ignore[arg-type]
        scheme = client.address.partition("://")[0]
        for name in NETWORKS:
            if name == scheme or (name, scheme) == ("dds", "island"):
                assert getattr(client, name) is not None
            else:
                with pytest.raises(ClientError, match=f"it was opened with {client.address}"):
                    getattr(client, name)
        if scheme in ("brokers", "overlay"):
            with pytest.raises(ClientError, match="no DDS options"):
                client.subscribe(TOPIC, overflow="drop-oldest", dds=DdsReaderOptions())
            with pytest.raises(ClientError, match="no DDS options"):
                client.advertise(TOPIC, schema=SCHEMA, dds=DdsWriterOptions())

    play(case)


def test_closed_twice_and_used_after_that(play: Callable[[Case], None]) -> None:
    async def case(network: LiveNetwork) -> None:
        client = await network.opening(0)
        client.advertise(TOPIC, schema=SCHEMA)
        open_still = client.subscribe(TOPIC, overflow="drop-oldest", schema=SCHEMA)
        await client.close()
        await client.close()
        assert client.is_closed
        assert [event async for event in open_still] == []
        open_still.close()
        said = f"this client of {client.address} is closed"
        with pytest.raises(ClientError, match=said):
            client.publish(TOPIC, events(1)[0])
        with pytest.raises(ClientError, match=said):
            client.subscribe(TOPIC, overflow="drop-oldest", schema=SCHEMA)
        with pytest.raises(ClientError, match=said):
            client.advertise(TOPIC, schema=SCHEMA)
        for work in (client.flush(TOPIC), client.room(TOPIC), client.publish_many(TOPIC, events(1))):
            with pytest.raises(ClientError, match=said):
                await work

    play(case)


def test_a_cancelled_reader_costs_no_event(play: Callable[[Case], None]) -> None:
    async def case(network: LiveNetwork) -> None:
        reader, writer = await network.client(0), await network.client(1)
        async with reader.subscribe(TOPIC, "number >= 0", overflow="drop-oldest", schema=SCHEMA) as got:
            await network.settle()
            seen: list[int] = []

            async def read() -> None:
                async for event in got:
                    seen.append(event["number"])

            for number, event in enumerate(events(20)):
                reading = asyncio.ensure_future(read())
                writer.publish(TOPIC, event)
                await asyncio.sleep(0.002 * (number % 3))
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            seen += [(await anext(got))["number"] for _ in range(20 - len(seen))]
            assert sorted(seen) == list(range(20))

    play(case)


def test_plain_code_and_several_threads(play: Callable[[Case], None]) -> None:
    """The client and its subscription without a loop: four threads publish, one reads."""

    def publish(client: PlainClient, share: int) -> None:
        for event in events(200)[share::4]:
            client.publish(TOPIC, event)

    def plain(opening: ClientOpening, overflow: Overflow) -> None:
        with opening as client:
            assert isinstance(client, PlainClient)
            client.advertise(TOPIC, schema=SCHEMA)
            with client.subscribe(TOPIC, overflow=overflow, schema=SCHEMA) as got:
                with pytest.raises(TimeoutError):
                    got.next(seconds=0.05)
                threads = [threading.Thread(target=publish, args=(client, share)) for share in range(4)]
                for thread in threads:
                    thread.start()
                seen = []
                for event in got:
                    seen.append(event["number"])
                    if len(seen) == 200:
                        break
                for thread in threads:
                    thread.join()
                client.flush(TOPIC, seconds=600)
                assert sorted(seen) == list(range(200))
            assert client.run(_address) == client.run(_address)
            reading = client.subscribe(TOPIC, overflow=overflow, schema=SCHEMA)
            with pytest.raises(ClientError, match="opened with `with`"):
                client.run(lambda _: reading.__aenter__())
            with pytest.raises(ClientError, match="own thread"):
                client.run(lambda _: client.subscribe(TOPIC, overflow=overflow, schema=SCHEMA).__aenter__())
        with pytest.raises(ClientError, match="closed"):
            client.publish(TOPIC, events(1)[0])
        client.close()

    async def _address(client: rookery.Client) -> str:
        return client.address

    async def case(network: LiveNetwork) -> None:
        await asyncio.to_thread(plain, network.opening(0), "wait" if network.has_wait else "drop-oldest")

    play(case)


def test_plain_readers_end_when_the_client_is_closed(play: Callable[[Case], None]) -> None:
    def plain(opening: ClientOpening) -> None:
        client = opening.plain()
        reading = client.subscribe(TOPIC, overflow="drop-oldest", schema=SCHEMA)
        other = client.subscribe(TOPIC, "number = 1", overflow="drop-oldest", schema=SCHEMA)
        with reading, other:
            client.publish(TOPIC, events(2)[1])
            client.flush(TOPIC, seconds=600)
            assert reading.next(seconds=600)["number"] == 1
            ended: list[Event] = []
            thread = threading.Thread(target=lambda: ended.extend(reading))
            thread.start()
            while other.waiting < 1:
                pass
            client.close()
            thread.join()
            assert ended == []
            assert [event["number"] for event in other] == [1], "what came before can still be read"

    async def case(network: LiveNetwork) -> None:
        await asyncio.to_thread(plain, network.opening(0))

    play(case)


@pytest.mark.parametrize("address", ["0", "dds", "tcp://x", "dds://x", "brokers://", "brokers://x", "island://", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    async def enter() -> None:
        async with rookery.open(address):
            pass

    with pytest.raises(RookeryError) as refused:
        asyncio.run(enter())
    assert "://" in str(refused.value) or "host:port" in str(refused.value)


def test_options_of_another_network_are_refused() -> None:
    async def enter(opening: ClientOpening) -> None:
        async with opening:
            pass

    with pytest.raises(SettingsError, match="dds://0 takes DdsOptions, not BrokerOptions"):
        asyncio.run(enter(rookery.open("dds://0", BrokerOptions())))
    with pytest.raises(SettingsError, match="brokers://h:1 takes BrokerOptions, not DdsOptions"):
        asyncio.run(enter(rookery.open("brokers://h:1", DdsOptions())))
    with pytest.raises(SettingsError, match="needs OverlayOptions"), rookery.open("overlay://"):
        pass


def test_an_opening_is_for_one_client() -> None:
    opening = rookery.open("dds://229")
    with opening:
        pass
    with pytest.raises(ClientError, match=r"call rookery\.open again"), opening:
        pass


def test_on_dds_who_does_not_read_its_own_events_may_not_publish_more() -> None:
    async def test() -> None:
        async with rookery.open("dds://228") as client:
            subscription = client.subscribe(TOPIC, overflow="wait", queue=3, schema=SCHEMA)
            for event in events(3):
                client.publish(TOPIC, event)
            with pytest.raises(HistoryFullError, match="take from it first"):
                client.publish(TOPIC, events(4)[3])
            publishing = asyncio.ensure_future(client.publish_many(TOPIC, events(10)))
            got = [(await anext(subscription))["number"] for _ in range(13)]
            assert (await publishing, got) == (10, [0, 1, 2, *range(10)])

    asyncio.run(test())


def test_on_dds_a_best_effort_reader_makes_nobody_wait() -> None:
    async def test() -> None:
        async with rookery.open("dds://227") as client:
            with pytest.raises(ClientError, match="best-effort"):
                client.subscribe(TOPIC, overflow="wait", schema=SCHEMA, dds=DdsReaderOptions(reliable=False))
            with pytest.raises(TopicError, match="give schema="):
                client.subscribe(TOPIC, overflow="drop-oldest")

    asyncio.run(test())
