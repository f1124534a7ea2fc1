"""`rookery subscribe`: print the events of a topic of a broker network that a filter wants."""

from __future__ import annotations

import asyncio
import json as json_text
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.keys import read_key
from rookery.cli.options import Json, note, write

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery subscribe quotes \"price < 10 AND symbol = 'ACME'\"",
    "rookery subscribe quotes --at 127.0.0.1:7402 --count 100 > some.jsonl",
]


def command(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    where: Annotated[str, typer.Argument(help="A WHERE clause; every event without one.")] = "",
    at: Annotated[list[str] | None, typer.Option(help="A broker of the network; may be repeated.")] = None,
    count: Annotated[int | None, typer.Option(help="Stop after so many events.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so long; by default on Ctrl-C.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="A file with the key that all brokers and clients share.")
    ] = None,
    json: Json = False,
) -> int:
    """Print events as JSON lines, each once, as they come."""
    asyncio.run(_subscribe(topic, where, at or ["127.0.0.1:7401"], count, seconds, read_key(key_file)))
    return ExitCode.DONE


async def _subscribe(
    topic: str, where: str, brokers: list[str], count: int | None, seconds: float | None, key: bytes | None
) -> None:
    from rookery.network.brokers.client import connect

    work = asyncio.current_task()
    assert work is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    printed = 0
    try:
        async with (
            asyncio.timeout(seconds),
            connect(*brokers, key=key) as client,
            client.subscribe(topic, where) as events,
        ):
            note(f"subscribed to {topic}")
            async for event in events:
                write(json_text.dumps(event, default=str, ensure_ascii=False))
                sys.stdout.flush()
                printed += 1
                if count is not None and printed >= count:
                    break
    except (TimeoutError, asyncio.CancelledError):
        pass
    note(f"{printed} events")
