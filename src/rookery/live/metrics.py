"""Metrics on request: what a process counts, in the text format of Prometheus, over a port of its own.

Rule 1: nothing is measured for the metrics' sake. They are the counters that the machines keep anyway, read when they
are asked for.
Rule 2: what is served is in one list (`metric_list.py`), from which the dashboard is made too.
Rule 3: the port is this machine's alone. It answers `GET /metrics` and nothing else, reads no more than a request's
head, and takes no longer than a few seconds for it; a name in the Host header that is not this machine's is refused, as
the page does.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import math
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rookery.errors import ServeError
from rookery.live.metric_list import METRICS, PREFIX

if TYPE_CHECKING:
    from rookery.live.brokers.server import LiveBroker
    from rookery.live.island import IslandTransport
    from rookery.participant import Participant

__all__ = [
    "CONTENT_TYPE",
    "Metric",
    "broker_metrics",
    "exposition",
    "island_metrics",
    "measured",
    "participant_metrics",
    "serve_metrics",
]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Bytes and seconds that a request may take.
LARGEST_HEAD = 8_192
PATIENCE = 5.0
MOST_CONNECTIONS = 16

_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its values by label. A counter's name ends in `_total`."""

    name: str
    help: str
    values: Mapping[tuple[tuple[str, str], ...], float] = field(default_factory=dict)
    kind: str = "counter"


def measured(name: str, values: Mapping[str, float] | float) -> Metric:
    """Return a metric of the list with its present value, or a value for each value of its label."""
    described = METRICS[name]
    if isinstance(values, Mapping):
        assert described.label is not None, f"{name} has no label"
        label = described.label
        table: dict[tuple[tuple[str, str], ...], float] = {((label, key),): values[key] for key in sorted(values)}
        return Metric(name, described.help, table, described.kind)
    assert described.label is None, f"{name} has a label"
    return Metric(name, described.help, {(): values}, described.kind)


def exposition(metrics: Iterable[Metric]) -> str:
    """Write metrics in the text format."""
    lines = []
    for metric in metrics:
        name = PREFIX + _NOT_A_NAME.sub("_", metric.name)
        lines += [f"# HELP {name} {_escape(metric.help)}", f"# TYPE {name} {metric.kind}"]
        for labels, value in metric.values.items():
            inside = ",".join(f'{_NOT_A_NAME.sub("_", key)}="{_escape(text, quoted=True)}"' for key, text in labels)
            lines.append(f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}")
    return "".join(line + "\n" for line in lines)


def _escape(text: str, *, quoted: bool = False) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if quoted else escaped


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(int(value)) if value == int(value) else repr(float(value))


def participant_metrics(participant: Participant) -> list[Metric]:
    """Return what a DDS participant counts: bytes, messages, rejections, losses, by the names of its counters."""
    known = {"participants": len(participant.peers), "endpoints": len(participant.remote_endpoints)}
    return [
        measured("dds_total", participant.counters),
        measured("dds_known", known),
        measured("dds_held_bytes", participant.held_bytes),
    ]


def island_metrics(island: IslandTransport) -> list[Metric]:
    """Return what the gateway of a site counts, and its participant."""
    status = island.status()
    return [
        *participant_metrics(island.dds.udp.participant),
        measured("island_total", status["counters"]),
        measured("island_sites_reached", sum(bool(way["reached by"]) for way in status["sites"].values())),
    ]


def broker_metrics(broker: LiveBroker) -> list[Metric]:
    """Return what a broker counts and holds."""
    status = broker.status()
    zones = {zone["path"] or "all": zone for zone in status["zones"]}
    return [
        measured("broker_total", status["counters"]),
        measured("broker_events", {key: zone["events"] for key, zone in zones.items()}),
        measured("broker_subscriptions", {key: zone["subscriptions"] for key, zone in zones.items()}),
        measured("broker_clients", status["clients"]),
        measured("broker_events_in_flight", status["in_flight"]["events"]),
    ]


@contextlib.asynccontextmanager
async def serve_metrics(port: int, collect: Callable[[], Iterable[Metric]]) -> AsyncIterator[int]:
    """Answer on a port of 127.0.0.1 (0 for any) while the block runs; gives the port."""
    busy = asyncio.Semaphore(MOST_CONNECTIONS)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with busy, asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
                status, body = _respond(head, collect)
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(body)}\r\n"
                    "Connection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(answer, "127.0.0.1", port, limit=LARGEST_HEAD)
    except OSError as error:
        raise ServeError(f"no metrics on port {port} of 127.0.0.1: {error.strerror}; give another --metrics") from error
    async with server:
        yield int(server.sockets[0].getsockname()[1])


def _respond(head: bytes, collect: Callable[[], Iterable[Metric]]) -> tuple[str, bytes]:
    request, *lines = head.decode("latin-1").split("\r\n")
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    host = next((value.strip() for key, value in fields.items() if key.lower() == "host"), "")
    if not _is_here(host):
        return "421 Misdirected Request", b"this machine is not known by that name\n"
    method, _, target = request.partition(" ")
    if method != "GET":
        return "405 Method Not Allowed", b"GET alone\n"
    if target.partition(" ")[0] != "/metrics":
        return "404 Not Found", b"the metrics are at /metrics\n"
    return "200 OK", exposition(collect()).encode()


def _is_here(host: str) -> bool:
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
