"""The policies of owners against Cyclone DDS: instances and their ends, partitions, deadline, lifespan, user data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import rookery
from rookery import DdsOptions, DdsReaderOptions, DdsWriterOptions
from rookery.participant.instances import InstanceState

from .conftest import QUOTE, CyclonePeer, survey_until

pytestmark = pytest.mark.wire

Cyclone = Callable[..., CyclonePeer]
A, B = {"symbol": "A", "price": 1.0, "size": 1}, {"symbol": "B", "price": 2.0, "size": 2}


def run(test: Any) -> None:
    asyncio.run(test)


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds; the limit only turns a hang into a failure."""
    async with asyncio.timeout(600):
        while not condition():
            await asyncio.sleep(0.01)


def test_instances_and_their_ends_are_told(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="quotes", type="Quote")
        async with rookery.open(f"dds://{domain_id}") as client:
            changes: list[tuple[str, str]] = []
            client.dds.on_instance = lambda changed: changes.append((changed.key["symbol"], changed.state.value))
            options = DdsReaderOptions(instances=True)
            async with client.subscribe("quotes", "price > 100", overflow="wait", schema=QUOTE, dds=options):
                assert await peer.ask("wait_matched", entity=there)
                await peer.ask("write", entity=there, samples=[A, B, A])
                await peer.ask("dispose", entity=there, sample=A)
                await until(lambda: ("A", "disposed") in changes)
                await peer.ask("unregister", entity=there, sample=B)
                await until(lambda: ("B", "no writers") in changes)
                await peer.ask("write", entity=there, samples=[A])
                await until(lambda: changes[-1] == ("A", "alive"))
                states = {key["symbol"]: state for key, state in client.dds.instances("quotes")}
                assert states == {"A": InstanceState.ALIVE, "B": InstanceState.NO_WRITERS}
                await peer.ask("delete", entity=there)
                await until(lambda: changes[-1] == ("A", "no writers"))
            expected = [("A", "alive"), ("B", "alive"), ("A", "disposed"), ("B", "no writers")]
            assert changes == [*expected, ("A", "alive"), ("A", "no writers")]

    run(test())


def test_what_is_disposed_and_unregistered_here_ends_there(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("reader", topic="quotes", type="Quote")
        async with rookery.open(f"dds://{domain_id}") as client:
            client.advertise("quotes", schema=QUOTE, dds=DdsWriterOptions(type_name="test::Quote"))
            await client.dds.wait_for_readers("quotes", seconds=600)
            client.publish("quotes", A)
            client.publish("quotes", B)
            client.dds.dispose("quotes", {"symbol": "A"})
            client.dds.unregister("quotes", {"symbol": "B"})
            await client.flush("quotes", seconds=600)
            taken = await peer.ask("take", entity=there, count=2)
            assert {(sample or {}).get("symbol"): state for sample, state in taken} == {
                "A": "disposed",
                "B": "no_writers",
            }

    run(test())


def test_partitions_part_and_join(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="quotes", type="Quote", partitions=["plant-7"])
        async with (
            rookery.open(f"dds://{domain_id}") as client,
            rookery.open(f"dds://{domain_id}") as other,
            client.subscribe(
                "quotes", "", overflow="wait", schema=QUOTE, dds=DdsReaderOptions(partitions=("plant-*",))
            ) as inside,
            other.subscribe(
                "quotes", "", overflow="wait", schema=QUOTE, dds=DdsReaderOptions(partitions=("office",))
            ) as outside,
        ):
            assert await peer.ask("wait_matched", entity=there, count=1)
            await peer.ask("write", entity=there, samples=[A])
            assert await anext(aiter(inside)) == A
            assert outside.waiting == 0

    run(test())


def test_a_deadline_that_is_missed_is_reported(
    cyclone: Cyclone, domain_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="quotes", type="Quote", deadline=1)
        options = DdsReaderOptions(seconds_of_deadline=1.0)
        async with (
            rookery.open(f"dds://{domain_id}") as client,
            client.subscribe("quotes", "", overflow="wait", schema=QUOTE, dds=options) as quotes,
        ):
            assert await peer.ask("wait_matched", entity=there)
            await peer.ask("write", entity=there, samples=[A])
            assert await anext(aiter(quotes)) == A
            await until(lambda: client.dds.missed_deadlines["quotes"] >= 2)

    run(test())
    assert "deadline of quotes missed" in caplog.text


def test_lifespan_and_user_data_are_said_and_read(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        await peer.ask("writer", topic="there", type="Quote", lifespan=7, user_data="of the plant")
        async with rookery.open(f"dds://{domain_id}", DdsOptions(user_data=b"of our plant")) as client:
            options = DdsWriterOptions(
                type_name="test::Quote", seconds_of_lifespan=9.0, user_data=b"of the office", partitions=("p",)
            )
            client.advertise("quotes", schema=QUOTE, dds=options)
            found: dict[str, Any] = {}

            async def is_seen() -> bool:
                every = (await peer.ask("builtin"))["publications"]
                found.update(next((one["qos"] for one in every if one["topic"] == "quotes"), {}))
                return bool(found)

            async with asyncio.timeout(600):
                while not await is_seen():
                    await asyncio.sleep(0.05)
            there = (await peer.ask("builtin"))["participants"]
            assert sorted(one["qos"].get("user_data", "") for one in there) == ["enclave=/;", "of our plant"]
            assert found["user_data"] == "of the office"
            assert found["lifespan"] == pytest.approx(9.0)
            assert found["partitions"] == ["p"]
            seen = await survey_until(
                lambda seen: any(one.topic == "there" for one in seen.endpoints), domain_id=domain_id
            )
            quality = {one.topic: one.quality for one in seen.endpoints if one.kind == "writer"}
            assert quality["there"]["user_data"] == "of the plant"
            assert sorted(one.user_data for one in seen.participants) == ["enclave=/;", "of our plant"]
            assert quality["there"]["lifespan_seconds"] == pytest.approx(7.0)

    run(test())


def test_events_that_are_too_close_are_left_out(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="quotes", type="Quote")
        options = DdsReaderOptions(seconds_of_separation=3600.0)
        async with (
            rookery.open(f"dds://{domain_id}") as client,
            client.subscribe("quotes", "", overflow="wait", schema=QUOTE, dds=options) as quotes,
        ):
            assert await peer.ask("wait_matched", entity=there)
            await peer.ask("write", entity=there, samples=[A, {**A, "size": 2}, B, {**B, "size": 3}, {**A, "size": 4}])
            events = aiter(quotes)
            assert [await anext(events), await anext(events)] == [A, B]
            await until(lambda: client.dds.udp.participant.counters["too_close"] == 3)
            assert quotes.waiting == 0

    run(test())


def test_the_stronger_of_two_writers_there_has_an_instance(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        weak, strong = [
            await peer.ask("writer", topic="quotes", type="Quote", strength=strength, by_source_time=True)
            for strength in (1, 2)
        ]
        options = DdsReaderOptions(exclusive=True)
        async with (
            rookery.open(f"dds://{domain_id}") as client,
            client.subscribe("quotes", "size < 100", overflow="wait", schema=QUOTE, dds=options) as quotes,
        ):
            for writer in (weak, strong):
                assert await peer.ask("wait_matched", entity=writer)
            events = aiter(quotes)
            for number, writer in enumerate((weak, strong), start=1):
                await peer.ask("write", entity=writer, samples=[{**A, "size": number}])
                assert (await anext(events))["size"] == number
            await peer.ask("write", entity=weak, samples=[{**A, "size": 3}, {**B, "size": 4}])
            await peer.ask("write", entity=strong, samples=[{**A, "size": 100}, {**A, "size": 5}])
            assert sorted([(await anext(events))["size"], (await anext(events))["size"]]) == [4, 5]
            await peer.ask("unregister", entity=strong, sample=A)
            await peer.ask("delete", entity=strong)
            await until(lambda: len(client.dds.udp.participant.remote_endpoints) == 1)
            await peer.ask("write", entity=weak, samples=[{**A, "size": 6}])
            assert (await anext(events))["size"] == 6
            found = await survey_until(lambda found: found.endpoints, domain_id=domain_id)
            (seen,) = [one for one in found.endpoints if one.kind == "writer"]
            assert (seen.quality["ownership"], seen.quality["ownership_strength"]) == ("exclusive", 1)
            assert seen.quality["destination_order"] == "by_source"

    run(test())


def test_the_stronger_of_two_writers_here_has_an_instance_there(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("reader", topic="quotes", type="Quote", strength=None)
        async with rookery.open(f"dds://{domain_id}") as weak, rookery.open(f"dds://{domain_id}") as strong:
            for strength, client in enumerate((weak, strong), start=1):
                options = DdsWriterOptions(
                    type_name="test::Quote", exclusive=True, strength=strength, by_source_time=True
                )
                client.advertise("quotes", schema=QUOTE, dds=options)
                await client.dds.wait_for_readers("quotes", seconds=600)
            got = []
            for number, client in enumerate((weak, strong, weak, strong), start=1):
                client.publish("quotes", {**A, "size": number})
                await client.flush("quotes", seconds=600)
                if number != 3:
                    got += await peer.ask("take", entity=there, count=1)
            assert [sample["size"] for sample, _ in got] == [1, 2, 4]

    run(test())
