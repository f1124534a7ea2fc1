"""Metrics on request: what a process counts, in the text format of Prometheus, over a port of its own.

Rule 1: nothing is measured for the metrics' sake. They are the counters that the machines keep anyway, read when they
are asked for.
Rule 2: the port is this machine's alone. It answers `GET /metrics` and nothing else, reads no more than a request's
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

if TYPE_CHECKING:
    from rookery.live.brokers.server import LiveBroker
    from rookery.live.island import IslandTransport
    from rookery.participant import Participant

__all__ = [
    "CONTENT_TYPE",
    "Metric",
    "broker_metrics",
    "counters",
    "exposition",
    "gauge",
    "gauges",
    "island_metrics",
    "participant_metrics",
    "serve_metrics",
]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Octets and seconds that a request may take.
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


def counters(name: str, help: str, values: Mapping[str, float], *, label: str = "kind") -> Metric:
    """Return a table of counters as one metric with a label."""
    return Metric(f"{name}_total", help, {((label, key),): value for key, value in sorted(values.items())})


def gauges(name: str, help: str, values: Mapping[str, float], *, label: str = "kind") -> Metric:
    """Return a table of present values as one metric with a label."""
    return Metric(name, help, {((label, key),): value for key, value in sorted(values.items())}, "gauge")


def gauge(name: str, help: str, value: float) -> Metric:
    """Return one present value."""
    return Metric(name, help, {(): value}, "gauge")


def exposition(metrics: Iterable[Metric]) -> str:
    """Write metrics in the text format."""
    lines = []
    for metric in metrics:
        name = "rookery_" + _NOT_A_NAME.sub("_", metric.name)
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
        counters("dds", "What the DDS participant has counted.", participant.counters, label="counter"),
        gauges("dds_known", "Remote participants and endpoints that are known.", known, label="what"),
        gauge("dds_held_bytes", "Bytes of samples that are not delivered yet.", participant.held_bytes),
    ]


def island_metrics(island: IslandTransport) -> list[Metric]:
    """Return what the gateway of a site counts, and its participant."""
    status = island.status()
    reached = sum(bool(way["reached by"]) for way in status["sites"].values())
    return [
        *participant_metrics(island.dds.udp.participant),
        counters("island", "What the gateway of this site has counted.", status["counters"], label="counter"),
        gauge("island_sites_reached", "Sites that can be reached.", reached),
    ]


def broker_metrics(broker: LiveBroker) -> list[Metric]:
    """Return what a broker counts and holds."""
    status = broker.status()
    zones = {zone["path"] or "all": zone for zone in status["zones"]}
    return [
        counters("broker", "What the broker has counted.", status["counters"], label="counter"),
        gauges(
            "broker_events", "Events seen, by zone.", {key: zone["events"] for key, zone in zones.items()}, label="zone"
        ),
        gauges(
            "broker_subscriptions",
            "Subscriptions held, by zone.",
            {key: zone["subscriptions"] for key, zone in zones.items()},
            label="zone",
        ),
        gauge("broker_clients", "Clients that are attached.", status["clients"]),
        gauge(
            "broker_events_in_flight", "Events not yet acknowledged by their clients.", status["in_flight"]["events"]
        ),
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
