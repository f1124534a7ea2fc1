"""What is simulated is what runs live: the same messages, in bytes, on sockets and in a world."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

import rookery
from rookery import BrokerOptions
from rookery.brokers.client_messages import FromBroker, FromClient
from rookery.brokers.configuration import BrokerConfiguration, BrokerProximity
from rookery.brokers.messages import Body, Message, Routed
from rookery.live.brokers import client as live_client
from rookery.live.brokers import server as live_server
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.opening import ClientOpening
from rookery.papers.loopback import free_port
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.notation import read_space

from .broker_fleet import SCHEMA, SPACE

SECOND = 1_000_000
BROKERS = 10
#: Small enough that a program that takes nothing is soon given no more.
WINDOW = 8
SYMBOLS = ("ACME", "ZULU", "aldi", "Ørsted")
#: What is sent only when an operator wants it or loads are uneven, when somebody closer has come, when somebody has
#: come or gone since clients were told of the other brokers, or when a disk has lost something: no load makes it
#: happen.
RARE = {
    "FetchReplicas",
    "ReplicasFetched",
    "AskStatus",
    "Status",
    "GiveZone",
    "TakeZone",
    "TransferZone",
    "RequestZone",
    "ResidentChanged",
    "KnownBrokers",
    "SubscriptionRejected",
}
EVERY = {kind.__name__ for union in (Message, Body, FromBroker, FromClient) for kind in union.__args__} - RARE


class Types:
    """The types of messages that were sent, as their bytes say."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._decoders = [msgspec.msgpack.Decoder(union) for union in (Message, FromBroker, FromClient)]

    def note(self, data: bytes) -> None:
        for decoder in self._decoders:
            try:
                message = decoder.decode(data)
            except msgspec.ValidationError:
                continue
            self.seen.add(type(message).__name__)
            if isinstance(message, Routed):
                self.seen.add(type(message.body).__name__)
            return
        raise AssertionError("bytes that nobody can read")

    @property
    def missing(self) -> set[str]:
        return EVERY - self.seen


def an_event(generator: random.Random, number: int) -> dict[str, Any]:
    return {"symbol": generator.choice(SYMBOLS), "price": generator.uniform(0, 1000), "number": number}


def world(types: Types) -> None:
    """Ten brokers under load, a program that takes nothing, one that has lost its count, a crash, a departure."""
    configuration = BrokerConfiguration(
        space=read_space(SPACE, SCHEMA),
        topic="quotes",
        beat=SECOND,
        refresh=4 * SECOND,
        ancestors=4 * SECOND,
        window=WINDOW,
        proximity=BrokerProximity.COORDINATES,
        stretch_probes=4,
        balance=5 * SECOND,
    )
    network, generator = SimulatedBrokers(configuration, seed=3), random.Random(3)
    network.world.on_message = lambda _, __, message: types.note(msgspec.msgpack.encode(message))
    network.join()
    publisher = network.client(1)
    subscribers = [network.client(1) for _ in range(3)]
    for client in subscribers:
        client.subscribe("all", "price >= 0")
    network.run(SECOND)
    publisher.publish(an_event(generator, 0))  # and nobody to keep a copy
    network.run(SECOND)
    for _ in range(BROKERS - 1):
        network.join()
        network.run(SECOND)
    numbers = iter(range(1, 1 << 30))
    subscribers[0].acknowledge_after(None)

    def load() -> None:
        publisher.publish(*(an_event(generator, number) for _, number in zip(range(10), numbers, strict=False)))
        network.run(SECOND // 2)

    for _ in range(10):
        load()
    subscribers[0].acknowledge_after(500)
    subscribers[1].machine.versions.learn(1 << 40)
    subscribers[1].subscribe("more", "price > 50")
    load()
    crashed = subscribers[1].machine.broker
    network.crash(crashed)
    subscribers[1].forget()
    for _ in range(20):
        load()
    network.restart(crashed)
    network.leave(subscribers[2].machine.broker)
    subscribers[0].unsubscribe("all")
    several = subscribers[0].machine.subscribe({"low": ("price < -1", ()), "lower": ("price < -2", ())})
    subscribers[0].perform()
    load()
    subscribers[0].machine.unsubscribe(several)
    subscribers[0].perform()
    while types.missing:
        load()


async def live(types: Types, folder: Path) -> None:
    """The same on sockets, with brokers and clients in one process."""
    generator = random.Random(3)
    ports = [free_port() for _ in range(BROKERS)]
    brokers: list[LiveBroker] = []

    async def join(port: int) -> LiveBroker:
        settings = BrokerSettings(
            topic="quotes",
            space=read_space(SPACE, SCHEMA),
            listen=("127.0.0.1", port),
            join=tuple(("127.0.0.1", broker.settings.listen[1]) for broker in brokers),
            data=folder / str(port),
            beat=0.5,
            refresh=2.0,
            window=WINDOW,
        )
        broker = LiveBroker(settings)
        await broker.start()
        while not broker.machine.owned:
            await asyncio.sleep(0.02)
        brokers.append(broker)
        return broker

    async def load() -> None:
        for _, number in zip(range(10), numbers, strict=False):
            await publisher.publish_many("quotes", [an_event(generator, number)])
        await asyncio.sleep(0.1)

    def at(port: int, **options: Any) -> ClientOpening:
        return rookery.open(f"brokers://127.0.0.1:{port}", BrokerOptions(**options))

    patient = {"retry": 0.5, "attempts": 600.0}
    await join(ports[0])
    numbers = iter(range(1 << 30))
    async with at(ports[0], **patient) as publisher, at(ports[0]) as slow:
        taking = asyncio.create_task(take_slowly(slow.subscribe("quotes", "price >= 0", overflow="wait")))
        await load()
        for port in ports[1:]:
            await join(port)
        counted = await at(ports[1], secret=b"its own", **patient)
        counted.brokers.machine.versions.learn(1 << 40)
        await counted.subscribe("quotes", "price > 50", overflow="wait").__aenter__()
        for _ in range(10):
            await load()
        dead = next(broker for broker in brokers if broker.address[1] == counted.brokers.addresses[0][1])
        await counted.brokers.detach()
        await dead.stop(leave=False)
        brokers.remove(dead)
        again = await at(next(broker.address[1] for broker in brokers), secret=b"its own", **patient)
        await again.subscribe("quotes", "price > 50", overflow="wait").__aenter__()
        for _ in range(10):
            await load()
        await join(dead.address[1])
        gone = brokers.pop(3)
        await gone.stop()
        publisher.subscribe("quotes", "price < 0", overflow="wait").close()
        async with publisher.subscribe_many("quotes", {"low": "price < -1", "lower": "price < -2"}, overflow="wait"):
            pass
        while types.missing:
            await load()
        await again.close()
        taking.cancel()
    for broker in brokers:
        await broker.stop(leave=False)


async def take_slowly(feed: Any) -> None:
    async for _ in feed:
        await asyncio.sleep(0.01)


def tap(module: ModuleType, types: Types, monkeypatch: pytest.MonkeyPatch) -> None:
    encode = module._encode

    def noted(message: Any) -> bytes:
        data: bytes = encode(message)
        types.note(data)
        return data

    monkeypatch.setattr(module, "_encode", noted)


def test_the_same_types_of_messages_are_sent_live_and_in_the_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated, sent = Types(), Types()
    world(simulated)
    tap(live_server, sent, monkeypatch)
    tap(live_client, sent, monkeypatch)
    asyncio.run(live(sent, tmp_path))
    assert simulated.seen - RARE == sent.seen - RARE == EVERY
