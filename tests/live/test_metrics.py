"""Metrics on request: the text format, the port, and what real parts count."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domains import new_domain

import rookery
from rookery.brokers.configuration import BrokerDurability
from rookery.errors import ServeError
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.metrics import (
    CONTENT_TYPE,
    Metric,
    broker_metrics,
    exposition,
    measured,
    participant_metrics,
    serve_metrics,
)
from rookery.model import Schema
from rookery.space.axes import Axis, EventSpace

LINE = re.compile(
    r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\\\|\\"|\\n)*"\})? (?:NaN|[+-]Inf|-?[0-9.e+-]+)$'
)


@given(
    st.dictionaries(st.text(max_size=10), st.floats() | st.integers(-(2**60), 2**60), max_size=5), st.text(max_size=20)
)
def test_whatever_is_counted_is_in_the_format(values: dict[str, float], help: str) -> None:
    things = Metric("things_total", help, {(("kind", key),): value for key, value in values.items()})
    text = exposition([things, Metric("one", "x", {(): 1}, "gauge")])
    first, kind, *lines = text.removesuffix("\n").split("\n")
    assert first.startswith("# HELP rookery_things_total ")
    assert kind == "# TYPE rookery_things_total counter"
    samples = [line for line in lines if not line.startswith("# ")]
    assert len(samples) == len(values) + 1
    assert all(LINE.match(line) for line in samples), samples


def test_values_are_written_as_they_are() -> None:
    text = exposition([Metric("a b", "two\nlines", {(("k", 'q"\\'),): 2.5, (): math.inf}, "gauge")])
    assert text == (
        '# HELP rookery_a_b two\\nlines\n# TYPE rookery_a_b gauge\nrookery_a_b{k="q\\"\\\\"} 2.5\nrookery_a_b +Inf\n'
    )


def test_what_is_measured_is_in_the_list() -> None:
    assert measured("broker_clients", 3) == Metric("broker_clients", "Clients that are attached.", {(): 3}, "gauge")
    assert measured("dds_known", {"b": 2, "a": 1}).values == {(("what", "a"),): 1, (("what", "b"),): 2}
    with pytest.raises(KeyError):
        measured("broker_moods", 3)


async def ask(port: int, request: str) -> tuple[str, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    await writer.drain()
    answer = b""
    with contextlib.suppress(ConnectionResetError):  # who closes with something unread resets the connection
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    head, _, body = answer.decode().partition("\r\n\r\n")
    return head, body


def test_the_port_answers_one_question_of_this_machine() -> None:
    async def test() -> None:
        asked = 0

        def collect() -> list[Metric]:
            nonlocal asked
            asked += 1
            return [Metric("asked", "How often.", {(): asked}, "gauge")]

        async with serve_metrics(0, collect) as port:
            head, body = await ask(port, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n")
            assert head.startswith("HTTP/1.1 200 OK\r\n")
            assert f"Content-Type: {CONTENT_TYPE}" in head
            assert body.endswith("rookery_asked 1\n")
            for request, status in (
                ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
                ("GET /metrics HTTP/1.1\r\n\r\n", "421"),
                ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
                ("GET / HTTP/1.1\r\nhost: [::1]:80\r\n\r\n", "404"),
            ):
                assert (await ask(port, request))[0].split()[1] == status, request
            assert await ask(port, "G" * 10_000 + "\r\n\r\n") == ("", ""), "a head that is too long gets nothing"
            assert asked == 1
            with pytest.raises(ServeError, match="give another --metrics"):
                async with serve_metrics(port, collect):
                    pass
        with pytest.raises(ConnectionRefusedError):
            await ask(port, "")

    asyncio.run(test())


@pytest.mark.wire
def test_a_participant_is_measured_by_its_own_counters() -> None:
    async def test() -> str:
        domain_id = new_domain()
        async with rookery.open(f"dds://{domain_id}") as one, rookery.open(f"dds://{domain_id}") as other:
            other.advertise("quotes", schema={"price": "float64"})
            async with one.subscribe("quotes", overflow="wait", schema={"price": "float64"}):
                await other.dds.wait_for_readers("quotes", seconds=600)
                return exposition(participant_metrics(one.dds.udp.participant))

    text = asyncio.run(test())
    assert 'rookery_dds_known{what="participants"} 1\n' in text
    assert int(re.findall(r'rookery_dds_total\{counter="bytes_in"\} (\d+)', text)[0]) > 0


@pytest.mark.wire
def test_a_broker_is_measured_by_its_zones() -> None:
    schema = Schema.from_dict({"price": "float64"})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    settings = BrokerSettings(
        "quotes", EventSpace(schema, [Axis("price", 0, 100)]), address, durability=BrokerDurability.MEMORY
    )

    async def test() -> str:
        broker = LiveBroker(settings)
        await broker.start()
        try:
            opening = rookery.open(f"brokers://{address[0]}:{address[1]}")
            async with opening as client, client.subscribe("quotes", "price < 10", overflow="wait"):
                client.publish("quotes", {"price": 5.0})
                await client.flush("quotes", seconds=600)
                return exposition(broker_metrics(broker))
        finally:
            await broker.stop(leave=False)

    text = asyncio.run(test())
    assert 'rookery_broker_events{zone="all"} 1\n' in text
    assert 'rookery_broker_subscriptions{zone="all"} 1\n' in text
    assert "rookery_broker_clients 1\n" in text
    assert int(re.findall(r'rookery_broker_total\{counter="matched"\} (\d+)', text)[0]) == 1
