"""`rookery node --island`: run the gateway of a site, and print its topic's events or what becomes of the sites."""

from __future__ import annotations

import asyncio
import json as json_text
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from rookery.cli.keys import read_key
from rookery.cli.operations import announce, metrics_on
from rookery.cli.options import write
from rookery.errors import JoinError, SettingsError
from rookery.model import Schema

__all__ = ["run_island"]


async def run_island(
    site: str,
    topic: str | None,
    where: str | None,
    options: dict[str, Any],
    ends: dict[str, Any],
    place: dict[str, Any],
    seconds: float | None,
    *,
    json: bool,
    record: Path | None = None,
    metrics: int | None = None,
) -> None:
    """Run until the time is over, a signal comes, or a newer gateway of the same site takes over."""
    from rookery.live.brokers.settings import parse_address
    from rookery.live.dds import DdsOptions
    from rookery.live.island import IslandOptions
    from rookery.live.metrics import island_metrics
    from rookery.live.opening import open as open_client
    from rookery.live.transport import DdsReaderOptions

    if not ends["listen"] and not ends["join"]:
        raise SettingsError("a gateway alone joins nothing: give --listen HOST:PORT, --join HOST:PORT or both")
    if topic is not None and options["schema"] is None:
        raise SettingsError("--topic needs --schema, for example --schema 'symbol:string,price:float64'")
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            open_client(
                f"island://{site}@{','.join(ends['join'])}",
                IslandOptions(
                    listen=parse_address(ends["listen"]) if ends["listen"] else None,
                    key=read_key(ends["key_file"]),
                    domain_id=place["domain_id"],
                    dds=DdsOptions(interface=place["interface"], name=place["name"]),
                ),
            )
        )
        island = client.island
        where_to = f", listening at {island.address[0]}:{island.address[1]}" if island.address else ""
        announce(f"gateway of {site} in domain {place['domain_id']} on {place['interface']}{where_to}")
        if topic is not None:
            described = dict(options)
            schema = Schema.read(described.pop("schema"))
            reader = DdsReaderOptions(**{**described, "key": tuple(described["key"])})
            events = await stack.enter_async_context(
                client.subscribe(topic, where, overflow="drop-oldest", schema=schema, dds=reader)
            )
            printing = asyncio.create_task(_print_events(events))
        else:
            printing = asyncio.create_task(_print_sites(island, json=json))
        stack.callback(printing.cancel)
        await stack.enter_async_context(metrics_on(metrics, lambda: island_metrics(island)))
        if record is not None:
            from rookery.web.producers.islands import watch_island
            from rookery.web.recorder import Recorder

            recorder = stack.enter_context(Recorder(record, title=site))
            stack.callback(asyncio.create_task(watch_island(recorder, island)).cancel)
        ends_now = [asyncio.create_task(stop.wait()), asyncio.create_task(island.taken_over.wait())]
        await asyncio.wait(ends_now, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in ends_now:
            task.cancel()
        if island.taken_over.is_set():
            raise JoinError(
                f"another gateway of {site} is newer: one site has one gateway; give the other its own name"
            )


async def _print_events(events: Any) -> None:
    async for event in events:
        _write_now(json_text.dumps(event, default=str, ensure_ascii=False))


async def _print_sites(island: Any, *, json: bool) -> None:
    """Print the sites whenever they have changed; with --json the counters as well, once a second."""
    last = ""
    while True:
        status = island.status()
        reached = sorted(site for site, of in status["sites"].items() if of["reached by"])
        line = json_text.dumps(status) if json else f"reached: {', '.join(reached) or 'no site'}"
        if line != last:
            _write_now(line)
            last = line
        await asyncio.sleep(1)


def _write_now(line: str) -> None:
    write(line)
    sys.stdout.flush()
