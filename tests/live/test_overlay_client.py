"""The overlay's client: moving without missing events, its address, strangers, packed events, and the command."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

import rookery
from rookery import OverlayOptions, Schema
from rookery.errors import EventError, JoinError, SettingsError, TopicError
from rookery.live.brokers.settings import parse_address
from rookery.live.credentials import Credentials
from rookery.live.opening import ClientOpening
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.interests import WhereInterests
from rookery.overlay.messages import CellEvent as OverlayEvent
from rookery.overlay.messages import decode
from rookery.overlay.peer import Peer
from rookery.space.grid import CategoricalAxis, Grid, NumericAxis

SCHEMA = Schema(symbol=str, price=float)
GRID = Grid([CategoricalAxis("symbol", ("ACME", "BOLT")), NumericAxis("price", (0.0, 25.0, 50.0, 75.0, 100.0))])
OPTIONS: dict[str, Any] = {
    "topic": "quotes",
    "schema": SCHEMA,
    "grid": GRID,
    "configuration": OverlayConfiguration(heartbeat=2_000_000, request_timeout=300_000),
}


def join(*known: tuple[str, int], **options: Any) -> ClientOpening:
    """A client that is a peer of the test's overlay, joined through others."""
    through = ",".join(f"{host}:{port}" for host, port in known)
    return rookery.open(f"overlay://{through}", OverlayOptions(**{**OPTIONS, **options}))


async def take(events: Any, count: int) -> list[float]:
    async with asyncio.timeout(600):
        return [(await anext(events))["price"] for _ in range(count)]


def test_other_interests_are_taken_up_without_missing_events() -> None:
    """Events flow all the while as a node moves to other rings three times; the subscription that stays misses none."""

    async def scenario() -> None:
        async with (
            join() as first,
            join(first.overlay.address) as node,
            node.subscribe("quotes", "symbol = 'ACME'", overflow="drop-oldest") as events,
        ):
            places = {node.overlay.peer.node}
            done = asyncio.Event()

            async def flow() -> int:
                count = 0
                while not done.is_set():
                    first.publish("quotes", {"symbol": "ACME", "price": float(count)})
                    count += 1
                    await asyncio.sleep(0.005)
                return count

            flowing = asyncio.create_task(flow())
            for where in ("price < 10", "symbol = 'BOLT'", "price > 80"):
                async with node.subscribe("quotes", where, overflow="drop-oldest"):
                    places.add(node.overlay.peer.node)
                await node.overlay.settled()
            done.set()
            count = await flowing
            assert len(places) > 1
            assert sorted(await take(events, count)) == [float(number) for number in range(count)]
            assert events.dropped == 0

    asyncio.run(scenario())


def test_a_node_that_has_moved_is_still_found_at_its_address() -> None:
    async def scenario() -> None:
        async with join() as first:
            address = first.overlay.address
            await first.overlay.settled()
            before = first.overlay.peer.node
            async with first.subscribe("quotes", "price < 50", overflow="drop-oldest") as events:
                assert (first.overlay.peer.node, first.overlay.address) != (before, None)
                assert first.overlay.peer.node != before
                assert first.overlay.address == address
                async with join(address) as second:
                    second.publish("quotes", {"symbol": "BOLT", "price": 12.5})
                    assert await take(events, 1) == [12.5]

    asyncio.run(scenario())


def test_live_peers_send_multicast_downwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nested interests and MULTICAST: everybody gets what it wants, and who was sent it from above sends it on
    to nobody that covers it."""
    seen: list[tuple[int, int, bool]] = []
    receive_many = Peer.receive_many

    def watched(peer: Peer, messages: Iterable[bytes], sender: int, now: int) -> None:
        for message in map(decode, messages):
            if isinstance(message, OverlayEvent):
                seen.append((sender, peer.node, message.multicast))
        receive_many(peer, messages, sender, now)

    monkeypatch.setattr(Peer, "receive_many", watched)
    lean = {
        **OPTIONS,
        "configuration": OverlayConfiguration(downgrade=True, heartbeat=2_000_000, request_timeout=300_000),
    }

    async def scenario() -> None:
        async with (
            join(**lean) as wide,
            wide.subscribe("quotes", overflow="drop-oldest") as all_of_them,
            join(wide.overlay.address, **lean) as middle,
            middle.subscribe("quotes", "symbol = 'ACME' AND price < 50", overflow="drop-oldest") as some,
            join(wide.overlay.address, **lean) as narrow,
            narrow.subscribe("quotes", "symbol = 'ACME' AND price < 25", overflow="drop-oldest") as few,
        ):
            seen.clear()
            wide.publish("quotes", {"symbol": "ACME", "price": 12.0})
            for events in (all_of_them, some, few):
                assert await take(events, 1) == [12.0]
            await asyncio.sleep(0.1)  # for what should not be sent
            order = {wide.overlay.peer.node: 0, middle.overlay.peer.node: 1, narrow.overlay.peer.node: 2}
            assert seen
            assert all(multicast for _, _, multicast in seen)
            assert all(order[sender] < order[to] for sender, to, _ in seen)

    asyncio.run(scenario())


def test_an_event_is_matched_once_by_each_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many subscriptions it satisfies; who only publishes does not match at all."""
    matched: list[object] = []
    matching = WhereInterests.matching

    def counted(interests: WhereInterests, payload: Any) -> Any:
        matched.append(interests)
        return matching(interests, payload)

    monkeypatch.setattr(WhereInterests, "matching", counted)

    async def scenario() -> None:
        async with (
            join() as publisher,
            join(publisher.overlay.address) as reader,
            reader.subscribe("quotes", "symbol = 'ACME'", overflow="drop-oldest") as some,
            reader.subscribe("quotes", "symbol = 'ACME' AND price < 25", overflow="drop-oldest") as few,
        ):
            matched.clear()
            for price in range(10):
                publisher.publish("quotes", {"symbol": "ACME", "price": float(price)})
            for events in (some, few):
                assert sorted(await take(events, 10)) == [float(price) for price in range(10)]
            assert len(matched) == 10
            assert len(set(map(id, matched))) == 1

    asyncio.run(scenario())


def test_strangers_are_turned_away() -> None:
    """Another topic, another grid, another key, nobody there: each says that nobody of this overlay answers."""

    async def scenario() -> None:
        async with join(credentials=Credentials(b"k" * 16)) as first:
            await first.overlay.settled()
            other = Grid([NumericAxis("price", (0.0, 50.0, 100.0))])
            for wrong in (
                {"credentials": Credentials(key=b"k" * 16), "topic": "news"},
                {"credentials": Credentials(key=b"k" * 16), "grid": other},
                {"credentials": Credentials(key=b"l" * 16)},
                {"credentials": Credentials(key=None)},
            ):
                with pytest.raises(JoinError, match="nobody of this overlay answers"):
                    async with join(first.overlay.address, **wrong):
                        pass
        with pytest.raises(JoinError, match="nobody of this overlay answers"):
            async with join(first.overlay.address):
                pass

    asyncio.run(scenario())


def test_mistakes_of_the_caller() -> None:
    async def scenario() -> None:
        async with join() as node:
            with pytest.raises(JoinError, match="settled"):
                _ = node.overlay.peer
            with pytest.raises(TopicError, match="another schema"):
                node.subscribe("quotes", overflow="drop-oldest", schema={"price": "float64"})
            with pytest.raises(TopicError, match="at least 1"):
                node.subscribe("quotes", overflow="drop-oldest", queue=0)
            with pytest.raises(EventError):
                node.publish("quotes", {"symbol": "ACME", "price": object()})

    asyncio.run(scenario())


def test_addresses_are_read() -> None:
    assert parse_address("127.0.0.1:7400") == ("127.0.0.1", 7400)
    for wrong in ("7400", "host:", "host:x", "host:70000", "host:\u00b2", "tcp://host:7400", "host:1:2", "a b:1"):
        with pytest.raises(SettingsError):
            parse_address(wrong)


@pytest.mark.wire
def test_the_command_publishes_to_another_node() -> None:
    program = [sys.executable, "-c", "from rookery.cli import main; main()", "peer"]
    agreed = ["--topic", "quotes", "--schema", "symbol:string,price:float64", "--space", "symbol:A|B,price:0:100/8"]
    with subprocess.Popen(
        [*program, *agreed, "--where", "price < 50"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stderr is not None
        assert reader.stdout is not None
        try:
            while "--join" not in (line := reader.stderr.readline()):
                assert line, reader.wait()
            lines = '{"symbol": "A", "price": 60.0}\nno event\n{"symbol": "B", "price": 5.0}\n'
            address = line.split()[-1]
            sent = subprocess.run(
                [*program, *agreed, "--join", address, "--publish"], input=lines, capture_output=True, text=True
            )
            assert sent.returncode == 0, sent.stderr
            assert "line 2 is not published" in sent.stderr
            assert reader.stdout.readline() == '{"symbol": "B", "price": 5.0}\n'
        finally:
            reader.terminate()
